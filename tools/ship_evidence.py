"""The measurements that ship with `racktwin validate`: `python tools/ship_evidence.py [FOLDER]`.

FOLDER holds the published tables as CSV. Each becomes evidence/data/NAME.csv.gz: the columns the
program reads, six digits, sources kept. Facts only; NOTICE names where they are from.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path

import polars as pl

from collectives import measured_exchanges
from racktwin.evidence.validation.kernels import POINTS as SAMPLE
from racktwin.evidence.validation.kernels import sample

ROOT = Path(__file__).parents[1]
TRUTH = ROOT.parent / "shared" / "truth"
DATA = ROOT / "src" / "racktwin" / "evidence" / "data"
POINTS = 100  # of each raw table of kernel times
MOST_BYTES = 400_000  # of all files together
TABLES: dict[str, str | tuple[str, ...]] = {
    "serving_measured": "*",
    "mlperf_inference": (
        *("round", "submitter", "system", "platform", "accelerator", "n_accelerators", "n_nodes"),
        *("model", "scenario", "value", "units", "precision", "software", "source"),
    ),
    "mlperf_configs": "*",
    "mlperf_workloads": "*",
    "collectives": "*",
    "collectives_nccl_aiconfigurator": "*",
    "inferencex": "*",
    "other_inference": "*",
}


def main() -> None:
    """Write every table and check the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=TRUTH)
    folder = parser.parse_args().folder
    total = _kernels(folder.parent / "kernels") + _exchanges(folder)
    for name, columns in TABLES.items():
        packed = gzip.compress(_text(folder / f"{name}.csv", columns).encode(), 9, mtime=0)
        (DATA / f"{name}.csv.gz").write_bytes(packed)
        total += len(packed)
        print(f"{name:34} {len(packed):8,} bytes")
    print(f"{'all':34} {total:8,} bytes")
    if total > MOST_BYTES:
        raise SystemExit(f"more than {MOST_BYTES:,} bytes")


def _kernels(folder: Path) -> int:
    """A sample of every raw table of kernel times; its size in bytes."""
    rows = pl.concat(list(sample(folder, POINTS)))
    rows = rows.with_columns(pl.col("seconds").round_sig_figs(4))
    packed = gzip.compress(rows.write_csv().encode(), 9, mtime=0)
    (DATA / SAMPLE).write_bytes(packed)
    print(f"{SAMPLE:34} {len(packed):8,} bytes")
    return len(packed)


def _exchanges(folder: Path) -> int:
    """Published exchanges of tokens as collectives; their size in bytes."""
    packed = gzip.compress(measured_exchanges.rows(folder).write_csv().encode(), 9, mtime=0)
    (DATA / "exchanges.csv.gz").write_bytes(packed)
    print(f"{'exchanges':34} {len(packed):8,} bytes")
    return len(packed)


def _text(path: Path, columns: str | tuple[str, ...]) -> str:
    text = io.StringIO()
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or ()) if columns == "*" else list(columns)
        writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in reader:
            writer.writerow({name: _short(name, row[name] or "") for name in names})
    return text.getvalue()


def _short(name: str, cell: str) -> str:
    """A measured number in six digits, and whole numbers without '.0'."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    if value == int(value) and "." in cell and abs(value) < 1e15 and not name.endswith("version"):
        return str(int(value))
    return f"{value:.6g}" if name.endswith(("_ms", "_us", "_GBps")) else cell


if __name__ == "__main__":
    main()

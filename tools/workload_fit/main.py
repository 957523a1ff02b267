"""The command: fit every workload whose trace is there, then write their page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from racktwin.serving import traces
from racktwin.serving.trace import Trace
from racktwin.serving.workload import workload
from workload_fit import following, goodness, laws, page, published, turns
from workload_fit.sample import SAMPLES, Sample

ROOT = Path(__file__).resolve().parents[2]
CATALOG = ROOT / "src/racktwin/catalog/workloads"
PAGE = ROOT / "docs/reference/workloads.md"


def main() -> None:
    """Fit the traces of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of public traces")
    parser.add_argument("published", type=Path, help="mlperf_workloads.csv")
    parser.add_argument("--only", choices=SAMPLES, help="only this workload")
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else SAMPLES:
        fit(name, SAMPLES[name], arguments.folder)
    if not arguments.only:
        for name, document in published.documents(arguments.published).items():
            _write(CATALOG / f"{name}.yaml", document)
    PAGE.write_text(page.page(), encoding="utf-8")


def fit(name: str, sample: Sample, folder: Path) -> None:
    """Write the workload of one sample, then read it back and add how well it fits."""
    trace = traces.load(folder / sample.file)
    if sample.turns == "recorded":
        trace = _of_several_turns(trace)
    document = _document(sample, trace)
    path = CATALOG / f"{name}.yaml"
    _write(path, document)
    found = goodness.goodness(workload(path), trace, sample.resolution)
    if sample.rate:
        found = {name: each for name, each in found.items() if not name.startswith("gap")}
    _write(path, document | {"fit": found})


def _document(sample: Sample, trace: Trace) -> dict[str, Any]:
    document: dict[str, Any] = {
        "title": sample.title,
        "kind": "measured",
        "source": sample.source,
        "date": sample.date,
        "note": sample.note,
        "requests": len(trace),
        "arrivals": laws.arrivals(trace.arrival, sample.step, sample.resolution),
    }
    if sample.rate:
        document["arrivals"] = {
            "law": "poisson",
            "rate": published.assumed(sample.rate, "yours to give"),
        }
    before = np.full(len(trace), -1)
    if sample.turns == "prefix":
        before, common = following.by_prefix(trace)
        document |= {"block_size": trace.block_size, "prompt": common * trace.block_size}
    elif sample.turns == "recorded":
        before = following.recorded(trace)
        document |= {"block_size": trace.block_size}
    completed = sample.turns == "recorded"
    return document | {"classes": turns.classes(trace, before, sample.classes, completed)}


def _of_several_turns(trace: Trace) -> Trace:
    """Without sessions of one request; what waited for one of those waits for nothing."""
    sessions, counts = np.unique(trace.session, return_counts=True)
    keep = np.isin(trace.session, sessions[counts > 1])
    place = np.concatenate([np.where(keep, np.cumsum(keep) - 1, -1), [-1]])
    left = trace.take(np.flatnonzero(keep))
    return left.having(after=place[left.after])


def _write(path: Path, document: dict[str, Any]) -> None:
    head = "# Written by tools/fit_workloads.py; docs/reference/workloads.md says how good it is.\n"
    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=100)
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + text, encoding="utf-8")

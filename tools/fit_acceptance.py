"""Fit how often a draft is accepted in Azure's serving curve: `python tools/fit_acceptance.py`.

One constant for all its points, of the first draft, the least mean |ln| of their TPOT; no row
states it.
"""

from __future__ import annotations

import re
from datetime import date

import msgspec
import numpy as np

from racktwin.engine.deployment import Pool
from racktwin.evidence import inferencex
from racktwin.evidence.condition import number
from racktwin.evidence.data import HERE
from racktwin.evidence.drafting import drafted
from racktwin.evidence.measurement import Measurement, deployment
from racktwin.evidence.prediction import predict
from racktwin.evidence.table import rows
from racktwin.serving.steady import Served

TRIED = np.arange(0.4, 0.99, 0.01)


def main() -> None:
    """Fit, print and write."""
    table = [row for _, row in rows(HERE / "inferencex.csv.gz", ("tpot_ms",))]
    asked = [(row, number(row["tpot_ms"])) for row in table if "Azure" in row["run_by"]]
    known = [(inferencex.measurement(row), tpot) for row, tpot in asked if tpot]
    off = np.array(
        [[np.log(1e3 * _tpot(row, a) / tpot) for row, tpot in known if tpot] for a in TRIED]
    )
    best = int(np.abs(off).mean(axis=1).argmin())
    found = f"{TRIED[best]:.2f}"
    print(f"acceptance {found}; TPOT off by", *(f"{100 * np.expm1(x):+.1f} %" for x in off[best]))
    path = HERE / "inferencex.yaml"
    source = f"fit on the TPOT of Azure's {len(known)} points, tools/fit_acceptance.py"
    line = f'{{value: {found}, kind: measured, source: "{source}", date: {date.today()}}}'
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(?m)^acceptance: .*$", f"acceptance: {line}", text), encoding="utf-8")


def _tpot(row: Measurement, acceptance: float) -> float:
    """Predicted TPOT, s, with another acceptance."""
    pool = row.decode
    assert isinstance(pool, Pool)
    drafts = drafted(pool.speculation.tokens, float(acceptance))
    changed = msgspec.structs.replace(row, decode=msgspec.structs.replace(pool, speculation=drafts))
    return predict(changed, Served(deployment(changed))).tpot


if __name__ == "__main__":
    main()

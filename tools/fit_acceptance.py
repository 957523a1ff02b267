"""Fit how often a draft is accepted in Azure's serving curve: `python tools/fit_acceptance.py`.

One constant for all its points, of the first draft: that whose farthest figure, TPOT or tokens/s,
is the least off by its |ln|. No row states it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    asked = [row for row in table if "Azure" in row["run_by"]]
    known = [(row, inferencex.measurement(row)) for row in asked]
    off = np.array([[x for row, one in known for x in _off(row, one, float(a))] for a in TRIED])
    best = int(np.abs(off).max(axis=1).argmin())
    found = f"{TRIED[best]:.2f}"
    print(f"acceptance {found}; off by", *(f"{100 * np.expm1(x):+.1f} %" for x in off[best]))
    path = HERE / "inferencex.yaml"
    source = f"fit on TPOT and tokens/s of Azure's {len(known)} points, tools/fit_acceptance.py"
    line = f'{{value: {found}, kind: measured, source: "{source}", date: {date.today()}}}'
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(?m)^acceptance: .*$", f"acceptance: {line}", text), encoding="utf-8")


def _off(row: Mapping[str, str], one: Measurement, acceptance: float) -> Iterator[float]:
    """Ln of predicted over measured tokens/s and TPOT, where measured, with another acceptance."""
    pool = one.decode
    assert isinstance(pool, Pool)
    drafts = drafted(pool.speculation.tokens, acceptance)
    changed = msgspec.structs.replace(one, decode=msgspec.structs.replace(pool, speculation=drafts))
    found = predict(changed, Served(deployment(changed)))
    rate, gpus, tpot = (number(row[name]) for name in ("tok_s_per_gpu", "n_gpus", "tpot_ms"))
    assert rate
    assert gpus
    whole = 1 + one.traffic.input / one.traffic.output
    yield float(np.log(found.output_rate * whole / (rate * gpus)))
    if tpot:
        yield float(np.log(1e3 * found.tpot / tpot))


if __name__ == "__main__":
    main()

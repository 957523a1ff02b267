"""Fit what older software of MLPerf rounds did slower: `python tools/fit_rounds.py`.

One constant for each rule of data/mlperf.yaml, the least mean |ln| of the results it holds for, one
of each configuration (Server and Interactive by simulation); no configuration states it.
"""

from __future__ import annotations

import re
from datetime import date

import msgspec
import numpy as np

from racktwin.evidence import data, mlperf
from racktwin.evidence.condition import matches
from racktwin.evidence.data import HERE
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.mlperf_config import Configurations, benchmark
from racktwin.evidence.table import rows
from racktwin.evidence.validation.mlperf import CONFIGS, FORM, Judge, shipped_limits
from racktwin.finding import BadInput

TRIED = np.arange(0.02, 0.0601, 0.002)  # s of host time a step

LEAST = 0.01  # of a measured rate, where no load holds


def main() -> None:
    """Fit, print and write."""
    path = HERE / "mlperf.yaml"
    for rule in data.load("mlperf")["software"]:
        judge, found = Judge(shipped_limits()), _rows(rule["where"])
        off = np.array([_off(judge, *pair) for pair in found])
        best = int(np.abs(off).mean(axis=0).argmin())
        value = f"{TRIED[best]:.3f}"
        print(f"{rule['name']}: {value} s")
        for (row, _), each in zip(found, off[:, best], strict=True):
            print(f"{100 * np.expm1(each):+5.0f} %  {row['scenario']:8} {row['platform']}")
        source = f"fit on {len(found)} results, tools/fit_rounds.py"
        line = f'{{value: {value}, kind: measured, source: "{source}", date: {date.today()}}}'
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(?m)(step_overhead: )\{.*\}$", rf"\g<1>{line}", text))


def _rows(where: dict[str, str]) -> list[tuple[dict[str, str], Measurement]]:
    """Results that a rule holds for, the best of each configuration."""
    known = Configurations.read(CONFIGS)
    found: dict[tuple[object, ...], tuple[dict[str, str], Measurement]] = {}
    for line, row in rows(HERE / FORM.shipped, mlperf.RESULTS):
        named = {**row, "benchmark": benchmark(row)}
        if not matches(where, named):
            continue
        try:
            one = mlperf.measurement(row, known, line)
        except BadInput:
            continue
        key = one.cluster, one.pools, row["scenario"]
        other = found.get(key)
        if other is None or (other[1].output_rate or 0.0) < (one.output_rate or 0.0):
            found[key] = row, one
    return list(found.values())


def _off(judge: Judge, row: dict[str, str], one: Measurement) -> list[float]:
    """Ln of predicted over measured output rate under each value tried."""
    logs = []
    for seconds in TRIED:
        changed = msgspec.structs.replace(one, constants=(("step_overhead", float(seconds)),))
        try:
            rate = judge.of(row, changed).rate
        except BadInput:  # no load holds
            rate = LEAST * (one.output_rate or 1.0)
        logs.append(float(np.log(rate / (one.output_rate or np.nan))))
    return logs


if __name__ == "__main__":
    main()

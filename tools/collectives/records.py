"""Catalog files of fitted constants: rounded, in a stable order, with their origin on top."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from racktwin.network.curve import Array

Record = dict[str, Any]
SYSTEMS = ("gb300", "gb200", "b300_sxm", "b200_sxm", "h200_sxm", "h100_sxm")
GENERATIONS = {"blackwell": SYSTEMS[:4], "hopper": SYSTEMS[4:]}
LINK = {"blackwell": 900e9, "hopper": 450e9}  # B/s each way
SIBLINGS = {
    a: b
    for one, two in zip(SYSTEMS[::2], SYSTEMS[1::2], strict=True)
    for a, b in ((one, two), (two, one))
}


def link(system: str) -> float:
    """Line rate of one GPU's NVLink each way, B/s."""
    return next(LINK[name] for name, systems in GENERATIONS.items() if system in systems)


def origin(title: str, note: str) -> Record:
    return {"title": title, "kind": "measured", "source": "aisimulate", "note": note}


def off(fit: Array, truth: Array) -> Array:
    """|fit / truth - 1|."""
    return np.asarray(np.abs(fit / truth - 1))


def error(fitted: Array, held: Array) -> dict[str, float]:
    """Median and 90th percentile of errors in and out of the fit."""
    values = [f(e) for e in (fitted, held) for f in (np.median, lambda x: np.quantile(x, 0.9))]
    names = ("median", "p90", "held_median", "held_p90")
    return {name: round(float(value), 3) for name, value in zip(names, values, strict=True)}


def rounded(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")


def rounded_all(values: Iterable[float]) -> list[float]:
    return [rounded(value) for value in values]


class _Dumper(yaml.SafeDumper):
    """Floats in the shortest form the catalog's reader takes; no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _float(dumper: yaml.SafeDumper, value: float) -> yaml.ScalarNode:
    text = f"{value:g}"
    plain = text if set(text) & {".", "e"} else f"{text}.0"
    return dumper.represent_scalar("tag:yaml.org,2002:float", plain)


_Dumper.add_representer(float, _float)


def write(path: Path, record: Record) -> None:
    text = yaml.dump(record, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"# Written by tools/fit_collectives.py; do not edit.\n{text}", encoding="utf-8"
    )

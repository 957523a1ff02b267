"""Tables of the page: errors by regime, constants, doubted rows, what is left unexplained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np

from racktwin.engine.epochs import epoch, names
from racktwin.evidence import data
from racktwin.evidence.calibration.fit import TPOT, TTFT
from racktwin.evidence.validation.point import Point, Validation, Value

FIGURES = {"tpot": "TPOT", "ttft": "TTFT", "output_rate": "out tok/s/GPU"}
FEW = 15  # rows from which a group's bias says something
FAR = 0.08  # median signed error of TPOT from which a group is listed
Regimes = Sequence[tuple[str, Callable[[Point], bool]]]


def scored(point: Point, figure: str) -> Value | None:
    """The trusted, measured value of a figure of a point, if it has one and says who ran."""
    if point.cells.get("complete") == "False":
        return None
    for value in point.values:
        if value.figure == figure and value.measured and not value.doubt and not point.repeated:
            return value
    return None


def _number(point: Point, column: str) -> float:
    return float(point.cells[column] or 0)


def _clients(point: Point) -> float:
    return _number(point, "concurrency")


REGIMES: Regimes = (
    ("up to 8 clients", lambda p: _clients(p) <= 8),
    ("9 to 64 clients", lambda p: 8 < _clients(p) <= 64),
    ("65 to 512 clients", lambda p: 64 < _clients(p) <= 512),
    ("more clients", lambda p: _clients(p) > 512),
    ("prompts twice as long and more", lambda p: _number(p, "isl") > 2 * _number(p, "osl")),
    ("answers twice as long and more", lambda p: _number(p, "osl") > 2 * _number(p, "isl")),
    ("aggregated", lambda p: p.traits.get("mode") == "aggregated"),
    ("disaggregated", lambda p: p.traits.get("mode") == "disaggregated"),
    ("queue full, as predicted", lambda p: any(v.apart for v in p.values)),
)


def regimes(found: Validation) -> Iterator[str]:
    """Errors out of fold by regime, a line each."""
    heads = " | ".join(f"{title} rows | mean | median | p90" for title in FIGURES.values())
    yield f"| regime | {heads} |"
    yield "|---|" + "---:|" * (4 * len(FIGURES))
    for name, inside in REGIMES:
        points = [point for point in found.answered if inside(point)]
        cells = [cell for figure in FIGURES for cell in _errors(points, figure)]
        yield f"| {name} | {' | '.join(cells)} |"


def _errors(points: Sequence[Point], figure: str) -> list[str]:
    values = [value for point in points if (value := scored(point, figure))]
    if not values:
        return ["0", "", "", ""]
    off = np.abs([v.unseen.value / (v.measured or 1.0) - 1 for v in values])
    shares = (off.mean(), np.median(off), np.quantile(off, 0.9))
    return [f"{len(values):,}", *(f"{100 * share:.1f} %" for share in shares)]


def constants() -> Iterator[str]:
    """What is fitted, in which unit, and between which values it lies over the releases."""
    yield "| constant | unit | meaning | lowest | median | highest |"
    yield "|---|---|---|---:|---:|---:|"
    for constant in TPOT + TTFT:
        values = [getattr(epoch(name), constant.name) for name in names()]
        shown = " | ".join(f"{v:.3g}" for v in (min(values), median(values), max(values)))
        yield f"| `{constant.name}` | {constant.unit} | {constant.meaning} | {shown} |"


def suspicious(found: Validation) -> Iterator[str]:
    """Rows that do not say what they seem to say: how many, of which figures, and why."""
    reasons = Counter(
        next((v.doubt for v in point.values if v.doubt), "")
        for point in found.answered
        if not point.repeated
    )
    yield "| rows | doubted | date | reason |"
    yield "|---:|---|---|---|"
    for rule in data.load("suspicious")["rules"]:
        count = reasons.get(rule["reason"], 0)
        said = f"{rule['name']}: {rule['reason']}"
        yield f"| {count} | {', '.join(rule['of'])} | {rule['date']} | {said} |"


def unexplained(found: Validation) -> Iterator[str]:
    """Groups whose TPOT lies on one side, largest first."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for point in found.answered:
        if value := scored(point, "tpot"):
            of = point.traits
            key = (of["chip"], of["epoch"], of["model"], of["precision"], of["mode"])
            off = value.unseen.value / (value.measured or 1.0) - 1
            groups.setdefault(key, []).append(off)
    sided = [
        (float(np.median(off)), len(off), key)
        for key, off in groups.items()
        if len(off) >= FEW and abs(float(np.median(off))) > FAR
    ]
    yield "| chip | release | model | format | mode | rows | median error of TPOT |"
    yield "|---|---|---|---|---|---:|---:|"
    for bias, count, group in sorted(sided, key=lambda each: -abs(each[0])):
        yield f"| {' | '.join(group)} | {count} | {100 * bias:+.0f} % |"

"""The accuracy page: docs/background/accuracy.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from calibration.spread import measured
from racktwin.evidence.error import Errors, errors
from racktwin.evidence.measurement import Figure, Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.serving.steady import SteadyState

Scores = list[tuple[Measurement, Prediction]]
HEAD = (
    "| {} | rows | TPOT mean | median | p90 | bias | TTFT rows | TTFT mean | median | p90 | bias |"
)
RULE = "|---|" + "---:|" * 10


def score(pairs: Scores, figure: Figure, doubted: bool) -> Errors:
    """Errors of a figure over pairs of a measurement and its prediction."""
    values = [(getattr(p, figure), measured(row, figure, doubted)) for row, p in pairs]
    kept = [(found, value) for found, value in values if value is not None]
    return errors([found for found, _ in kept], [value for _, value in kept])


def table(title: str, groups: Iterable[tuple[str, Scores]], doubted: bool = False) -> list[str]:
    """A table of TPOT and TTFT errors, one line per group."""
    lines = [HEAD.format(title), RULE]
    for name, pairs in groups:
        tpot, ttft = score(pairs, "tpot", doubted), score(pairs, "ttft", doubted)
        if tpot.count or ttft.count:
            lines.append(f"| {name} | {_cells(tpot)} | {_cells(ttft)} |")
    return lines


def by(pairs: Scores, key: Callable[[Measurement], str]) -> list[tuple[str, Scores]]:
    """Pairs grouped by a property of the measurement, in order of its names."""
    names = sorted({key(row) for row, _ in pairs})
    return [(name, [pair for pair in pairs if key(pair[0]) == name]) for name in names]


def _cells(found: Errors) -> str:
    if not found.count:
        return "0 | | | | "
    shares = (found.mean, found.median, found.p90)
    return " | ".join(
        [
            str(found.count),
            *(f"{100 * each:.1f} %" for each in shares),
            f"{100 * found.bias:+.1f} %",
        ]
    )


def offline(pairs: Iterable[tuple[Measurement, SteadyState]]) -> list[str]:
    """MLPerf Offline results against their predictions, out tokens/s."""
    lines = ["| result | GPUs | measured | predicted | error |", "|---|---:|---:|---:|---:|"]
    for row, found in pairs:
        rate = row.output_rate or 0.0
        off = 100 * (found.output_rate / rate - 1)
        lines.append(
            f"| {row.id} | {row.gpus} | {rate:,.0f} | {found.output_rate:,.0f} | {off:+.0f} % |"
        )
    return lines

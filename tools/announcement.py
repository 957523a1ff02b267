"""The announcement's comparison, computed: `python tools/announcement.py`.

DeepSeek-R1 on GB300 and on Hopper at equal interactivity, with the published points beside it.
Writes docs/background/gb300-against-hopper.md and its chart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from accuracy_pages import frontier
from accuracy_pages.frontier import Pair
from racktwin.evidence import validation
from racktwin.evidence.validation.point import Point
from racktwin.planning.plan import plan
from racktwin.planning.wish import Wish, asks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "background" / "gb300-against-hopper.md"
CHART = PAGE.parent / "accuracy" / "gb300-against-hopper.svg"
MACHINES = {"gb300": "azure-nd-gb300-v6", "h200": "azure-nd-h200-v5", "h100": "azure-nd-h100-v5"}
MODEL, INPUT, OUTPUT = "deepseek-r1", 8192, 1024
LEVELS = (20, 30, 40, 50, 60, 80, 100)  # tokens/s/user
CLOSE = 0.25  # of a level, within which a measured point counts as at it
COMMAND = (
    "racktwin plan deepseek-r1 --on azure-nd-gb300-v6 --on azure-nd-h200-v5"
    " --on azure-nd-h100-v5 --input 8192 --output 1024 --tpot 20ms --top 1"
)
Curves = dict[str, list[Pair]]


def main() -> None:
    """Plan, compare, draw and write."""
    curves, points = _curves(), _measured()
    CHART.parent.mkdir(exist_ok=True)
    CHART.write_text(frontier.chart(curves, points), encoding="utf-8")
    PAGE.write_text("\n".join([*_page(curves, points), ""]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def _curves() -> Curves:
    """(tokens/s/user, output tokens/s/GPU) of the best deployments of each machine."""
    found = {}
    for chip, cluster in MACHINES.items():
        (ask,) = asks(MODEL, [cluster], INPUT, OUTPUT, Wish())
        front = plan(ask).front
        found[chip] = sorted((each.per_user, each.per_gpu) for each in front)
    return found


def _measured() -> Curves:
    """The same of published rows of these lengths, each with its own software and layout."""
    found: Curves = {}
    for point in validation.serving().answered:
        of = point.traits
        lengths = (float(point.cells["isl"]), float(point.cells["osl"]))
        asked = of["model"] == MODEL and of["chip"] in MACHINES and lengths == (INPUT, OUTPUT)
        if asked and (pair := _pair(point)):
            found.setdefault(of["chip"], []).append(pair)
    return found


def _pair(point: Point) -> Pair | None:
    """1 / TPOT and the rate that follows from both latencies, where neither is doubted."""
    values = {value.figure: value for value in point.values if not value.doubt}
    tpot, rate = values.get("tpot"), values.get("output_rate")
    if tpot is None or rate is None or not tpot.measured or not rate.measured:
        return None
    return 1e3 / tpot.measured, rate.measured


def _at(curve: Sequence[Pair], level: float) -> float | None:
    """Output tokens/s/GPU of a front at an interactivity, tokens/s/user; None beyond its ends."""
    users = [user for user, _ in curve]
    if not users[0] <= level <= users[-1]:
        return None
    rates = np.log([rate for _, rate in curve])
    return float(np.exp(np.interp(level, users, rates)))


def _best(points: Sequence[Pair], level: float) -> float | None:
    """The highest published rate of those at least so interactive, and not much more."""
    near = [rate for user, rate in points if level <= user <= level * (1 + CLOSE)]
    return max(near, default=None)


def _page(curves: Curves, points: Curves) -> Iterator[str]:
    yield "# GB300 against Hopper on DeepSeek-R1"
    yield ""
    yield f"Written by `python tools/announcement.py` on {date.today()}; do not edit the tables."
    yield ""
    yield "The announcement of Microsoft's GB300 cluster speaks of up to five times the throughput"
    yield "of Hopper a GPU on DeepSeek-R1. A ratio of throughputs means something at equal"
    yield "interactivity only: the same tokens/s for every user. Here both machines run the"
    yield f"deployment that is best for them at that level, {INPUT:,} tokens in and {OUTPUT:,} out,"
    yield "without speculative decoding: GB300 in NVFP4, Hopper in FP8, the smallest format each"
    yield "computes in, TensorRT-LLM's newest release. What is left out of the ratio is price and"
    yield "power."
    yield ""
    yield f"![Throughput a GPU against interactivity](accuracy/{CHART.name})"
    yield ""
    yield "## Computed"
    yield ""
    yield "Output tokens/s/GPU of the best deployment."
    yield ""
    yield from _table(lambda chip, level: _at(curves[chip], level))
    yield ""
    yield from _sentence(curves)
    yield ""
    yield "The two differ in format, memory and NVLink domain at once; this page does not part the"
    yield "effects. The 80 % intervals stand in the output of the command below."
    yield ""
    yield "## Published"
    yield ""
    yield "The best of the published rows of these lengths that give each user at least so many"
    yield f"tokens/s and at most {100 * CLOSE:.0f} % more; software, date and layout differ from"
    yield "row to row."
    yield ""
    yield from _table(lambda chip, level: _best(points.get(chip, ()), level))
    yield ""
    yield "## The command"
    yield ""
    yield "<!-- command slow -->"
    yield "```console"
    yield f"$ {COMMAND}"
    yield "```"
    yield "<!-- end -->"


def _table(rate: Callable[[str, float], float | None]) -> Iterator[str]:
    yield "| tokens/s/user | GB300 | H200 | H100 | GB300 over H200 | over H100 |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for level in LEVELS:
        values = [rate(chip, level) for chip in MACHINES]
        cells = ["-" if value is None else f"{value:,.0f}" for value in values]
        first = values[0]
        over = [f"{first / v:.1f}" if first and v else "-" for v in values[1:]]
        yield f"| {level} | {' | '.join([*cells, *over])} |"


def _sentence(curves: Curves) -> Iterator[str]:
    """The range of the ratio over the levels, and where five times is reached."""
    for chip in ("h200", "h100"):
        ratios = {}
        for level in LEVELS:
            ours, theirs = _at(curves["gb300"], level), _at(curves[chip], level)
            if ours and theirs:
                ratios[level] = ours / theirs
        reached = [f"{level}" for level, ratio in ratios.items() if ratio >= 5]
        said = f"at {', '.join(reached)} tokens/s/user" if reached else "at none of these levels"
        low, high = min(ratios.values()), max(ratios.values())
        yield (f"- Over {chip.upper()}: {low:.1f} to {high:.1f} times; five times and more {said}.")


if __name__ == "__main__":
    main()

"""The chart of a collective: bus bandwidth against size, both on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from racktwin.dashboard import svg
from racktwin.dashboard.chart_file import write_chart_file
from racktwin.network.comparison import Judged
from racktwin.network.expectation import Expectation
from racktwin.units import Bytes

WIDTH, HEIGHT = 760.0, 380.0
LEFT, BOTTOM, TOP, RIGHT = 70.0, 46.0, 26.0, 20.0
GIGA = 1e-9
Scale = Callable[[float, float], tuple[float, float]]


def chart(found: Expectation, measured: Sequence[Judged] = ()) -> str:
    """SVG text: calibrated, NCCL's model and the bound as curves, measured sizes as dots."""
    rows = {"calibrated": found.calibrated, "bound": found.bound}
    rows |= {} if found.ideal is None else {"ideal": found.ideal}
    rows |= {} if found.nccl is None else {"NCCL model": found.nccl}
    curves = {
        name: [
            (float(size), found.share * float(size) / float(time) * GIGA)
            for size, time in zip(found.size, times, strict=True)
            if time > 0
        ]
        for name, times in rows.items()
    }
    dots = [(each.size, found.share * each.size / each.measured * GIGA) for each in measured]
    every = [point for row in (*curves.values(), dots) for point in row]
    place = _scale(every)
    marks = list(_axes(every, place))
    for index, (name, row) in enumerate(curves.items()):
        colour = svg.PALETTE[index]
        marks.append(svg.curve([place(*point) for point in row], colour, name))
        marks.append(svg.rectangle(LEFT + 12, TOP + 6 + 18 * index, 10, 10, colour))
        marks.append(svg.words(LEFT + 28, TOP + 15 + 18 * index, name))
    for size, rate in dots:
        x, y = place(size, rate)
        marks.append(
            svg.dot(x, y, 4, svg.PALETTE[5], f"{Bytes(size).binary()}: {rate:,.1f} GB/s measured")
        )
    asked = found.question
    about = f"busbw GB/s, {asked.operation.replace('_', '-')} on {asked.place.ranks:,} GPUs"
    marks.append(svg.words(LEFT, TOP - 10, f"{about} of {asked.cluster.title}"))
    return svg.drawing(WIDTH, HEIGHT, marks, about)


def _scale(points: Sequence[tuple[float, float]]) -> Scale:
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    left, right, low, high = min(xs), max(xs), min(ys), max(ys)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log(x) - left) / ((right - left) or 1.0)
        up = (math.log(y) - low) / ((high - low) or 1.0)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP),
        )

    return place


def _axes(points: Sequence[tuple[float, float]], place: Scale) -> Iterator[str]:
    sizes, rates = sorted({x for x, _ in points}), [y for _, y in points]
    for size in sizes[:: max(1, len(sizes) // 8)]:
        x, bottom = place(size, min(rates))
        yield svg.line(x, TOP, x, bottom, "grid")
        yield svg.words(x, bottom + 16, Bytes(size).binary(), "middle")
    decade = math.ceil(math.log10(min(rates)) - 1e-9)
    while 10**decade <= max(rates):
        left, y = place(sizes[0], 10.0**decade)
        yield svg.line(left, y, WIDTH - RIGHT, y, "grid")
        yield svg.words(left - 8, y + 4, f"{10.0**decade:,g}", "end")
        decade += 1


def write_chart(
    target: str | None, found: Expectation, measured: Sequence[Judged] = ()
) -> tuple[str, ...]:
    """Write the chart into a file, if one is named; what to say of it."""
    if not target:
        return ()
    return write_chart_file(target, chart(found, measured), "collective")

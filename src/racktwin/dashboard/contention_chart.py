"""Jobs and links over time as one drawing."""

from __future__ import annotations

from racktwin.dashboard import svg
from racktwin.dashboard.curves import HEIGHT, LEFT, RIGHT, WIDTH, curves
from racktwin.network.contention import Contention
from racktwin.network.timeline import timeline
from racktwin.units import Seconds

BAR, GAP, TOP, NOTE = 22.0, 8.0, 30.0, 50.0
WAITED = "#d5dbe0"  # time that the others cost


def contention_chart(found: Contention) -> str:
    """A bar per job, the part it takes alone in colour, above the use of each tier."""
    begin = min(each.start for each in found.jobs)
    end = max(each.finish for each in found.jobs)
    unit, word = next(
        (size, name) for size, name in ((1e-6, "us"), (1e-3, "ms"), (1.0, "s")) if end < 1e3 * size
        or name == "s"
    )  # fmt: skip
    marks = [svg.words(LEFT, 16, f"{found.traffic.routing} routing: jobs, in colour as if alone")]
    scale = (WIDTH - LEFT - RIGHT - NOTE) / (end - begin)
    for at, each in enumerate(found.jobs):
        y = TOP + at * (BAR + GAP)
        left = LEFT + (each.start - begin) * scale
        about = f"{each.job.name}: {Seconds(each.seconds).text(4)}, x{each.slowdown:.2f}"
        marks.append(svg.rectangle(left, y, each.seconds * scale, BAR, WAITED, about))
        colour = svg.PALETTE[at % len(svg.PALETTE)]
        alone = min(each.alone, each.seconds) * scale
        marks.append(svg.rectangle(left, y, alone, BAR, colour, about))
        marks.append(svg.words(LEFT - 6, y + BAR - 6, each.job.name[:11], "end"))
        right = left + each.seconds * scale + 6
        marks.append(svg.words(right, y + BAR - 6, f"x{each.slowdown:.2f}"))
    y = TOP + len(found.jobs) * (BAR + GAP)
    line = timeline(found.run, found.links, begin)
    middles = ((line.edges[1:] + line.edges[:-1]) / 2 - begin) / unit
    for rows, up in ((line.mean, "mean use, %"), (line.peak, "busiest link, %")):
        wide = [name for name in rows if name in ("nvlink_out", "nic_out", "leaf_up", "spine_up",
                                                  "leaf_down", "nic_in")]  # fmt: skip
        percent = {name.replace("_", " "): (100 * rows[name]).tolist() for name in wide}
        inner = curves(middles.tolist(), percent, across=f"time, {word}", up=up)
        marks.append(f'<svg y="{y:g}" width="{WIDTH:g}" height="{HEIGHT:g}">{inner}</svg>')
        y += HEIGHT + GAP
    return svg.drawing(WIDTH, y, marks, "jobs and links over time")

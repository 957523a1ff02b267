"""A fabric as a drawing: racks, leaves, spines, cores, with how many of each and between them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from racktwin.dashboard import svg
from racktwin.network.health import Health
from racktwin.network.inventory import Inventory
from racktwin.units import Bandwidth, Bitrate

WIDTH, LEFT, RIGHT, TOP = 860.0, 190.0, 20.0, 46.0
ROW, BOX, TALL = 104.0, 68.0, 30.0
SHOWN = 7  # boxes of a row, a gap counted as one
WHOLE, DEAD, RACK = "#56b4e9", "#d55e00", "#e5e5e5"


def fabric_drawing(health: Health, counted: Inventory, title: str) -> str:
    """The drawing as SVG; what faults name is coloured."""
    rows = _rows(health, counted)
    marks = [svg.words(LEFT - 180, 22, title)]
    if counted.networks > 1:
        same = f"one of {counted.networks} equal networks that share no switch"
        marks.append(svg.words(LEFT - 180, 38, same, style="small"))
    height = TOP + ROW * len(rows) - ROW + TALL + 54
    drawn = [_boxes(count, sick) for _, _, count, sick, _ in rows]
    for at in range(1, len(rows)):
        lower, upper = _middle(at), _middle(at - 1)
        for below, here in _places(drawn[at]):
            for above, there in _places(drawn[at - 1]):
                if _joined(health, rows[at][0], below, above):
                    marks.append(svg.line(there, upper + TALL / 2, here, lower - TALL / 2))
        label = rows[at][4]
        wide = 6.3 * len(label) + 12
        middle = (LEFT + WIDTH - RIGHT) / 2
        marks.append(svg.rectangle(middle - wide / 2, (lower + upper) / 2 - 9, wide, 18, "#fff"))
        marks.append(svg.words(middle, (lower + upper) / 2 + 4, label, "middle"))
    for at, (name, about, count, sick, _) in enumerate(rows):
        marks += _row(at, name, about, count, sick)
    marks += [svg.words(LEFT - 180, height - 20, _sum(health, counted), style="small")]
    return svg.drawing(WIDTH, height, marks, title)


def _rows(health: Health, counted: Inventory) -> list[tuple[str, str, int, set[int], str]]:
    """Name, description, count, dead ones, and what leads up from it; from the top."""
    topology, tree = health.topology, health.topology.tree
    dead = {kind: _dead(health, kind) for kind in ("leaf", "spine", "core")}
    rate = Bitrate(float(topology.fabric.switch.rate))
    rows = []
    if tree.group_cores:
        about = f"{counted.tiers[-1].down} ports in use"
        rows.append(("core", about, tree.cores, dead["core"], ""))
    if tree.up:
        pods = f", {tree.pods} pods of {tree.pod_spines}" if tree.pods > 1 else ""
        above = f"{tree.trunks[1]:,} cables of {rate}" if tree.group_cores else ""
        about = f"{counted.tiers[1].down} ports down{pods}"
        rows.append(("spine", about, tree.spines, dead["spine"], above))
    between = f"{tree.trunks[0]:,} cables of {rate}, {tree.links} from each leaf to each spine"
    between += " of its pod" if tree.pods > 1 else ""
    about = f"{counted.tiers[0].down} ports down, {tree.up} up"
    rows.append(("leaf", about, tree.leaves, dead["leaf"], between))
    cluster = topology.cluster
    gpus = f"{cluster.gpus_per_rack} GPUs in {cluster.rack.hosts} hosts"
    port = Bitrate(topology.host.nic / topology.planes)
    rows.append(("rack", gpus, cluster.racks, set(), f"{tree.ends:,} cables of {port}"))
    return rows


def _dead(health: Health, kind: str) -> set[int]:
    """Switches of the first network that faults name."""
    faults = [fault for fault in health.faults if fault.place]
    found = {each.place[0] for each in faults if each.kind == kind}
    if kind == "leaf":
        found |= {each.place[0] for each in faults if each.kind in ("cable", "plane", "flap")}
    return found


def _boxes(count: int, sick: set[int]) -> list[int | None]:
    """Numbers to draw, None for a gap: the first ones, those named, the last."""
    if count <= SHOWN:
        return list(range(count))
    named = sorted(each for each in sick if each < count)[:3]
    first = [each for each in range(count) if each not in named][: SHOWN - 2 - len(named)]
    wanted = sorted({*first, *named, count - 1})
    found: list[int | None] = []
    for each in wanted:
        if found and found[-1] is not None and each > found[-1] + 1 and None not in found:
            found.append(None)
        found.append(each)
    return found


def _joined(health: Health, name: str, below: int, above: int) -> bool:
    """Whether cables lead from a rack, leaf or spine to that switch above it."""
    topology, tree = health.topology, health.topology.tree
    if name == "spine":
        return below % tree.pod_spines == above // tree.group_cores
    if name == "leaf":
        return below // tree.pod_leaves == above // tree.pod_spines
    nics = topology.cluster.rack.hosts * topology.host.nics
    own = np.arange(below * nics, min(topology.nics, (below + 1) * nics))
    return bool((topology.plug(own)[0] == above).any())


def _places(boxes: list[int | None]) -> Iterable[tuple[int, float]]:
    """Number and middle (pixels) of each box."""
    return ((each, _across(at, len(boxes))) for at, each in enumerate(boxes) if each is not None)


def _across(at: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / count


def _middle(at: int) -> float:
    return TOP + TALL / 2 + 14 + at * ROW


def _row(at: int, name: str, about: str, count: int, sick: set[int]) -> Iterable[str]:
    y = _middle(at)
    plural = {"leaf": "leaf switches", "spine": "spines", "core": "cores", "rack": "racks"}[name]
    yield svg.words(10, y - 2, f"{count:,} {plural}")
    yield svg.words(10, y + 12, about, style="small")
    boxes = _boxes(count, sick)
    for place, each in enumerate(boxes):
        x = _across(place, len(boxes))
        if each is None:
            yield svg.words(x, y + 4, "...", "middle")
            continue
        fill = RACK if name == "rack" else DEAD if each in sick else WHOLE
        yield svg.rectangle(x - BOX / 2, y - TALL / 2, BOX, TALL, fill, f"{name}{each}")
        yield svg.words(x, y + 4, f"{name}{each}", "middle")


def _sum(health: Health, counted: Inventory) -> str:
    topology = health.topology
    return (
        f"{topology.gpus:,} GPUs; bisection {Bandwidth(counted.bisection).text(3)} one way; "
        f"NVLink joins {counted.domain.gpus} GPUs a domain over {counted.domain.asics} ASICs"
    )

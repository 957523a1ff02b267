"""The power chain as a drawing: a tree from the meter to the parts, a bar of watts at each node."""

from __future__ import annotations

from racktwin.dashboard import svg
from racktwin.facility.budget import Budget
from racktwin.units import Watts

ROW, TOP, STEP = 24.0, 34.0, 16.0
NAMES, WIDTH, FIGURES = 300.0, 860.0, 190.0
PASSED, LOST, REST = "#0072b2", "#d55e00", "#999999"


def power_tree(found: Budget) -> str:
    """The drawing as SVG; what a node loses is the orange end of its bar."""
    rows = list(found.tree.walk())
    scale = (WIDTH - NAMES - FIGURES) / (found.tree.watts or 1.0)
    head = f"{found.cluster.title}: watts through every node, losses in orange"
    marks = [svg.words(10, 18, head)]
    parents: list[float] = []
    for at, (depth, node) in enumerate(rows):
        y = TOP + at * ROW
        x = 10 + depth * STEP
        del parents[depth:]
        if parents:
            above = parents[-1]
            marks.append(svg.line(x - STEP + 5, above + 8, x - STEP + 5, y + 8))
            marks.append(svg.line(x - STEP + 5, y + 8, x - 2, y + 8))
        parents.append(y)
        count = f" x {node.count:,}" if node.count > 1 else ""
        marks.append(svg.words(x, y + 12, node.name + count))
        hover = f"{node.name}: {Watts(node.watts).text(4)}"
        hover += f", lost {Watts(node.loss).text(3)}" if node.loss else ""
        fill = PASSED if node.children or depth > 1 else REST
        passed = (node.watts - node.loss) * scale
        marks.append(svg.rectangle(NAMES, y, passed, ROW - 8, fill, hover))
        figure = Watts(node.watts).text(3)
        if node.loss:
            marks.append(svg.rectangle(NAMES + passed, y, node.loss * scale, ROW - 8, LOST, hover))
            figure += f", {node.loss / node.watts:.1%} lost"
        marks.append(svg.words(NAMES + node.watts * scale + 8, y + 12, figure))
    return svg.drawing(WIDTH, TOP + len(rows) * ROW + 6, marks, head)

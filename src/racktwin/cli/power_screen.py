"""A power budget on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.facility.budget import Budget
from racktwin.facility.budget_words import grounds, title, verdict
from racktwin.facility.node import Node
from racktwin.units import Watts


def screen(found: Budget) -> Iterator[RenderableType]:
    """Title, the tree, the limits, what follows and what it rests on."""
    cluster = found.cluster
    yield Text.assemble((cluster.name, "bold"), f"   {cluster.title}   {title(found)}")
    if found.failed:
        yield f"failed: {found.failed}"
    yield ""
    yield _tree(found)
    yield ""
    yield _limits(found)
    yield ""
    yield _lines(found)


def _tree(found: Budget) -> Table:
    made = table("", "count", "each", "together", "lost", title="power",
                 right=("count", "each", "together", "lost"))  # fmt: skip
    for stem, node in branches(found.tree):
        each = Watts(node.watts / max(node.count, 1)).text(3) if node.count > 1 else ""
        lost = Watts(node.loss).text(3) if node.loss else ""
        made.add_row(stem + node.name, f"{node.count:,}", each, Watts(node.watts).text(3), lost)
    return made


def branches(node: Node, stem: str = "", mark: str = "") -> Iterator[tuple[str, Node]]:
    """Every node of the tree behind the lines that lead to it."""
    yield mark and stem[:-2] + mark, node
    for at, child in enumerate(node.children):
        last = at == len(node.children) - 1
        yield from branches(child, stem + ("  " if last else "│ "), "└ " if last else "├ ")


def _limits(found: Budget) -> Table:
    names = ["", "a feed", "limit", "now", "feed lost", "used", "left", "below it", "stranded"]
    if not found.feed_lost:
        names.remove("feed lost")
    made = table(*names, title="limits of a unit", right=tuple(names[1:]))
    for level in found.levels:
        peaks = [level.now, level.spare] if found.feed_lost else [level.now]
        style = "red" if level.use > 1 else ""
        made.add_row(
            level.name + (" (budget)" if level.budget else ""),
            f"{level.units:,}",
            Watts(level.limit).text(3),
            *(Watts(each).text(4) for each in peaks),
            Text(f"{level.use:.1%}", style=style),
            _signed(level.headroom),
            f"x {level.oversubscription:.2f}" if level.oversubscription else "",
            Watts(found.stranded(level)).text(3) if found.stranded(level) >= 1 else "-",
        )
    return made


def _lines(found: Budget) -> Table:
    made = Table.grid(padding=(0, 3, 0, 0))
    for head, text in (*verdict(found), *grounds(found)):
        made.add_row(head, text)
    return made


def _signed(watts: float) -> str:
    """Watts that may be below zero."""
    return f"{'-' if watts < 0 else ''}{Watts(abs(watts)).text(3)}"

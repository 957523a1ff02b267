"""Where the verbs print: a screen of 80 to 100 columns, plain when it is piped."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

READY = "getting ready (after an installation the simulation is compiled once: 30 s)"
WIDTH = 100
NARROWEST = 80  # a narrower terminal folds lines itself, which keeps figures whole


def console() -> Console:
    """Standard output; no colour unless it is a terminal."""
    width = WIDTH
    if sys.stdout.isatty():
        width = min(WIDTH, max(NARROWEST, shutil.get_terminal_size().columns))
    return Console(width=width, highlight=False, markup=False, emoji=False)


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Takes what is being done and shows it on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    with Console(stderr=True).status(READY) as line:
        yield line.update


def print_screen(parts: Iterable[RenderableType]) -> None:
    """Print the parts of a screen; without colour and trailing blanks when piped."""
    out = console()
    if out.is_terminal:
        _print(out, parts)
        return
    with out.capture() as captured:
        _print(out, parts)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print(out: Console, parts: Iterable[RenderableType]) -> None:
    for part in parts:  # an address stays whole, however long
        out.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))


def table(*columns: str, title: str = "", right: tuple[str, ...] = ()) -> Table:
    """An empty table without rules; the columns in `right` are aligned to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        head = Text(title, style="bold not dim") if title and index == 0 else Text(name)
        align = "right" if name in right else "left"
        made.add_column(head, justify=align, overflow="fold")  # type: ignore[arg-type]
    return made


def print_json(answer: dict[str, Any]) -> None:
    """Print an answer as JSON, quantities as SI numbers."""
    print(json_text(answer), end="")


def json_text(answer: dict[str, Any]) -> str:
    """An answer as JSON, quantities as SI numbers."""
    text = msgspec.json.encode(answer, enc_hook=float)
    return msgspec.json.format(text, indent=2).decode() + "\n"

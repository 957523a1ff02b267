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

READY = "getting ready"
ONCE = "compiling the simulation, once after an installation or an update: a minute or more"
TIED = "\N{BRAILLE PATTERN BLANK}"  # stands for a blank at which no line is folded
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


def tell_once() -> None:
    """Say on a stream that is no terminal, too, why a first simulation takes long."""
    from racktwin.serving.compiled import compiled

    if compiled.fresh:
        print(ONCE, file=sys.stderr, flush=True)


def print_screen(parts: Iterable[RenderableType]) -> None:
    """Print the parts of a screen; without colour and trailing blanks when piped."""
    out = console()
    with out.capture() as captured:
        _print(out, parts)
    text = captured.get().replace(TIED, " ")
    if out.is_terminal:
        print(text, end="")
        return
    print("\n".join(line.rstrip() for line in text.splitlines()))


def _print(out: Console, parts: Iterable[RenderableType]) -> None:
    for part in parts:  # an address stays whole, however long, and so does 22 %
        part = part.replace(" %", f"{TIED}%") if isinstance(part, str) else part
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

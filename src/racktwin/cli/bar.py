"""A bar of bytes done on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def bar() -> Iterator[Callable[[int, int, str], None]]:
    """Takes how much is done, of how much, and of what."""
    if not sys.stderr.isatty():
        yield lambda done, of, what: None
        return
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn(),
               TextColumn("{task.description}", markup=False))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, of, what: shown.update(task, completed=done, total=of, description=what)

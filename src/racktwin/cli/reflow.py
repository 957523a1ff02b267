"""Descriptions of flags as one paragraph each, so that the help breaks them where it has to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

HEAD = "Parameters\n----------\n"
BROKEN = re.compile(r"(\n {4}\S[^\n]*)\n {4}(?=\S)")


def reflow(verb: Callable[..., Any]) -> None:
    """Join the lines of each flag's description, in the verb and in the records of its flags."""
    for each in (verb, *_records(verb)):
        before, head, flags = inspect.cleandoc(each.__doc__ or "").partition(HEAD)
        while BROKEN.search(flags):
            flags = BROKEN.sub(r"\1 ", flags)
        each.__doc__ = f"{before}{head}{flags}"


def _records(verb: Callable[..., Any]) -> Iterator[type]:
    for hint in get_type_hints(verb).values():
        yield from (
            each
            for each in (hint, *get_args(hint))
            if isinstance(each, type) and is_dataclass(each)
        )

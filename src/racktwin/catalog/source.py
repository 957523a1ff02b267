"""Sources: the pages facts were read from."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from racktwin.catalog.document import read
from racktwin.catalog.shape import build


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A page or file; date is that of the page where it is known, url '' where there is none."""

    title: str
    url: str = ""
    date: str = ""


@functools.cache
def sources() -> dict[str, Source]:
    """Every source by name."""
    table = read(Path(__file__).with_name("sources.yaml")).value
    return {name: build(node, Source) for name, node in table.items()}

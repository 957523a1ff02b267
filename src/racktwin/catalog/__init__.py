"""Facts as YAML, one file per thing, every number with its source."""

from racktwin.catalog.document import Node, parse, read
from racktwin.catalog.entry import Entry, Fact, is_path, load, names
from racktwin.catalog.shape import build
from racktwin.catalog.source import Source, sources

__all__ = [
    "Entry",
    "Fact",
    "Node",
    "Source",
    "build",
    "is_path",
    "load",
    "names",
    "parse",
    "read",
    "sources",
]

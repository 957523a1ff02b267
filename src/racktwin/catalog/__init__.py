"""Facts as YAML, one file per thing, every number with its source."""

from racktwin.catalog.document import Node, parse, read
from racktwin.catalog.entry import Entry, Fact, is_own, is_path, load, names
from racktwin.catalog.home import file, own
from racktwin.catalog.shape import build
from racktwin.catalog.source import Source, sources

__all__ = [
    "Entry",
    "Fact",
    "Node",
    "Source",
    "build",
    "file",
    "is_own",
    "is_path",
    "load",
    "names",
    "own",
    "parse",
    "read",
    "sources",
]

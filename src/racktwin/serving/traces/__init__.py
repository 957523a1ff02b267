"""Traces in the formats people have, recognised by their contents."""

from racktwin.serving.traces.parquet import write
from racktwin.serving.traces.read import load, read

__all__ = ["load", "read", "write"]

"""The decorator of the flow simulation's compiled functions."""

from __future__ import annotations

from pathlib import Path

from racktwin.compiled import Compiler

compiled = Compiler("racktwin.network", Path(__file__).parent)

"""The decorator of the simulation's compiled functions."""

from __future__ import annotations

from pathlib import Path

from racktwin.compiled import Compiler

compiled = Compiler("racktwin.serving", Path(__file__).parent)

"""The decorator of the closed loop's compiled functions."""

from __future__ import annotations

from pathlib import Path

from racktwin.compiled import Compiler

compiled = Compiler("racktwin.facility", Path(__file__).parent, error_model="numpy")

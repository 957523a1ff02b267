"""The decorator of the compiled loops over tensors."""

from __future__ import annotations

from pathlib import Path

from racktwin.compiled import Compiler

# Divisions by zero give infinity as the hardware does: a check in each would forbid wide loops.
compiled = Compiler("racktwin.numerics", Path(__file__).parent, error_model="numpy")

"""The decorators of the loop's compiled functions."""

from __future__ import annotations

from pathlib import Path

from racktwin.compiled import Compiler

compiled = Compiler("racktwin.evidence.loop", Path(__file__).parent, level=1)
inlined = compiled.inlined

"""No number that stands for the world is written in code; it belongs in the catalog.

Nobody can tell such a number from arithmetic for certain. What can be told: a very large or very
small literal that is not a power of ten (8.0e12, 4.2e-6) is a rate, a capacity or a latency.
Bounds on input and scale factors of units are written otherwise (`16 << 20`, `1e-6`).
"""

from __future__ import annotations

import ast
import math
from pathlib import Path

from house.tree import Violation, sources

LARGE = 1e6
SMALL = 1e-4


def check(root: Path) -> list[Violation]:
    """Floating-point literals in the package that look like measured or advertised figures."""
    return [
        Violation(source.path, node.lineno, f"{node.value!r} looks like a fact: catalog it")
        for source in sources(root, "src")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and source.path != "src/racktwin/units.py"
        and _looks_like_a_fact(node.value)
    ]


def _looks_like_a_fact(value: float) -> bool:
    size = abs(value)
    if size == 0 or not math.isfinite(size) or SMALL <= size < LARGE:
        return False
    return not f"{size:e}".startswith("1.000000e")

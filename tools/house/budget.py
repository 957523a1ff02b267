"""Size and naming: short files, short functions, and no drawer for what has no name."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path, PurePosixPath

from house.tree import Violation, functions, sources

FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
MEDIAN_LINES = 150
FILE_LINES = 500
FUNCTION_LINES = 60
DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}


def check(root: Path) -> list[Violation]:
    """Files of at most 500 lines (median of the package under 150), functions of at most 60."""
    found = []
    lengths = []
    for source in sources(root, *FOLDERS):
        lines = len(source.text.splitlines())
        if source.path.startswith("src/") and not source.path.endswith("__init__.py"):
            lengths.append(lines)
        if lines > FILE_LINES:
            found.append(Violation(source.path, 1, f"{lines} lines; at most {FILE_LINES}"))
        found += _long_functions(source.path, source.tree)
        found += _drawers(source.path, source.tree)
    if lengths and statistics.median(lengths) >= MEDIAN_LINES:
        message = f"median file has {statistics.median(lengths):g} lines; under {MEDIAN_LINES}"
        found.append(Violation("src", 1, message))
    return found


def _long_functions(path: str, tree: ast.Module) -> list[Violation]:
    found = []
    for node in functions(tree):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES:
            message = f"{node.name} has {lines} lines; at most {FUNCTION_LINES}"
            found.append(Violation(path, node.lineno, message))
    return found


def _drawers(path: str, tree: ast.Module) -> list[Violation]:
    found = []
    for part in PurePosixPath(path).with_suffix("").parts:
        if DRAWERS & set(part.lower().split("_")):
            found.append(Violation(path, 1, f"{part!r} names no noun of the domain"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            words = {word.lower() for word in re.findall(r"[A-Z][a-z]+", node.name)}
            if DRAWERS & words:
                found.append(Violation(path, node.lineno, f"class {node.name} names no noun"))
    return found

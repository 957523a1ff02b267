"""The files of the project, and what a check says about one of them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Violation(NamedTuple):
    """A rule broken in one place; `path` is relative to the root."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class Source(NamedTuple):
    """One parsed Python file."""

    path: str
    text: str
    tree: ast.Module


def files(root: Path) -> list[Path]:
    """Every file that is, or would be, committed; all files where `root` is not a git tree."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file())
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    paths = {root / name for name in listed.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def sources(root: Path, *folders: str) -> Iterator[Source]:
    """The Python files below `folders` that parse; of the others ruff says what is wrong."""
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py" and name.startswith(tuple(f"{folder}/" for folder in folders)):
            text = path.read_text(encoding="utf-8")
            with suppress(SyntaxError):
                yield Source(name, text, ast.parse(text, name))


def functions(tree: ast.AST) -> Iterator[Definition]:
    """Every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Definition))


def public(name: str) -> bool:
    """Whether a name is offered to callers."""
    return not name.startswith("_")

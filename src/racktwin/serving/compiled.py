"""How the simulation is compiled: to machine code once, kept on disk beside its own source hash.

numba's cache does not see an edit in a function that another file calls, so the folder is keyed on
all sources that compiled code is made of; where nothing can be written, each process compiles for
itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])
HERE = Path(__file__).parent
IMPORT = re.compile(r"^from racktwin\.serving\.(\w+) import", re.MULTILINE)


def _sources() -> dict[str, str]:
    """Modules with compiled functions, and all that they import from here: name -> text."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("*.py")}
    found = {name for name, text in texts.items() if "\n@compiled\n" in text}
    while more := {each for name in found for each in IMPORT.findall(texts[name])} - found:
        found |= more
    return {name: texts[name] for name in sorted(found)}


def _cache_folder() -> Path | None:
    """A writable folder for the compiled code of exactly these sources, None when there is none."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in _sources().values():
        digest.update(source.encode())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    for parent in (Path(base) if base else Path.home() / ".cache", Path(tempfile.gettempdir())):
        folder = parent / "racktwin" / digest.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


_folder = _cache_folder()
if _folder is not None:
    numba.config.CACHE_DIR = str(_folder)  # type: ignore[attr-defined]


def compiled(function: F) -> F:
    """Compile `function`. Reference counts are off: it must not make arrays, only use them."""
    options: dict[str, Any] = {"cache": _folder is not None, "_nrt": False}
    made: F = numba.njit(**options)(function)
    return made

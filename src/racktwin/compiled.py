"""How hot loops are compiled: to machine code once, kept on disk beside their own source hash.

numba's cache does not see an edit in a function that another file calls, so the folder is keyed on
all sources that the compiled code of a package is made of; where nothing can be written, each
process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])
MARKED = re.compile(r"^@(compiled|inlined)$", re.MULTILINE)


class Compiler:
    """The decorator of one package's compiled functions.

    Reference counts are off: a compiled function must not make arrays, only use them. With
    NUMBA_DISABLE_JIT=1 the functions stay Python, slow and open to a debugger. level: of
    optimisation, 0 to 3; from 2 on loops become vector code. options: of numba.
    """

    def __init__(self, package: str, folder: Path, level: int = 3, **options: Any) -> None:
        self.package, self.folder, self.options = package, folder, options
        self.level = type(numba.config.OPT)(level)  # type: ignore[attr-defined]
        self.imported = re.compile(rf"^from {re.escape(package)}\.(\w+) import", re.MULTILINE)
        self.cache = self._cache_folder()

    def __call__(self, function: F) -> F:
        """Compile `function`."""
        return self._compile(function)

    def inlined(self, function: F) -> F:
        """Compile a function of a hot loop into those that call it: a call hands on many words."""
        return self._compile(function, forceinline=True)

    def _compile(self, function: F, **options: Any) -> F:
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return np.errstate(over="ignore")(function)  # unsigned integers wrap, as in C
        if self.cache is not None:
            numba.config.CACHE_DIR = str(self.cache)  # type: ignore[attr-defined]
        options |= {"cache": self.cache is not None, "_nrt": False, "nogil": True} | self.options
        made = numba.njit(**options)(function)
        compile_now = made.compile

        def at_level(signature: object) -> object:
            config: Any = numba.config
            before, config.OPT = config.OPT, self.level
            try:
                return compile_now(signature)
            finally:
                config.OPT = before

        made.compile = at_level
        return cast(F, made)

    def sources(self) -> dict[str, str]:
        """Modules with compiled functions, and all of the package they import: name -> text."""
        texts = {path.stem: path.read_text(encoding="utf-8") for path in self.folder.glob("*.py")}
        found = {name for name, text in texts.items() if MARKED.search(text)}
        while more := {e for name in found for e in self.imported.findall(texts[name])} - found:
            found |= more
        return {name: texts[name] for name in sorted(found)}

    def _cache_folder(self) -> Path | None:
        """A writable folder for the code of exactly these sources, None when there is none."""
        digest = hashlib.sha256(numba.__version__.encode())
        digest.update(Path(__file__).read_bytes())
        digest.update(self.package.encode())
        for source in self.sources().values():
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

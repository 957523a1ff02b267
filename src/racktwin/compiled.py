"""How hot loops are compiled: to machine code once, kept on disk beside their own source hash.

numba's cache does not see an edit in a function that another file calls, so the folder is keyed on
all sources that the compiled code of a package is made of; where nothing can be written, each
process compiles for itself.

numba would optimise, emit and keep every function on its own and again within each that calls it.
Here a function that another one calls is only a part of that: what Python calls is optimised,
emitted and kept once, with all its parts, in less than half the time.
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
from numba.core import compiler as numba_compiler
from numba.core import sigutils as numba_sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock

F = TypeVar("F", bound=Callable[..., object])
compiling: Any = numba_compiler
signatures: Any = numba_sigutils
MARKED = re.compile(r"^@(compiled|inlined)$", re.MULTILINE)


class Part(JITCodeLibrary):
    """Code of a function that is linked into those that call it, and not run by itself."""

    def _optimize_final_module(self) -> None:
        """Left to the whole."""

    def _finalize_final_module(self) -> None:
        """Nothing is emitted."""
        self._finalized = True


class Compiler:
    """The decorator of one package's compiled functions.

    Reference counts are off: a compiled function must not make arrays, only use them. With
    NUMBA_DISABLE_JIT=1 the functions stay Python, slow and open to a debugger. level: of
    optimisation, 0 to 3; from 2 on loops become vector code. options: of numba.
    """

    within = False  # a function that Python calls is being compiled

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
        made: Any = numba.njit(**options)(function)
        whole = made.compile
        made.compile = lambda signature: self._at_level(made, whole, signature)
        return cast(F, made)

    def _at_level(self, made: Any, whole: Callable[[Any], object], signature: Any) -> object:
        """Compile for a signature: as a part when that is asked for by another's compilation."""
        with global_compiler_lock:  # of numba: what is being compiled is so for all threads
            return self._as_asked(made, whole, signature)

    def _as_asked(self, made: Any, whole: Callable[[Any], object], signature: Any) -> object:
        types, _ = signatures.normalize_signature(signature)
        if Compiler.within:
            return self._part(made, types)
        if isinstance(getattr(made.overloads.get(types), "library", None), Part):
            del made.overloads[types]  # Python calls it as well
        config: Any = numba.config
        before, config.OPT = config.OPT, self.level
        Compiler.within = True
        try:
            return whole(signature)
        finally:
            config.OPT, Compiler.within = before, False

    @staticmethod
    def _part(made: Any, types: tuple[Any, ...]) -> object:
        """Compile as a part; its key among numba's functions."""
        if types not in made.overloads:
            target, flags = made.targetdescr, compiling.Flags()
            target.options.parse_as_flags(flags, made.targetoptions)
            flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
            typing, context = target.typing_context, target.target_context
            library = cast("type[Any]", Part)(context.codegen(), made.py_func.__qualname__)
            result = compiling.compile_extra(
                typing, context, made.py_func, types, None, flags, made.locals, library
            )
            key = object()
            context.insert_user_function(key, result.fndesc, [library])
            made.overloads[types] = result._replace(entry_point=key)
        return made.overloads[types].entry_point

    @property
    def fresh(self) -> bool:
        """Whether nothing is compiled yet of these sources, so that a first run takes long."""
        return self.cache is None or not any(self.cache.rglob("*.nbi"))

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

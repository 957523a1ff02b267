"""Writing a folder of files in one step: all of it or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from racktwin.finding import BadInput, Finding

MARKER = ".racktwin"  # lists what was written here; only a folder with nothing else is replaced


def write_folder(target: str | os.PathLike[str], files: Mapping[str, str]) -> Path:
    """Write `files` (relative path -> text) as the folder `target`, and return it.

    The files are written beside the target and moved there by a rename. A folder that holds only
    files written here before is replaced, an empty one is filled; anything else is refused.
    Names ending in '.sh' become executable.
    """
    goal = Path(target)
    try:
        _check(goal, files)
        goal.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", dir=goal.parent))
        try:
            _fill(fresh, files)
            _swap(fresh, goal)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput([Finding("folder", f"cannot be written: {reason}")], str(goal)) from None
    return goal


def check_folder(target: str | os.PathLike[str]) -> None:
    """Refuse a folder that cannot be written to, before the work for it is done."""
    _check(Path(target), {})


def _check(goal: Path, files: Mapping[str, str]) -> None:
    findings = []
    if goal.name in ("", "..") or goal.is_symlink() or (goal.exists() and not goal.is_dir()):
        findings.append(Finding("folder", "is not a folder of its own; name one to be made"))
    elif foreign := _foreign(goal):
        message = f"holds {foreign!r}, which racktwin did not write; name another folder"
        findings.append(Finding("folder", message))
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name or name == MARKER:
            findings.append(Finding(name, "is not a path inside the folder"))
    if findings:
        raise BadInput(findings, str(goal))


def _foreign(goal: Path) -> str | None:
    """A file in `goal` that an earlier call did not write, if there is one."""
    if not goal.is_dir():
        return None
    marker = goal / MARKER
    ours = marker.read_text(encoding="utf-8").splitlines() if marker.is_file() else []
    found = (path.relative_to(goal).as_posix() for path in goal.rglob("*") if not path.is_dir())
    return next((name for name in found if name not in {*ours, MARKER}), None)


def _fill(folder: Path, files: Mapping[str, str]) -> None:
    folder.chmod(0o755)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".sh":
            path.chmod(0o755)
    (folder / MARKER).write_text("\n".join([*files, ""]), encoding="utf-8")


def _swap(fresh: Path, goal: Path) -> None:
    """Put `fresh` where `goal` is; what stood there goes last, and comes back if that fails."""
    if not goal.exists():
        fresh.rename(goal)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", dir=goal.parent))
    goal.rename(old)
    try:
        fresh.rename(goal)
    except BaseException:  # an interrupt too
        old.rename(goal)
        raise
    shutil.rmtree(old, ignore_errors=True)

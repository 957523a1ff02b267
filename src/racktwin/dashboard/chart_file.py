"""A drawing or a page written into a file of its own, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from racktwin.finding import BadInput, Finding

ENDINGS = {"--svg": (".svg",), "--report": (".html", ".htm")}


def check_chart_file(target: str, verb: str, flag: str = "--svg") -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    path = Path(target)
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "its folder does not exist"
        raise BadInput([Finding(flag, f"{target}: {reason}")], verb)
    if path.suffix and path.suffix.lower() not in ENDINGS[flag]:
        text = f"{path.name[:60]!r} ends in {path.suffix}; expected {ENDINGS[flag][0]}"
        raise BadInput([Finding(flag, text)], verb)


def write_chart_file(target: str, text: str, verb: str, flag: str = "--svg") -> tuple[str, ...]:
    """Write `text` into the file; what to say of it."""
    check_chart_file(target, verb, flag)
    path = Path(target)
    rough = path.with_name(f".{path.name}.part")
    rough.write_text(text, encoding="utf-8")
    os.replace(rough, path)
    return (f"wrote {target}",)

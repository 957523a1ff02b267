"""What ships stays small: the wheel, and every file in the repository."""

from __future__ import annotations

import zlib
from pathlib import Path

from house.tree import Violation, files

WHEEL_BYTES = 15_000_000
FILE_BYTES = 4_000_000


def check(root: Path) -> list[Violation]:
    """The package deflated, as a wheel stores it, is at most 15 MB; a file at most 4 MB."""
    found = []
    wheel = 0
    for path in files(root):
        name = path.relative_to(root).as_posix()
        size = path.stat().st_size
        if size > FILE_BYTES:
            found.append(Violation(name, 1, f"{size:,} bytes; at most {FILE_BYTES:,}"))
        if name.startswith("src/"):
            wheel += len(zlib.compress(path.read_bytes(), 6))
    if wheel > WHEEL_BYTES:
        found.append(Violation("src", 1, f"wheel of {wheel:,} bytes; at most {WHEEL_BYTES:,}"))
    return found

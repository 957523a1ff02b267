"""Key paths of a JSON answer, and those docs/reference/json.md lists for a verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ESTIMATE = {"value", "low", "high", "unit", "evidence"}
OPEN = ("step_seconds", "evidence")  # keyed by whatever parts a step has
ROLES = ("serve", "prefill", "decode")
LEAVES = (str, int, float, bool, type(None))


def printed(answer: dict[str, Any], under: str = "") -> Iterator[str]:
    """Dotted paths; `[]` for entries of a list, ROLE for pools; estimates and open maps end one."""
    for key, value in answer.items():
        path = f"{under}{'ROLE' if key in ROLES else key}"
        if isinstance(value, dict) and set(value) != ESTIMATE and key not in OPEN:
            yield from printed(value, f"{path}.")
        elif isinstance(value, list):
            entries = [each for each in value if isinstance(each, dict)]
            yield f"{path}[]"
            for each in entries:
                yield from printed(each, f"{path}[].")
        else:
            yield path


def documented(root: Path, verb: str) -> set[str]:
    """The keys in the first column of the verb's tables."""
    page = (root / "docs/reference/json.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {verb}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}

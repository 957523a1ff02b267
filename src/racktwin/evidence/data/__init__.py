"""What is known about published measurements: names, launch settings, doubts, errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from racktwin import catalog

HERE = Path(__file__).parent


@cache
def load(name: str) -> Any:
    """The plain content of data/<name>.yaml."""
    return catalog.read(HERE / f"{name}.yaml").plain()

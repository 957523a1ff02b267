"""What a user adds to the catalog: YAML files in a folder of their own.

`$RACKTWIN_HOME`, else `$XDG_DATA_HOME/racktwin`, else where the system keeps such data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

KINDS = ("epochs",)  # of which a user keeps entries


def home() -> Path:
    """The user's folder; it may not exist."""
    if own := os.environ.get("RACKTWIN_HOME"):
        return Path(own)
    if data := os.environ.get("XDG_DATA_HOME"):
        return Path(data) / "racktwin"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "racktwin"
    if sys.platform == "win32" and (data := os.environ.get("LOCALAPPDATA")):
        return Path(data) / "racktwin"
    return Path.home() / ".local" / "share" / "racktwin"


def file(kind: str, name: str) -> Path:
    """Where the user's entry of a kind and name is kept."""
    return home() / kind / f"{name}.yaml"


def own(kind: str) -> list[str]:
    """Names of the user's entries of a kind, sorted."""
    if kind not in KINDS:
        return []
    return sorted(path.stem for path in (home() / kind).glob("*.yaml"))

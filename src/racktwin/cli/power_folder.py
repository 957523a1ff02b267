"""What `racktwin power budget --out` writes: the report, the tree as a drawing, the data."""

from __future__ import annotations

from typing import Any

from racktwin.cli.console import json_text
from racktwin.dashboard.power_report import power_report
from racktwin.dashboard.power_tree import power_tree
from racktwin.export.folder import write_folder
from racktwin.facility.budget import Budget


def write_budget(target: str, found: Budget, answer: dict[str, Any]) -> tuple[str, ...]:
    """Write all files into the folder `target`, all or none; what to say of it."""
    files = {
        "report.html": power_report(found),
        "power.svg": power_tree(found),
        "power.json": json_text(answer),
    }
    write_folder(target, files)
    return ("wrote " + ", ".join(f"{target}/{name}" for name in files),)

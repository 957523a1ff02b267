"""What `racktwin capacity --out` writes: the report, the data and the deployment of the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from racktwin.dashboard.capacity_report import capacity_report
from racktwin.engine.deployment_text import write_deployment
from racktwin.export.folder import write_folder
from racktwin.planning.capacity import Capacity


def write_capacity(target: str, found: Capacity, answer: dict[str, Any]) -> tuple[str, ...]:
    """Write all files into the folder `target`, all or none; their paths."""
    data = msgspec.json.format(msgspec.json.encode(answer, enc_hook=float), indent=2)
    files = {
        "report.html": capacity_report(found),
        "capacity.json": data.decode() + "\n",
        "deployment.yaml": write_deployment(found.best.whole, target),
    }
    write_folder(target, files)
    return tuple(f"{target}/{name}" for name in files)

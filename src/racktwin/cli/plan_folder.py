"""What `racktwin plan --out` writes: the report, the data, the deployment and its launch files."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from racktwin.dashboard.plan_report import plan_report
from racktwin.engine.deployment_text import write_deployment
from racktwin.export.folder import write_folder
from racktwin.export.launch import launch_files
from racktwin.planning.plan import Plan
from racktwin.planning.record import record


def write_plans(target: str, plans: Sequence[Plan]) -> tuple[str, ...]:
    """Write all files of the best deployments into the folder `target`, all or none.

    Several plans get a folder each, numbered in the order they were asked for.
    """
    if len(plans) == 1:
        files = _files(plans[0], target)
        shown = [*(name for name in files if "/" not in name), "launch/"]
    else:
        shown = [f"{number}-{plan.ask.cluster.name}/" for number, plan in enumerate(plans, 1)]
        files = {
            f"{folder}{name}": text
            for folder, plan in zip(shown, plans, strict=True)
            for name, text in _files(plan, f"{target}/{folder}").items()
        }
    write_folder(target, files)
    return tuple(f"{target}/{name}" for name in shown)


def _files(plan: Plan, folder: str) -> dict[str, str]:
    """The files of one plan, by name; folder: where they will lie."""
    answer = {"schema": "racktwin/plan/1", **record(plan)}
    data = msgspec.json.format(msgspec.json.encode(answer, enc_hook=float), indent=2)
    files = {
        "report.html": plan_report(plan),
        "plan.json": data.decode() + "\n",
        "deployment.yaml": write_deployment(plan.best.deployment, folder),
    }
    launch = {f"launch/{name}": text for name, text in launch_files(plan.best.deployment).items()}
    return files | launch

"""What `racktwin plan --out` writes: the report, the data, the deployment and its launch files."""

from __future__ import annotations

import msgspec

from racktwin.dashboard.plan_report import plan_report
from racktwin.engine.deployment_text import write_deployment
from racktwin.export.folder import write_folder
from racktwin.export.launch import launch_files
from racktwin.planning.plan import Plan
from racktwin.planning.record import record


def write_plan(target: str, plan: Plan) -> tuple[str, ...]:
    """Write all files of the best deployment into the folder `target`, all or none."""
    answer = {"schema": "racktwin/plan/1", **record(plan)}
    data = msgspec.json.format(msgspec.json.encode(answer, enc_hook=float), indent=2)
    files = {
        "report.html": plan_report(plan),
        "plan.json": data.decode() + "\n",
        "deployment.yaml": write_deployment(plan.best.deployment),
    }
    launch = {f"launch/{name}": text for name, text in launch_files(plan.best.deployment).items()}
    write_folder(target, files | launch)
    return (*(f"{target}/{name}" for name in files), f"{target}/launch/")

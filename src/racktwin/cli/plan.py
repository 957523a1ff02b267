"""`racktwin plan`: which deployment of a model serves a traffic best on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from racktwin.planning.wish import Wish

if TYPE_CHECKING:
    from racktwin.planning.plan import Plan

SCHEMA = "racktwin/plan/1"
QUIET = Parameter(show_default=False)
NOTHING_MEETS = 1


def plan(
    model: str,
    *,
    on: Annotated[list[str], QUIET],
    input: Annotated[int | None, QUIET] = None,
    output: Annotated[int | None, QUIET] = None,
    workload: Annotated[str | None, QUIET] = None,
    confirm: Annotated[bool | None, Parameter(negative="--no-confirm", show_default=False)] = None,
    wish: Annotated[Wish | None, Parameter(name="*")] = None,
    out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Rank every deployment of a model on a cluster that meets the latency limits.

    racktwin plan deepseek-r1 --on azure-nd-gb300-v6 --input 8192 --output 1024
    racktwin plan llama-3.1-70b --on hgx-b200 --input 2000 --output 500 --tpot 25ms
    racktwin plan qwen3-32b --on hgx-b200 --on hgx-b300 --input 1024 --output 1024
    racktwin plan gpt-oss-120b --on hgx-b200 --workload azure-conv-2023 --ttft 2s

    Exit code: 0 something meets the limits, 1 nothing does, 2 bad input.

    Parameters
    ----------
    model
        A model of the catalog, a Hugging Face id, or a path to a config.json.
    on
        A cluster or a cluster file; give it twice to compare two machines.
    input
        Mean input tokens of a request.
    output
        Mean output tokens of a request.
    workload
        Traffic by name, a YAML file of it, or a trace, instead of the two.
    confirm
        Simulate the deployments shown at 95 % of their planned load, for percentiles; the default
        with a workload.
    wish
        Everything below.
    out
        Folder to write: report.html, plan.json, deployment.yaml and the engine's launch files; two
        machines get a folder each.
    json
        Print JSON (schema racktwin/plan/1) instead of a screen.
    """
    from racktwin.cli.console import status
    from racktwin.planning.plan import plan as search
    from racktwin.planning.wish import asks

    plans = [search(ask) for ask in asks(model, on, input, output, wish or Wish(), workload)]
    if confirm or (confirm is None and workload is not None):
        with status():
            from racktwin.planning.confirmation import confirmed  # compiles once

            plans = [confirmed(each) for each in plans]
    _show(plans, out, json)
    return 0 if all(each.choices for each in plans) else NOTHING_MEETS


def _show(plans: Sequence[Plan], out: str, json: bool) -> None:
    """Write the files asked for, then print the answer."""
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.plan_screen import comparison, screen
    from racktwin.planning.record import record

    written: tuple[str, ...] = ()
    if out:
        from racktwin.cli.plan_folder import write_plans

        written = write_plans(out, plans)
    if json:
        answers = [record(each) for each in plans]
        answer = answers[0] if len(answers) == 1 else {"plans": answers}
        print_json({"schema": SCHEMA, **answer})
        return
    for each in plans:
        print_screen(screen(each))
    if len(plans) > 1:
        print_screen(comparison(plans))
    if written:
        print("wrote " + ", ".join(written))

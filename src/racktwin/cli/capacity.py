"""`racktwin capacity`: how much load holds, and what a load takes."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.planning.capacity_wish import Wish

SCHEMA = "racktwin/capacity/1"
QUIET = Parameter(show_default=False)
NOT_ENOUGH = 1


def capacity(
    subject: str,
    *,
    wish: Annotated[Wish | None, Parameter(name="*")] = None,
    json: Annotated[bool, QUIET] = False,
    out: Annotated[str, QUIET] = "",
) -> int:
    """The load a deployment sustains within latency objectives, by simulation.

    racktwin capacity deployment.yaml --workload azure-conv-2023 --slo-ttft p99:2s
    racktwin capacity deepseek-r1 --on azure-nd-gb300-v6 --input 8192 --output 1024
                      --slo-ttft p99:3s --slo-tpot p99:25ms --rate 2000/s --spare 2

    Loads are tried until the largest that holds is known to 2 %. With a rate: the copies, GPUs and
    racks it takes.

    Exit code: 0 there is such a load, 1 there is none or the cluster is too small, 2 bad input.

    Parameters
    ----------
    subject
        A deployment.yaml; or a model, whose best deployments are searched first.
    wish
        Everything below.
    json
        Print JSON (schema racktwin/capacity/1) instead of a screen.
    out
        Folder to write: report.html, capacity.json and the deployment.yaml of the first.
    """
    from racktwin.cli.capacity_screen import screen
    from racktwin.cli.console import print_json, print_screen, status, tell_once
    from racktwin.planning.capacity_wish import Reader

    if out:
        from racktwin.export.folder import check_folder

        check_folder(out)
    question = Reader(subject, wish or Wish()).question()
    tell_once()
    with status() as tell:
        from racktwin.planning.capacity import capacity as search  # compiles once

        found = search(question, tell)
    from racktwin.planning.capacity_record import record

    answer = {"schema": SCHEMA, **record(found)}
    written: tuple[str, ...] = ()
    if out:
        from racktwin.cli.capacity_folder import write_capacity

        written = write_capacity(out, found, answer)
    if json:
        print_json(answer)
    else:
        print_screen(screen(found, written))
    return 0 if found.best.enough else NOT_ENOUGH

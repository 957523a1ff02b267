"""`racktwin collective`: what nccl-tests should print on a machine, and why."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.network.collective_wish import Wish

SCHEMA = "racktwin/collective/1"
QUIET = Parameter(show_default=False)


def collective(
    operation: str,
    *,
    on: str,
    wish: Annotated[Wish | None, Parameter(name="*")] = None,
    table: Annotated[bool, QUIET] = False,
    compare: Annotated[str | None, QUIET] = None,
    svg: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """What to expect of a collective on a machine, and why.

    racktwin collective all-reduce --on azure-nd-gb300-v6 --gpus 4608 --bytes 1GB
    racktwin collective all-reduce --on azure-nd-h100-v5 --gpus 8 --table
    racktwin collective all-to-all --on hgx-b200 --gpus 64 --compare nccl.log

    Parameters
    ----------
    operation
        all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send-recv.
    on
        A cluster or a cluster file.
    wish
        Everything below.
    table
        What nccl-tests prints from 1 KiB to 16 GiB; the default without --bytes.
    compare
        The output of an nccl-tests program: what is slow, by how much, the likely cause.
    svg
        Write the chart of bus bandwidth against size into this file.
    json
        Print JSON (schema racktwin/collective/1) instead of a screen.
    """
    from racktwin.cli.collective_screen import comparison_screen, screen
    from racktwin.cli.console import print_json, print_screen
    from racktwin.dashboard.bandwidth import write_chart
    from racktwin.network import comparison, nccl_log
    from racktwin.network.collective_wish import asked
    from racktwin.network.expectation import expect
    from racktwin.network.expectation_record import judged, record

    log = nccl_log.read(compare) if compare else None
    question, size = asked(operation, on, wish or Wish(), log, table=table)
    if log is not None:
        run = comparison.compare(question, log)
        answer, parts = judged(run), comparison_screen(run)
        written = write_chart(svg, run.expectation, run.lines)
    else:
        found = expect(question, size)
        answer, parts = record(found), screen(found)
        written = write_chart(svg, found)
    if json:
        print_json({"schema": SCHEMA, **answer})
    else:
        print_screen([*parts, *written])

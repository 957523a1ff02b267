"""`racktwin collective`: what nccl-tests should print on a machine, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from racktwin.network.collective_wish import Wish

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    racktwin collective dispatch --on azure-nd-gb300-v6 --gpus 64 --model deepseek-r1

    Parameters
    ----------
    operation
        all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send-recv; dispatch and
        combine of experts.
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
    from racktwin.cli.console import print_json, print_screen
    from racktwin.network.moe_question import PHASES

    answer, parts = (_exchange if operation in PHASES else _collective)(
        operation, on, wish or Wish(), table, compare, svg
    )
    if json:
        print_json({"schema": SCHEMA, **answer})
    else:
        print_screen(parts)


def _collective(
    operation: str, on: str, wish: Wish, table: bool, compare: str | None, svg: str | None
) -> tuple[dict[str, Any], list[RenderableType]]:
    from racktwin.cli.collective_screen import comparison_screen, screen
    from racktwin.dashboard.bandwidth import write_chart
    from racktwin.network import comparison, nccl_log
    from racktwin.network.asked import asked
    from racktwin.network.expectation import expect
    from racktwin.network.expectation_record import judged, record

    log = nccl_log.read(compare) if compare else None
    question, size = asked(operation, on, wish, log, table=table)
    if log is not None:
        run = comparison.compare(question, log)
        written = write_chart(svg, run.expectation, run.lines)
        return judged(run), [*comparison_screen(run), *written]
    found = expect(question, size)
    return record(found), [*screen(found), *write_chart(svg, found)]


def _exchange(
    phase: str, on: str, wish: Wish, table: bool, compare: str | None, svg: str | None
) -> tuple[dict[str, Any], list[RenderableType]]:
    from racktwin.cli.collective_screen import exchange_screen
    from racktwin.finding import Finding
    from racktwin.network.expectation_record import exchange
    from racktwin.network.moe_question import exchanged

    given = {"--compare": compare, "--svg": svg, "--table": table}
    found = [Finding(name, f"is not for {phase}") for name, value in given.items() if value]
    answer = exchanged(phase, on, wish, found)
    return exchange(answer), list(exchange_screen(answer))

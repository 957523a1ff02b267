"""`racktwin power lose`: seconds until GPUs throttle after a loss of cooling."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.facility.asked import LossWish

SCHEMA = "racktwin/power-lose/1"
QUIET = Parameter(show_default=False)
THROTTLES = 1


def power_lose(
    cluster: str,
    *,
    lose: str,
    wish: Annotated[LossWish | None, Parameter(name="*")] = None,
    svg: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Temperatures after a loss of pumps, exchangers (CDUs), coolers or chillers.

    racktwin power lose azure-nd-gb300-v6 --lose pumps
    racktwin power lose azure-nd-gb300-v6 --lose exchangers:2 --outdoor 40C
    racktwin power lose azure-nd-gb300-v6 --lose chillers,coolers:4 --outdoor 45C --load 80%

    Exit code: 0 no GPU throttles within half an hour, 1 some do, 2 bad input.

    Parameters
    ----------
    cluster
        A cluster or a cluster file.
    lose
        pumps (all), exchangers:N, coolers:N, chillers:N; without a number all of them; commas
        between.
    wish
        Everything below.
    svg
        Write a chart of the temperatures into this file.
    json
        Print JSON (schema racktwin/power-lose/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.power_lose_screen import record, screen
    from racktwin.dashboard.chart_file import check_chart_file, write_chart_file
    from racktwin.dashboard.loss_chart import loss_chart
    from racktwin.facility.asked import loss_of

    if svg:
        check_chart_file(svg, "power lose")
    found = loss_of(cluster, lose, wish or LossWish())
    written = write_chart_file(svg, loss_chart(found), "power lose") if svg else ()
    if json:
        print_json({"schema": SCHEMA, **record(found)})
    else:
        print_screen([*screen(found), *written])
    return THROTTLES if found.reached["junction_throttle"] is not None else 0

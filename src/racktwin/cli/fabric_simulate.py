"""`racktwin fabric simulate`: jobs that share a fabric."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/fabric-simulate/1"
QUIET = Parameter(show_default=False)
MOST_DRAWS = 1000


def fabric_simulate(
    traffic: str,
    *,
    routing: Annotated[str | None, QUIET] = None,
    congestion: Annotated[str | None, QUIET] = None,
    fail: Annotated[str | None, QUIET] = None,
    draws: int = 1,
    svg: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """When jobs that share a fabric end, and what the others cost each of them.

    racktwin fabric simulate traffic.yaml
    racktwin fabric simulate traffic.yaml --routing static --draws 20
    racktwin fabric simulate traffic.yaml --fail spine:3 --svg chart.svg

    Flows get max-min fair rates, found anew whenever one starts or ends; collectives move in step.

    Parameters
    ----------
    traffic
        A file of jobs: docs/guides/fabric.md.
    routing
        static, spray, adaptive or rail, instead of what the file says.
    congestion
        telemetry or none, instead of what the file says.
    fail
        What is broken, instead of what the file says: spine:3,plane:leaf7/12/2.
    draws
        Draw the hashes of static paths so many times, and say how far the times spread.
    svg
        Write a chart of jobs and links over time into this file.
    json
        Print JSON (schema racktwin/fabric-simulate/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen, status
    from racktwin.cli.contention_screen import screen
    from racktwin.dashboard.chart_file import check_chart_file, write_chart_file
    from racktwin.network.contention_record import record
    from racktwin.network.traffic_file import Given, read_traffic

    given = Given(routing, congestion, fail, draws, MOST_DRAWS)
    if svg:
        check_chart_file(svg, "fabric simulate")
    asked = read_traffic(traffic, given)
    with status():
        from racktwin.network.contention import contend  # compiles once

        found = contend(asked, draws)
    written: tuple[str, ...] = ()
    if svg:
        from racktwin.dashboard.contention_chart import contention_chart

        written = write_chart_file(svg, contention_chart(found), "fabric simulate")
    if json:
        print_json({"schema": SCHEMA, **record(found)})
    else:
        print_screen([*screen(found), *written])

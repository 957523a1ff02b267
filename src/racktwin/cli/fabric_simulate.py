"""`racktwin fabric simulate`: jobs that share a fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from racktwin.network.contention import Contention

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
    out: Annotated[str, QUIET] = "",
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
        What is broken, instead of what the file says: spine:3,plane:leaf7/12/2; '' for nothing.
    draws
        Draw the hashes of static paths so many times, and say how far the times spread; with
        static routing only.
    svg
        Write a chart of jobs and links over time into this file.
    out
        Folder to write report.html and fabric-simulate.json to.
    json
        Print JSON (schema racktwin/fabric-simulate/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen, status
    from racktwin.cli.contention_screen import screen
    from racktwin.network.contention_record import record
    from racktwin.network.traffic_file import Given, read_traffic

    given = Given(routing, congestion, fail, draws, MOST_DRAWS)
    _check(svg, out)
    asked = read_traffic(traffic, given)
    with status():
        from racktwin.network.contention import contend  # compiles once

        found = contend(asked, draws)
    answer = {"schema": SCHEMA, **record(found)}
    written = _written(found, answer, svg, out)
    if json:
        print_json(answer)
    else:
        print_screen([*screen(found), *written])


def _check(svg: str | None, out: str) -> None:
    """Refuse files that cannot be written, before anything is computed."""
    from racktwin.dashboard.chart_file import check_chart_file
    from racktwin.export.folder import check_folder

    if svg:
        check_chart_file(svg, "fabric simulate")
    if out:
        check_folder(out)


def _written(
    found: Contention, answer: dict[str, Any], svg: str | None, out: str
) -> tuple[str, ...]:
    """Write the files asked for; what to say of them."""
    from racktwin.cli.console import json_text
    from racktwin.dashboard.chart_file import write_chart_file
    from racktwin.dashboard.contention_chart import contention_chart
    from racktwin.dashboard.contention_report import contention_report
    from racktwin.export.folder import write_folder

    said: tuple[str, ...] = ()
    if svg:
        said = write_chart_file(svg, contention_chart(found), "fabric simulate")
    if out:
        files = {"report.html": contention_report(found), "fabric-simulate.json": json_text(answer)}
        write_folder(out, files)
        said = (*said, f"wrote {', '.join(f'{out}/{name}' for name in files)}")
    return said

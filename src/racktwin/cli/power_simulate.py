"""`racktwin power simulate`: a deployment that serves a day in its hall."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.planning.hall_day import DayWish

SCHEMA = "racktwin/power-simulate/1"
QUIET = Parameter(show_default=False)
BEHIND = 1


def power_simulate(
    deployment: str,
    *,
    wish: Annotated[DayWish | None, Parameter(name="*")] = None,
    oracle: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
) -> int:
    """A day of a hall, second by second: load, power, temperatures, throttling, latency.

    racktwin power simulate deployment.yaml --workload azure-conv-2023 --weather phoenix
    racktwin power simulate deployment.yaml --input 8192 --output 1024 --weather dublin --cap 110kW
    racktwin power simulate deployment.yaml --workload servegen-deepseek-r1 --weather site.epw

    Exit code: 0 the load is carried, 1 requests are left waiting, 2 bad input.

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one.
    wish
        Everything below.
    oracle
        The oracle simulates, plain numpy, not the compiled kernel: the same day, slowly.
    out
        Folder to write: report.html, day.json and day.csv with a row for each point.
    json
        Print JSON (schema racktwin/power-simulate/1) instead of a screen.
    """
    from racktwin.cli.console import json_text, print_json, print_screen
    from racktwin.cli.power_simulate_screen import screen
    from racktwin.dashboard.day_report import day_report
    from racktwin.export.folder import check_folder, write_folder
    from racktwin.planning.hall_day import hall_day
    from racktwin.planning.hall_day_record import lines, record

    if out:
        check_folder(out)
    found = hall_day(deployment, wish or DayWish(), oracle)
    answer = {"schema": SCHEMA, **record(found)}
    written: tuple[str, ...] = ()
    if out:
        files = {"report.html": day_report(found), "day.json": json_text(answer)}
        files["day.csv"] = lines(found)
        write_folder(out, files)
        written = ("wrote " + ", ".join(f"{out}/{name}" for name in files),)
    if json:
        print_json(answer)
    else:
        print_screen([*screen(found), *written])
    return BEHIND if found.behind else 0

"""`racktwin power year`: a hall through a year of weather."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.facility.asked import YearWish

SCHEMA = "racktwin/power-year/1"
QUIET = Parameter(show_default=False)
SHORT = 1


def power_year(
    cluster: str,
    *,
    wish: Annotated[YearWish | None, Parameter(name="*")] = None,
    svg: Annotated[str | None, QUIET] = None,
    out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
) -> int:
    """PUE, water, energy, carbon and cost of a hall through a year of weather, hour by hour.

    racktwin power year azure-nd-gb300-v6 --weather phoenix
    racktwin power year azure-nd-gb300-v6 --weather site.epw --plant tower --inlet 32C
    racktwin power year cluster.yaml --weather dublin --load 70% --tariff prices.csv

    Exit code: 0 the plant rejects the heat in every hour, 1 it does not, 2 bad input.

    Parameters
    ----------
    cluster
        A cluster or a cluster file.
    wish
        Everything below.
    svg
        Write a chart of the overheads into this file.
    out
        Folder to write: report.html, year.json and year.csv with a row for each hour.
    json
        Print JSON (schema racktwin/power-year/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.power_year_screen import screen
    from racktwin.cli.year_folder import year_files
    from racktwin.dashboard.chart_file import check_chart_file, write_chart_file
    from racktwin.dashboard.year_charts import overhead_chart
    from racktwin.export.folder import check_folder, write_folder
    from racktwin.facility.asked import year_of
    from racktwin.facility.year_record import record

    if svg:
        check_chart_file(svg, "power year")
    if out:
        check_folder(out)
    found = year_of(cluster, wish or YearWish())
    answer = {"schema": SCHEMA, **record(found)}
    written: tuple[str, ...] = ()
    if svg:
        written = write_chart_file(svg, overhead_chart(found.year), "power year")
    if out:
        files = year_files(found, answer)
        write_folder(out, files)
        written = (*written, "wrote " + ", ".join(f"{out}/{name}" for name in files))
    if json:
        print_json(answer)
    else:
        print_screen([*screen(found), *written])
    return SHORT if found.year.short else 0

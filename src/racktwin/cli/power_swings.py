"""`racktwin power swings`: power over a job at 1 ms, against what a utility allows."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.facility.swings_wish import SwingsWish

SCHEMA = "racktwin/power-swings/1"
QUIET = Parameter(show_default=False)
EXCEEDED = 1


def power_swings(
    cluster: str,
    *,
    wish: Annotated[SwingsWish | None, Parameter(name="*")] = None,
    out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Swings of training steps or bursts of inference, and what storage and smoothing leave.

    racktwin power swings azure-nd-gb300-v6
    racktwin power swings azure-nd-gb300-v6 --step 1s --floor 90% --band-limit 100kW
    racktwin power swings azure-nd-gb300-v6 --work inference --ramp-limit 5MW/s --out swings

    Exit code: 1 when limits are given and the steadiest variant exceeds one, else 0.

    Parameters
    ----------
    cluster
        A cluster or a cluster file.
    wish
        Everything below.
    out
        Write report.html, power.svg, spectrum.svg and swings.json into this folder.
    json
        Print JSON (schema racktwin/power-swings/1) instead of a screen.
    """
    from racktwin.cli.console import json_text, print_json, print_screen
    from racktwin.cli.power_swings_screen import screen
    from racktwin.dashboard.swings_charts import course_chart, spectrum_chart
    from racktwin.dashboard.swings_report import swings_report
    from racktwin.export.folder import check_folder, write_folder
    from racktwin.facility.pattern import TICK
    from racktwin.facility.swings_asked import swings_of
    from racktwin.facility.swings_words import record

    if out:
        check_folder(out)
    found, limit = swings_of(cluster, wish or SwingsWish())
    answer = {"schema": SCHEMA, **record(found, limit)}
    written: tuple[str, ...] = ()
    if out:
        whole = len(found.variants[0].site) * TICK
        files = {
            "report.html": swings_report(found, limit),
            "power.svg": course_chart(found, 0.0, whole),
            "spectrum.svg": spectrum_chart(found),
            "swings.json": json_text(answer),
        }
        write_folder(out, files)
        written = ("wrote " + ", ".join(f"{out}/{name}" for name in files),)
    if json:
        print_json(answer)
    else:
        print_screen([*screen(found, limit), *written])
    return EXCEEDED if limit.broken(found.variants[-1]) else 0

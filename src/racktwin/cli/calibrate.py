"""`racktwin calibrate`: an engine epoch of one's own from a few measurements."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/calibrate/1"
QUIET = Parameter(show_default=False)


def calibrate(
    points: str,
    *,
    name: str = "my-cluster",
    replace: Annotated[bool, QUIET] = False,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """Fit an engine epoch to your measurements, for `engine:` in every other verb.

    racktwin calibrate points.csv
    racktwin calibrate points.csv --name my-cluster --replace
    racktwin plan gpt-oss-120b --on hgx-b200 --input 1024 --output 1024 --engine my-cluster

    A dozen points are useful; the fit starts from the shipped epoch of their engine and leaves it
    only as far as they say. Kept in $RACKTWIN_HOME, or where your system keeps such data.

    Exit code: 0, and 2 for bad input.

    Parameters
    ----------
    points
        A table (CSV) with the columns of `racktwin validate serving`, measured ones filled.
    name
        What to call it.
    replace
        Fit an epoch of that name anew.
    json
        Print JSON (schema racktwin/calibrate/1) instead of a screen.
    """
    from datetime import date

    from racktwin.cli.calibrate_screen import screen
    from racktwin.cli.console import print_json, print_screen
    from racktwin.evidence.calibration.calibration import calibrate as fitted
    from racktwin.evidence.calibration.keep import check_name, keep
    from racktwin.evidence.calibration.record import record
    from racktwin.finding import BadInput

    if findings := check_name(name, replace):
        raise BadInput(findings, "racktwin calibrate")
    found = fitted(points, name)
    kept = str(keep(found, date.today().isoformat()))
    if json:
        print_json({"schema": SCHEMA, **record(found), "kept": kept})
    else:
        print_screen(screen(found, kept))

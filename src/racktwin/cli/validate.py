"""`racktwin validate`: predictions beside published measurements, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from racktwin.finding import BadInput, Finding, unknown

if TYPE_CHECKING:
    from racktwin.evidence.validation.point import Validation

SCHEMA = "racktwin/validate/1"
QUIET = Parameter(show_default=False)
SETS = ("serving", "mlperf", "azure", "collectives", "kernels")
ALL = "all"


def validate(
    set: str,
    *,
    points: Annotated[str, QUIET] = "",
    configs: Annotated[str, QUIET] = "",
    workloads: Annotated[str, QUIET] = "",
    by: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
    out: Annotated[str, QUIET] = "",
) -> None:
    """Predict published measurements and say how far off the predictions are.

    racktwin validate serving --by chip,engine,model
    racktwin validate serving --points mine.csv --out answer
    racktwin validate all

    Measured columns may be empty: such rows are predicted and not scored.

    Exit code: 0, and 2 for bad input.

    Parameters
    ----------
    set
        serving, mlperf, azure, collectives, kernels, or all of them.
    points
        Your own table with the columns of the set (kernels: a folder of tables) instead of the
        measurements that ship.
    configs
        mlperf: the table of configurations, when not the one that ships.
    workloads
        mlperf: the table of workloads, when not the one that ships.
    by
        Traits to group errors by: chip,engine,model.
    json
        Print JSON (schema racktwin/validate/1) instead of a screen.
    out
        Folder to write points.csv to: your columns, the prediction, its interval, its evidence.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.validate_screen import overview, screen
    from racktwin.evidence.validation.record import record
    from racktwin.evidence.validation.tally import summary

    flags = {"--points": points, "--configs": configs, "--workloads": workloads, "--by": by}
    _check(set, flags)
    names = SETS if set == ALL else (set,)
    found = [_validated(name, points, configs, workloads) for name in names]
    traits = [each.strip() for each in by.split(",") if each.strip()]
    sums = [summary(each, traits) for each in found]
    written = _write(out, found) if out else ()
    if json:
        answers = [record(each, its) for each, its in zip(found, sums, strict=True)]
        print_json({"schema": SCHEMA, **({"sets": answers} if set == ALL else answers[0])})
        return
    pairs = list(zip(found, sums, strict=True))
    print_screen(overview(pairs) if set == ALL else screen(*pairs[0]))
    if written:
        print("wrote " + ", ".join(written))


def _check(set: str, flags: dict[str, str]) -> None:
    findings = []
    if set not in (*SETS, ALL):
        findings.append(unknown("SET", set, (*SETS, ALL)))
    for flag, value in flags.items():
        if value and set == ALL:
            findings.append(Finding(flag, "one set at a time takes it, not 'all'"))
        elif value and flag in ("--configs", "--workloads") and set in SETS and set != "mlperf":
            findings.append(Finding(flag, f"belongs to mlperf, not to {set}"))
    if findings:
        raise BadInput(findings, "racktwin validate")


def _validated(name: str, points: str, configs: str, workloads: str) -> Validation:
    from racktwin.evidence import validation

    track: Any = _tracked(name)
    path = points or None
    if name == "mlperf":
        return validation.mlperf(path, configs or None, workloads or None, track=track)
    return getattr(validation, name)(path, track=track)  # type: ignore[no-any-return]


def _tracked(name: str) -> Any:
    """A loop over rows with a progress bar on standard error, when that is a terminal."""
    import sys

    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)

    def tracked(items: Sequence[Any]) -> Iterable[Any]:
        shown = sys.stderr.isatty()
        return track(items, name, console=console, transient=True, disable=not shown)

    return tracked


def _write(target: str, found: Sequence[Validation]) -> tuple[str, ...]:
    from racktwin.evidence.validation.record import points_csv
    from racktwin.export.folder import write_folder

    single = len(found) == 1
    files = {("" if single else f"{each.set}/") + "points.csv": points_csv(each) for each in found}
    write_folder(target, files)
    return tuple(f"{target}/{name}" for name in files)

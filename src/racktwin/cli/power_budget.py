"""`racktwin power budget`: watts, losses and limits from the chips to the meter."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/power-budget/1"
QUIET = Parameter(show_default=False)


def power_budget(
    cluster: str,
    *,
    racks: int | None = None,
    nodes: int | None = None,
    load: str = "full",
    cap: Annotated[str | None, QUIET] = None,
    budget: Annotated[str, QUIET] = "",
    fail: Annotated[str, QUIET] = "",
    out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
) -> int:
    """What a cluster draws, part by part, and which limit of its power chain binds first.

    racktwin power budget azure-nd-gb300-v6
    racktwin power budget azure-nd-gb300-v6 --fail feed:A --cap 1300W
    racktwin power budget azure-nd-gb300-v6 --budget rack=132kW,site=10MW --out power

    Parameters
    ----------
    cluster
        A cluster or a cluster file.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    load
        idle, full, or a share of the way from one to the other: 0.7.
    cap
        What a GPU may draw at most: 1200W; '' for its TDP.
    budget
        What you allow: rack=120kW (at its inlet), site=9MW (at the meter), or a stage of the chain.
    fail
        What is lost: feed:A, or one unit of a stage on a feed, row:2/A; commas between.
    out
        Write report.html, power.svg and power.json into this folder.
    json
        Print JSON (schema racktwin/power-budget/1) instead of a screen.
    """
    from racktwin import hardware
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.power_ask import ask
    from racktwin.cli.power_folder import write_budget
    from racktwin.cli.power_screen import screen
    from racktwin.export.folder import check_folder
    from racktwin.facility.budget import budget as budget_of
    from racktwin.facility.budget_record import record

    if out:
        check_folder(out)
    machine = hardware.cluster(cluster, racks, nodes)
    chain, share, most = ask(machine, load, cap, budget, fail)
    made = budget_of(machine, chain, share, most, fail)
    answer = {"schema": SCHEMA} | record(made)
    written = write_budget(out, made, answer) if out else ()
    if json:
        print_json(answer)
    else:
        print_screen([*screen(made), *written])
    return 1 if made.exceeded else 0

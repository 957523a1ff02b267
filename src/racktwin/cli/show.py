"""`racktwin show`: what the catalog holds, and where each figure is from."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin import catalog
from racktwin.finding import BadInput, Finding, unknown

SCHEMA = "racktwin/show/1"
QUIET = Parameter(show_default=False)
HARDWARE = ("clusters", "racks", "hosts", "chips", "switches", "facilities")
KINDS = (*HARDWARE, "models", "epochs", "workloads")


def show(
    name: Annotated[str, QUIET] = "",
    /,
    *,
    racks: int | None = None,
    nodes: int | None = None,
    sources: Annotated[bool, QUIET] = False,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """List the catalog, or show one thing of it on one screen.

    racktwin show
    racktwin show models
    racktwin show azure-conv-2023
    racktwin show azure-nd-gb300-v6 --racks 8
    racktwin show gb300 --sources

    Parameters
    ----------
    name
        A cluster, rack, host, chip, switch, model, engine, workload; a file; or a kind, such as
        models.
    racks
        Size of a cluster in racks.
    nodes
        Size of a cluster in nodes (hosts, VMs).
    sources
        Every value with its kind, source, date and note.
    json
        Print JSON (schema racktwin/show/1) instead of a screen.
    """
    from racktwin.cli.card import card
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.listing import DETAILED, listing
    from racktwin.engine.epochs import epoch

    listed = name.lower() if name.lower() in DETAILED else ""
    kind = "list" if listed or not name else find(name)
    if kind != "clusters" and (racks is not None or nodes is not None):
        flag = "--racks" if racks is not None else "--nodes"
        raise BadInput([Finding(flag, "only a cluster has a size to choose")], "racktwin show")
    if kind == "epochs":
        epoch(name)  # its constants are in range
    is_list = kind == "list"
    answer, screen = listing(listed) if is_list else card(kind, name, racks, nodes, sources)
    if json:
        print_json({"schema": SCHEMA, **answer})
        return
    print_screen(screen)


def find(name: str) -> str:
    """The kind of thing that `name` means; BadInput with the nearest name otherwise."""
    if name.endswith((".yaml", ".yml")):
        document = catalog.read(name)
        if document.get("classes"):
            return "workloads"
        base = document.get("extends")
        named = str(base.value) if base else ""
        return next((kind for kind in KINDS if named in catalog.names(kind)), "clusters")
    for kind in KINDS:
        if name.lower() in (*catalog.names(kind), *catalog.own(kind)):
            return kind
    if "/" in name or name.endswith(".json"):  # a Hugging Face id, a folder or a config.json
        return "models"
    known = [each for kind in KINDS for each in (*catalog.names(kind), *catalog.own(kind))]
    raise BadInput([unknown("name", name, known)], "racktwin show")

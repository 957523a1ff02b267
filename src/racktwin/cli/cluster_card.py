"""A cluster or a rack on one screen: headline figures, power, fabric, price."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin import hardware
from racktwin.cli.console import table
from racktwin.hardware import Cluster, Figure, Part, Rack
from racktwin.units import Quantity, Watts

HIDDEN = ("fp8_sparse", "bf16_sparse")  # in the JSON only, to keep to one screen


def cluster_card(cluster: Cluster) -> tuple[dict[str, Any], list[RenderableType]]:
    """The figures for JSON, and the screen below the title."""
    figures = hardware.figures(cluster)
    made = _figures(figures, "per GPU", "per rack", "cluster")
    rack, whole = hardware.rack_parts(cluster.rack), hardware.cluster_parts(cluster)
    fabric = cluster.fabric
    answer: dict[str, Any] = {
        "figures": [_figure(each) for each in figures],
        "rack_power": [_part(part) for part in rack],
        "cluster_power": [_part(part) for part in whole],
        "facility_power": cluster.facility_power,
        "leaves": cluster.networks * cluster.tree.leaves,
        "spines": cluster.networks * (cluster.tree.spines + cluster.tree.cores),
        "oversubscription": fabric.oversubscription,
        "electricity": cluster.site.electricity,
        "pue": cluster.site.pue,
        "price": cluster.price,
        "price_note": cluster.price_note,
        "list_price": cluster.list_price,
    }
    both = Table.grid(padding=(0, 6, 0, 0))
    both.add_row(_parts("rack power", rack), _parts("cluster power", whole))
    screen: list[RenderableType] = [made, "", both, "", _notes(cluster)]
    return answer, screen


def rack_card(rack: Rack) -> tuple[dict[str, Any], list[RenderableType]]:
    """The same for one rack."""
    figures, parts = hardware.figures(rack), hardware.rack_parts(rack)
    answer: dict[str, Any] = {
        "figures": [_figure(each) for each in figures],
        "rack_power": [_part(part) for part in parts],
        "quoted_power": rack.quoted_power,
    }
    screen: list[RenderableType] = [
        _figures(figures, "per GPU", "per rack"),
        "",
        _parts("rack power", parts),
        "",
        _rack_notes(rack),
    ]
    return answer, screen


def _figures(figures: list[Figure], *columns: str) -> Table:
    made = table("", *columns, "", right=columns)
    for each in figures:
        if each.key not in HIDDEN:
            cells = [_cell(value) for value in (each.gpu, each.rack, each.cluster)]
            made.add_row(each.title, *cells[: len(columns)], each.how)
    return made


def _cell(value: Quantity | int | None) -> str:
    if value is None:
        return ""
    return value.text(3) if isinstance(value, Quantity) else f"{value:,}"


def _figure(figure: Figure) -> dict[str, Any]:
    unit = type(figure.rack).si() if isinstance(figure.rack, Quantity) else "count"
    return {"unit": unit, **msgspec.to_builtins(figure, enc_hook=float)}


def _parts(title: str, parts: list[Part]) -> Table:
    made = table("", "count", "power", title=title, right=("count", "power"))
    for part in parts:
        made.add_row(part.title, f"{part.count:,}", part.power.text(3))
    return made


def _part(part: Part) -> dict[str, Any]:
    return {"title": part.title, "count": part.count, "power": part.power}


def _notes(cluster: Cluster) -> Table:
    made = _rack_notes(cluster.rack)
    switch = cluster.fabric.switch
    made.add_row("fabric", f"{_tree(cluster)}; {switch.title}, {switch.power} each (assumed)")
    made.add_row(
        "meter",
        f"{Watts(cluster.facility_power).text(3)} at PUE {cluster.site.pue:g}, "
        f"{cluster.site.electricity}: ${cluster.electricity_cost:,.0f}/h of electricity; "
        "storage and management network are not counted",
    )
    listed = f"; list price {cluster.list_price}" if cluster.list_price else ""
    made.add_row("price", f"{cluster.price}, ${cluster.rent:,.0f}/h for all{listed}")
    made.add_row("", Text(cluster.price_note, style="dim"))
    return made


def _tree(cluster: Cluster) -> str:
    tree, networks = cluster.tree, cluster.networks
    if tree.tiers == 1 and networks == 1:
        return "one switch"
    over = cluster.fabric.oversubscription
    kind = "non-blocking" if over == 1 else f"{over:g}:1 oversubscribed"
    many = "" if networks == 1 else f"{networks} networks, each a "
    switches = f"{tree.leaves} leaf and {tree.spines + tree.cores} other switches"
    return f"{many}{kind} fat tree of {tree.tiers} tiers, {switches}"


def _rack_notes(rack: Rack) -> Table:
    made = Table.grid(padding=(0, 3, 0, 0))
    shelves = f"; {rack.shelves} power shelves of {rack.shelf_power}" if rack.shelves else ""
    made.add_row(
        "rack", f"derived {Watts(rack.power()).text(3)}, others say {rack.quoted_power}{shelves}"
    )
    return made

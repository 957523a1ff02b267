"""Catalog entries -> hardware."""

from __future__ import annotations

from pathlib import Path

import msgspec

from racktwin import catalog
from racktwin.catalog.bounds import Count
from racktwin.finding import BadInput, Finding
from racktwin.hardware.chip import Chip, Cpu
from racktwin.hardware.cluster import Cluster
from racktwin.hardware.fabric import Fabric
from racktwin.hardware.fabric_check import fabric_findings
from racktwin.hardware.facility import Facility
from racktwin.hardware.facility_check import facility_findings
from racktwin.hardware.rack import Rack
from racktwin.hardware.site import Site
from racktwin.units import Price

CPU_FAMILIES = ("grace", "x86")


class ClusterFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster file says; racks or nodes, and a price unless the catalog has one."""

    title: str
    rack: Rack
    racks: Count | None = None
    nodes: Count | None = None
    fabric: Fabric
    site: Site
    facility: Facility | None = None
    price: Price | None = None
    list_price: Price | None = None


def chip(name: str | Path) -> Chip:
    """A GPU by name ('gb300') or from a user's file."""
    entry = catalog.load("chips", name)
    if entry.data.get("family") in CPU_FAMILIES:
        raise BadInput([Finding("chip", f"{entry.name!r} is a CPU; a GPU is expected")], "catalog")
    return msgspec.structs.replace(entry.build(Chip), name=entry.name)


def cpu(name: str | Path) -> Cpu:
    """A host CPU by name ('grace')."""
    entry = catalog.load("chips", name)
    return msgspec.structs.replace(entry.build(Cpu), name=entry.name)


def rack(name: str | Path) -> Rack:
    """A rack by name ('gb300-nvl72') or from a user's file."""
    entry = catalog.load("racks", name)
    return msgspec.structs.replace(entry.build(Rack), name=entry.name)


def cluster(name: str | Path, racks: int | None = None, nodes: int | None = None) -> Cluster:
    """A cluster by name ('azure-nd-gb300-v6') or from a user's file, scaled as asked."""
    entry = catalog.load("clusters", name)
    file = entry.build(ClusterFile)
    price, note = _price(entry, file)
    built = Cluster(
        name=entry.name,
        title=file.title,
        rack=file.rack,
        hosts=file.rack.hosts,
        fabric=file.fabric,
        site=file.site,
        facility=file.facility,
        price=price,
        price_note=note,
        list_price=file.list_price,
        source=str(name) if catalog.is_path(name) else "",
    )
    own_racks, own_nodes = _size(entry, file)
    built = built.with_(own_racks, own_nodes).with_(racks, nodes)
    faults = fabric_findings(built.fabric, built.rack.host, built.hosts)
    if built.facility is not None:
        faults += facility_findings(built.facility)
    if faults:
        lines = [msgspec.structs.replace(each, line=entry.line(each.key)) for each in faults]
        raise BadInput(lines, entry.node.file)
    return built


def _price(entry: catalog.Entry, file: ClusterFile) -> tuple[Price, str]:
    if file.price is not None:
        fact = entry.fact("price")
        return file.price, fact.note or f"given in {fact.source}"
    name = file.rack.host.chip.name
    if name not in catalog.names("prices"):
        raise BadInput(
            [Finding("price", f"is missing and none is known for {name!r}")], entry.node.file
        )
    known = catalog.load("prices", name)
    fact = known.facts()[0]
    kind = "assumed" if fact.kind == "assumed" else f"{fact.kind}, {fact.source}"
    return Price.parse(fact.value), f"default from catalog/prices.yaml ({kind}): {fact.note}"


def _size(entry: catalog.Entry, file: ClusterFile) -> tuple[int | None, int | None]:
    """Racks or nodes; of two, the one in the outermost file."""
    if file.racks is None or file.nodes is None:
        return file.racks or (None if file.nodes else 1), file.nodes
    outer = [key for key in ("racks", "nodes") if entry.node.value[key].file == entry.node.file]
    if len(outer) == 2:
        line = entry.node.value["nodes"].line
        raise BadInput([Finding("nodes", "give racks or nodes, not both", line)], entry.node.file)
    return (file.racks, None) if outer == ["racks"] else (None, file.nodes)

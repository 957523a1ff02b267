"""A fabric on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import table
from racktwin.network.inventory import Inventory, Loss
from racktwin.network.routing import nic_efficiency
from racktwin.network.topology import Topology
from racktwin.units import Bandwidth, Bitrate, Seconds, Watts

NAMED = 6  # ranks named of those cut off
LAYOUTS = {
    "single": "one network, leaves filled host by host",
    "aligned": "one network, a leaf serves one NIC position of many hosts",
    "rails": "a network for each NIC position, joined by NVLink only",
}


def screen(topology: Topology, counted: Inventory, lost: Loss | None) -> Iterator[RenderableType]:
    """Title, switches by tier, and a line for everything else."""
    cluster = topology.cluster
    counts = ((cluster.gpus, "GPU"), (cluster.racks, "rack"), (cluster.hosts, "host"))
    size = ", ".join(f"{count:,} {word}{'s' * (count != 1)}" for count, word in counts)
    size = f"{size} ({'VM' if cluster.hosts == 1 else 'VMs'})"
    yield Text.assemble((cluster.name, "bold"), f"   {cluster.title}   {size}")
    yield ""
    yield _tiers(topology, counted)
    yield ""
    yield _lines(topology, counted)
    if lost is not None:
        yield ""
        yield _lost(topology, counted, lost)


def _tiers(topology: Topology, counted: Inventory) -> Table:
    made = table("", "switches", "ports down", "up", "of", "power", title="switches",
                 right=("switches", "ports down", "up", "of", "power"))  # fmt: skip
    for each in counted.tiers:
        ports = (f"{each.down}", f"{each.up}" if each.up else "", f"{topology.fabric.switch.ports}")
        made.add_row(each.name, f"{each.switches:,}", *ports, Watts(each.watts).text(3))
    return made


def _lines(topology: Topology, counted: Inventory) -> Table:
    made = Table.grid(padding=(0, 3, 0, 0))
    for name, text in _facts(topology, counted):
        made.add_row(name, text)
    return made


def _facts(topology: Topology, counted: Inventory) -> Iterator[tuple[str, str]]:
    cluster, fabric, host, tree = topology.cluster, topology.fabric, topology.host, topology.tree
    switch, over = fabric.switch, fabric.oversubscription
    taper = "non-blocking" if over == 1 else f"{over:g}:1 oversubscribed at the leaf"
    yield "wiring", f"{LAYOUTS[fabric.layout]}; {taper}{_several(topology)}"
    planes = f", {switch.planes} planes a port" if switch.planes > 1 else ""
    yield "switch", f"{switch.title}: {switch.ports} ports of {Bitrate(switch.rate)}{planes}"
    names = ("host-leaf", "leaf-spine", "spine-core")
    cables = [f"{n:,} {name}" for name, n in zip(names, counted.cables, strict=True) if n]
    links = f"; {tree.links} between each leaf and spine" if tree.up else ""
    pods = f", {tree.pods} pods of {tree.pod_leaves} leaves" if tree.pods > 1 else ""
    yield "cables", f"{', '.join(cables)}{links}{pods}"
    ends, cages = counted.optics
    yield (
        "optics",
        f"{ends:,} at hosts, {cages:,} in switch cages if all cables are fibre (assumed)",
    )
    sent, share = Bitrate(cluster.nic), nic_efficiency(cluster)
    yield (
        "NICs",
        f"{host.nics} of {Bitrate(host.nic)} a host, {sent} a GPU; messages reach {share:.0%}",
    )
    half = Bandwidth(counted.bisection).text(3)
    yield (
        "bisection",
        f"{half} one way, {counted.full:.0%} of the NICs of half the hosts (line rate)",
    )
    for way in counted.ways:
        plural = "switch" if way.switches == 1 else "switches"
        head, note = ("one way", " (delays are assumed)") if way is counted.ways[0] else ("", "")
        yield head, f"{way.name}: {way.switches} {plural}, {Seconds(way.seconds).text(2)}{note}"
    watts = [Watts(each).text(3) for each in (*counted.watts, counted.nics)]
    yield "power", f"switches {watts[0]} (assumed), optics at hosts {watts[1]}, NICs {watts[2]}"
    yield "NVLink", _nvlink(topology, counted)


def _several(topology: Topology) -> str:
    if topology.trees == 1:
        return ""
    rails = topology.rails if topology.fabric.layout == "rails" else 1
    what = [f"{rails} rails"] * (rails > 1) + [f"{topology.planes} planes"] * (topology.planes > 1)
    return f"; {topology.trees} such networks ({' x '.join(what)}), counted together"


def _nvlink(topology: Topology, counted: Inventory) -> str:
    domain = counted.domain
    trays = f" in {domain.trays} trays" if domain.trays else ""
    each = domain.per_asic
    per = f"{each:g}" if each == int(each) else f"{int(each)} or {int(each) + 1}"
    rate = Bandwidth(topology.cluster.nvlink)
    return (
        f"{domain.domains:,} domain{'s' * (domain.domains != 1)} of {domain.gpus} GPUs "
        f"over {domain.asics} ASICs{trays}; "
        f"{domain.links:g} links a GPU, {per} to each ASIC, {rate} each way"
    )


def _lost(topology: Topology, counted: Inventory, lost: Loss) -> Table:
    made = table("", "", title="with these faults")
    share = lost.bisection / counted.bisection
    made.add_row("bisection left", f"{Bandwidth(lost.bisection).text(3)}, {share:.2%}")
    made.add_row("worst leaf", f"{lost.uplinks:.1%} of its uplinks left")
    made.add_row("worst GPU", f"{lost.nic:.1%} of its NICs, {lost.nvlink:.1%} of its NVLink left")
    if not lost.cut:
        parts = "" if lost.bisection else ", but the halves do not reach each other"
        made.add_row("cut off", f"nobody{parts}")
        return made
    names = [f"{gpu} ({why})" for gpu, why in list(lost.cut.items())[:NAMED]]
    more = f" and {len(lost.cut) - NAMED:,} more" if len(lost.cut) > NAMED else ""
    plural = "s" * (len(lost.cut) != 1)
    made.add_row("cut off", f"{len(lost.cut):,} GPU{plural}: {', '.join(names)}{more}")
    return made

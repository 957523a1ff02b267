"""`racktwin fabric show`: what a fabric consists of and what it offers."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/fabric-show/1"
QUIET = Parameter(show_default=False)


def fabric_show(
    cluster: str,
    *,
    racks: int | None = None,
    nodes: int | None = None,
    fail: Annotated[str, QUIET] = "",
    svg: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """Switches, cables, optics, bandwidth, latency and power of a cluster's fabric.

    racktwin fabric show azure-nd-gb300-v6
    racktwin fabric show azure-nd-gb300-v6 --racks 1400
    racktwin fabric show azure-nd-gb300-v6 --fail spine:3,plane:leaf7/12/2
    racktwin fabric show azure-nd-h100-v5 --svg fabric.svg

    Faults count from 0: nic:rack3/host2/1, leaf:7, spine:3, core:0, cable:leaf7/12 (a port of a
    leaf), plane:leaf7/12/2, flap:leaf7/12@5%, asic:rack3/5 and tray:rack3/2 (NVLink switches),
    slow:rack3/host2/1@50%.

    Parameters
    ----------
    cluster
        A cluster or a cluster file.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    fail
        What is broken, and what that leaves: spine:3,plane:leaf7/12/2; '' for nothing.
    svg
        Write a drawing into this file.
    json
        Print JSON (schema racktwin/fabric-show/1) instead of a screen.
    """
    from racktwin import hardware
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.fabric_screen import screen
    from racktwin.dashboard.chart_file import check_chart_file, write_chart_file
    from racktwin.dashboard.fabric_drawing import fabric_drawing
    from racktwin.network.fault import read_faults
    from racktwin.network.health import Health
    from racktwin.network.inventory import inventory, loss
    from racktwin.network.inventory_record import record
    from racktwin.network.topology import Topology

    if svg:
        check_chart_file(svg, "fabric show")
    topology = Topology(hardware.cluster(cluster, racks, nodes))
    health = Health(topology, read_faults(fail, topology))
    counted = inventory(topology)
    lost = loss(health) if health.faults else None
    written: tuple[str, ...] = ()
    if svg:
        drawing = fabric_drawing(health, counted, topology.cluster.title)
        written = write_chart_file(svg, drawing, "fabric show")
    if json:
        print_json({"schema": SCHEMA, **record(topology, counted, lost)})
    else:
        print_screen([*screen(topology, counted, lost), *written])

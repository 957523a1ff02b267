"""A fabric as plain data."""

from __future__ import annotations

from typing import Any

from racktwin.network.inventory import Inventory, Loss
from racktwin.network.routing import nic_efficiency
from racktwin.network.topology import Topology


def record(topology: Topology, counted: Inventory, lost: Loss | None) -> dict[str, Any]:
    """Everything counted, in SI units."""
    cluster, fabric, domain = topology.cluster, topology.fabric, counted.domain
    return {
        "cluster": cluster.name,
        "gpus": cluster.gpus,
        "racks": cluster.racks,
        "vms": cluster.hosts,
        "layout": fabric.layout,
        "rails": topology.rails,
        "planes": fabric.planes,
        "networks": counted.networks,
        "oversubscription": fabric.oversubscription,
        "switch": fabric.switch.name,
        "switch_ports": fabric.switch.ports,
        "port_rate": float(fabric.switch.rate),
        "port_planes": fabric.switch.planes,
        "tiers": [
            {
                "name": each.name,
                "switches": each.switches,
                "ports_down": each.down,
                "ports_up": each.up,
                "watts": each.watts,
            }
            for each in counted.tiers
        ],
        "links_per_leaf_and_spine": topology.tree.links,
        "pods": topology.pods,
        "cables": dict(zip(("host_leaf", "leaf_spine", "spine_core"), counted.cables, strict=True)),
        "optics": dict(zip(("hosts", "switches"), counted.optics, strict=True)),
        "nic_rate": float(topology.host.nic),
        "nic_efficiency": nic_efficiency(cluster),
        "bisection": counted.bisection,
        "bisection_of_nics": counted.full,
        "watts": {
            "switches": counted.watts[0],
            "host_optics": counted.watts[1],
            "nics": counted.nics,
        },
        "paths": [
            {"between": each.name, "switches": each.switches, "one_way_s": each.seconds}
            for each in counted.ways
        ],
        "nvlink": {
            "domains": domain.domains,
            "gpus": domain.gpus,
            "asics": domain.asics,
            "trays": domain.trays,
            "links_per_gpu": domain.links,
            "rate": cluster.nvlink,
            "bisection": domain.bisection,
        },
        "left": None if lost is None else _left(lost),
    }


def _left(lost: Loss) -> dict[str, Any]:
    return {
        "bisection": lost.bisection,
        "nic_share": lost.nic,
        "nvlink_share": lost.nvlink,
        "uplink_share": lost.uplinks,
        "cut_off": [{"gpu": gpu, "fault": why} for gpu, why in lost.cut.items()],
    }

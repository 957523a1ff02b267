"""Small fabrics of every layout, with one, two and three tiers."""

from __future__ import annotations

import msgspec

from racktwin import hardware
from racktwin.hardware import Cluster

SIZES = (
    ("azure-nd-gb300-v6", 40, {"layout": "single"}, 24),
    ("azure-nd-gb300-v6", 40, {"layout": "rails"}, 24),
    ("azure-nd-gb300-v6", 41, {"layout": "aligned"}, 24),
    ("azure-nd-gb300-v6", 40, {"layout": "aligned", "rails": 2}, 24),
    ("azure-nd-h100-v5", 20, {}, 32),
    ("hgx-b300-spectrum-x", 20, {}, 64),
    ("azure-nd-gb300-v6", 60, {"layout": "single"}, 16),
    ("azure-nd-h100-v5", 20, {}, 16),
    ("azure-nd-gb300-v6", 10, {}, 144),
)


def small(name: str, nodes: int, changes: dict[str, object], ports: int) -> Cluster:
    """A cluster of few hosts on small switches, so that all tiers are there."""
    cluster = hardware.cluster(name, nodes=nodes)
    switch = msgspec.structs.replace(cluster.fabric.switch, ports=ports)
    fabric = msgspec.structs.replace(cluster.fabric, switch=switch, **changes)
    return msgspec.structs.replace(cluster, fabric=fabric)

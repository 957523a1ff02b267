"""What jobs on a fabric rest on, and how its tiers are called, in words."""

from __future__ import annotations

from collections.abc import Iterator

from racktwin.network.contention import Contention
from racktwin.network.routing import congestion, efficiency, efficiency_kind, nic_efficiency
from racktwin.units import Bytes

TIER_NAMES = {
    "nvlink_out": "NVLink out", "nvlink_in": "NVLink in", "nic_out": "NIC out",
    "leaf_up": "leaf up", "spine_up": "spine up", "spine_down": "spine down",
    "leaf_down": "leaf down", "nic_in": "NIC in",
}  # fmt: skip
RECEIVERS = {"pairs": "one receiver at a time", "many": "many receivers"}


def grounds(found: Contention) -> Iterator[tuple[str, str]]:
    """Name and sentence of everything the figures rest on."""
    traffic = found.traffic
    yield "formula", f"max-min fair rates over {found.classes:,} classes of flows"
    yield "NICs", f"reach {nic_efficiency(traffic.cluster):.0%} of line rate (measured)"
    for kind in sorted({each.job.kind for each in found.jobs}):
        share = f"{efficiency(traffic.routing, kind):.1%} of links between switches are used with"
        known = efficiency_kind(traffic.routing, kind)
        yield "paths", f"{share} {RECEIVERS[kind]} ({known}: catalog/fabrics/routing.yaml)"
    yield "congestion", f"{_control(found)} (assumed)"
    steps = f"{found.run.steps:,} step{'s' * (found.run.steps != 1)}"
    rounded = f"; starts and ends within {found.run.grain:.0%} of a flow count as one"
    exact = f"{steps}{rounded if found.run.grain else ''}"
    sent = Bytes(sum(each.bytes for each in found.jobs)).text(4)
    yield "", f"{exact}; {sent} over NICs; times hold the round trip of the last byte"


def _control(found: Contention) -> str:
    facts, traffic = congestion(), found.traffic
    apart = "a queue for each service level" if traffic.isolated else "one queue for all"
    if traffic.control == "none":
        return f"no congestion control: flows behind a full receiver block others; {apart}"
    return (
        f"senders slow down within {facts.reaction} of a congestion; flows passing by then lose "
        f"{facts.victim_loss}; {apart}"
    )

"""Whether a fabric adds up: ports, ratios, rails and planes, with what would do instead."""

from __future__ import annotations

import math
from collections.abc import Iterator

from racktwin.finding import Finding
from racktwin.hardware.fabric import Fabric
from racktwin.hardware.host import Host
from racktwin.hardware.tree import split
from racktwin.units import Bitrate

MOST_PLANES = 16  # lanes of a pair of NIC ports
STEPS = 400  # ratios tried on each side of one that cannot be built


def fabric_findings(fabric: Fabric, host: Host, hosts: int) -> list[Finding]:
    """Everything that stops `hosts` such hosts from being wired so."""
    found = [*_nics(fabric, host), *_leaf(fabric)]
    if not found:
        found += _tree(fabric, host, hosts)
    return found


def _nics(fabric: Fabric, host: Host) -> Iterator[Finding]:
    switch, sent = fabric.switch, host.nic / fabric.planes
    if sent > switch.rate * (1 + 1e-9):
        planes = f" on each of {fabric.planes} planes" if fabric.planes > 1 else ""
        yield Finding(
            "fabric.switch",
            f"a NIC sends {Bitrate(sent)}{planes}, a port of {switch.title} "
            f"carries {Bitrate(switch.rate)}",
        )
    if fabric.planes > MOST_PLANES:
        yield Finding(
            "fabric.planes",
            f"{fabric.planes:,} networks cannot share a NIC; expected 1 to {MOST_PLANES}, "
            f"each with a port of it",
        )
    many, few = max(host.nics, host.gpus), min(host.nics, host.gpus)
    if many % few:
        yield Finding("rack.host.nics", f"{host.nics} NICs do not serve {host.gpus} GPUs equally")
    rails = fabric.rail_count(host.nics)
    if fabric.rails is not None and fabric.layout == "single":
        yield Finding("fabric.rails", "a single fabric has none; layout: aligned or rails has")
    elif host.nics % rails:
        fits = [n for n in range(1, host.nics + 1) if host.nics % n == 0]
        yield Finding(
            "fabric.rails",
            f"unequal: {host.nics} NICs of a host do not spread over {rails} rails; "
            f"use {' or '.join(map(str, fits))}",
        )


def _leaf(fabric: Fabric) -> Iterator[Finding]:
    ports, ratio = fabric.switch.ports, fabric.oversubscription
    pair = fabric.ports()
    if pair is None and fabric.leaf_down is None:
        yield Finding(
            "fabric.oversubscription",
            f"{ratio:g} cannot be built from the {ports} ports of a leaf; {_near(ports, ratio)}",
        )
    elif pair is None:
        yield Finding(
            "fabric.leaf_down",
            f"{fabric.leaf_down} ports down at {ratio:g}:1 leave "
            f"{(fabric.leaf_down or 0) / ratio:g} up, no whole number",
        )
    elif sum(pair) > ports:
        down, up = pair
        yield Finding(
            "fabric.leaf_down",
            f"{down} ports down and {up} up are {down + up}, over the {ports} of a switch",
        )


def _tree(fabric: Fabric, host: Host, hosts: int) -> Iterator[Finding]:
    ports = fabric.switch.ports
    down, up = fabric.ports() or (0, 0)
    share = host.nics // fabric.rail_count(host.nics)
    if fabric.layout == "aligned" and share > down:
        yield Finding("fabric.rails", f"{share} NICs of a host on a leaf with {down} ports down")
        return
    ends = hosts * (share if fabric.layout == "rails" else host.nics)
    most = ports * (ports // 2) * down
    if ends > ports and ends > most:
        yield Finding(
            "fabric",
            f"{ends:,} host ports are more than the {most:,} that three tiers of "
            f"{ports}-port switches hold; use more rails or planes, or another switch",
        )
        return
    if fabric.spines is None:
        return
    leaves = math.ceil(ends / down)
    if up % fabric.spines:
        fits = [str(n) for n in range(math.ceil(leaves * up / ports), up + 1) if up % n == 0]
        yield Finding(
            "fabric.spines",
            f"{up} uplinks of a leaf do not spread over {fabric.spines} spines equally; "
            f"use {', '.join(fits[:4])}",
        )
    elif leaves * up // fabric.spines > ports:
        yield Finding(
            "fabric.spines",
            f"{leaves} leaves with {up // fabric.spines} links each are "
            f"{leaves * up // fabric.spines} ports of a spine, over its {ports}",
        )


def _near(ports: int, ratio: float) -> str:
    """The nearest ratios that whole numbers of ports have."""
    found = []
    for sign in (-1, 1):
        for step in range(1, STEPS):
            near = round(ratio + sign * step / 100, 2)
            pair = split(ports, near) if 1 <= near < ports else None
            if pair:
                found.append(f"{near:g} ({pair[0]} down, {pair[1]} up)")
                break
    return f"use {' or '.join(found)}" if found else "use 1"

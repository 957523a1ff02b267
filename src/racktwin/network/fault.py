"""What is broken, as written on a command line: 'spine:3,plane:leaf7/12/2,slow:rack0/host3/1@50%'.

    nic:rack3/host2/1       a NIC, or nic:225 counted through the cluster
    leaf:7 spine:3 core:0   a switch
    cable:leaf7/12          a cable, by the leaf's port: towards hosts first, then towards spines
    plane:leaf7/12/2        one of the parts of a port (XDR: four of 200 Gb/s)
    flap:leaf7/12@5%        a link that is down so much of the time
    asic:rack3/5 tray:rack3/2  an NVLink switch ASIC, a chassis of them (asic:rack3/host2/1 in HGX)
    slow:rack3/host2/1@50%  a GPU that sends and receives at so much of its rate

Numbers count from 0; 'rack3', 'leaf7' and 'port12' may be written for 3, 7 and 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from racktwin.finding import BadInput, Finding, nearest, unknown
from racktwin.network.topology import Topology
from racktwin.units import Fraction

SEGMENT = re.compile(r"([a-z]*)([0-9]{1,9})")
WITH_AMOUNT = {"slow": "50%", "flap": "5%"}
LONGEST = 100_000  # characters
SHOWN = 60  # characters of a wrong item that are repeated


class Fault(msgspec.Struct, frozen=True):
    """One broken thing: where it is, each counted from 0.

    kind: nic, leaf, spine, core, cable, plane, flap, asic, tray, slow.
    amount: fraction of its rate that a slow GPU keeps, of the time that a flapping link is down.
    """

    kind: str
    place: tuple[int, ...]
    amount: float = 0.0
    text: str = ""

    def __str__(self) -> str:
        return self.text


def read_faults(text: str, topology: Topology, key: str = "--fail") -> tuple[Fault, ...]:
    """The faults in `text`, or BadInput with a finding for each that names nothing here."""
    if len(text) > LONGEST:
        raise BadInput([Finding(key, f"is longer than {LONGEST:,} characters")], "faults")
    found: list[Fault] = []
    findings: list[Finding] = []
    for item in filter(None, (each.strip() for each in text.split(","))):
        made = _fault(item, topology, key)
        if isinstance(made, Fault):
            found.append(made)
        else:
            findings.append(made)
    if findings:
        raise BadInput(findings, "faults")
    return tuple(dict.fromkeys(found))


def places(topology: Topology) -> Mapping[str, tuple[tuple[str, int], ...]]:
    """For each kind of fault the words of its place, and how many of each there are."""
    tree, rack = topology.tree, topology.cluster.rack
    gpu = (("rack", topology.cluster.racks), ("host", rack.hosts))
    port = (("leaf", topology.leaves), ("port", tree.down + tree.up))
    domain = gpu[:1] if rack.switches else gpu
    planes = max(topology.fabric.switch.planes, 1)
    return {
        "nic": (*gpu, ("nic", topology.host.nics)),
        "slow": (*gpu, ("gpu", topology.host.gpus)),
        "leaf": (("leaf", topology.leaves),),
        "spine": (("spine", topology.spines),),
        "core": (("core", topology.cores),),
        "cable": port,
        "flap": port,
        "plane": (*port, ("plane", planes)),
        "asic": (*domain, ("asic", topology.asics)),
        "tray": (*domain, ("tray", rack.trays)),
    }


def _fault(item: str, topology: Topology, key: str) -> Fault | Finding:
    known = places(topology)
    kind, colon, rest = item.partition(":")
    if kind not in known or not colon:
        shown = kind[:SHOWN]
        if colon or nearest(kind, known):
            return unknown(key, shown, known)
        return Finding(key, f"{item[:SHOWN]!r} is no fault; write it as in 'spine:3'")
    place, at, written = rest.partition("@")
    words = known[kind]
    if kind == "nic" and "/" not in place:  # counted through the cluster
        words = (("nic", topology.nics),)
    numbers = list(_numbers(place, words))
    if wrong := next((each for each in numbers if isinstance(each, str)), None):
        return Finding(key, f"{item[:SHOWN]}: {wrong}")
    if bool(at) != (kind in WITH_AMOUNT):
        example = WITH_AMOUNT.get(kind, "")
        say = f"says how much, as in '@{example}'" if example else "takes no '@'"
        return Finding(key, f"{item[:SHOWN]}: {kind} {say}")
    amount = Fraction.read(written) if at else Fraction(0.0)
    if isinstance(amount, str):
        return Finding(key, f"{item[:SHOWN]}: {amount}")
    seat = tuple(int(each) for each in numbers)
    if kind in ("nic", "slow") and len(seat) == 3:
        seat = (_through(seat, topology, topology.host.nics if kind == "nic" else 0),)
    elif kind in ("asic", "tray"):
        seat = (_domain(seat[:-1], topology), seat[-1])
    if not _exists(kind, seat, topology):
        return Finding(key, f"{item[:SHOWN]}: the last rack has no such host")
    return Fault(kind, seat, float(amount), item)


def _numbers(place: str, words: tuple[tuple[str, int], ...]) -> Iterator[int | str]:
    """Each number of a place; a sentence instead of one that does not fit."""
    segments = place.split("/")
    if len(segments) != len(words):
        form = "/".join(word.upper() for word, _ in words)
        yield f"expected {form}, found {place[:SHOWN]!r}"
        return
    for segment, (word, count) in zip(segments, words, strict=True):
        match = SEGMENT.fullmatch(segment.lower())
        if match is None or match[1] not in ("", word):
            yield f"expected a {word} such as '{word}0', found {segment[:SHOWN]!r}"
        elif count == 0:
            yield f"there is no {word} here"
        elif int(match[2]) >= count:
            last = f"{word}0 to {word}{count - 1}" if count > 1 else f"{word}0 only"
            yield f"{word} {match[2]} does not exist; there are {last}"
        else:
            yield int(match[2])


def _through(seat: tuple[int, ...], topology: Topology, each: int) -> int:
    rack, host, own = seat
    return (rack * topology.cluster.rack.hosts + host) * (each or topology.host.gpus) + own


def _domain(seat: tuple[int, ...], topology: Topology) -> int:
    """The NVLink domain of a rack, or of a host where the domain is one."""
    return seat[0] if len(seat) == 1 else seat[0] * topology.cluster.rack.hosts + seat[1]


def _exists(kind: str, seat: tuple[int, ...], topology: Topology) -> bool:
    """Whether a part-full last rack reaches so far."""
    most = {"nic": topology.nics, "slow": topology.gpus}
    if kind in ("asic", "tray"):
        return seat[0] < topology.domains
    return seat[0] < most.get(kind, seat[0] + 1)

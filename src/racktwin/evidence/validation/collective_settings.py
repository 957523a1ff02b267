"""How a published collective was run, from the words of its row: an algorithm, SHARP, NVLink."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from racktwin.evidence.validation.sweep import Row
from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster, Place
from racktwin.network import sharp
from racktwin.network.algorithm import ALL
from racktwin.network.channels import group
from racktwin.network.volume import OPERATIONS, Operation
from racktwin.network.way import Way

COLUMNS = ("settings", "transport")
OFF, ON = r"(?:\s*=\s*0|\s+off|\s+disabled)\b", r"(?:\s*=\s*1|\s+on|\s+enabled)\b"
ALGORITHM = re.compile(r"\bNCCL_ALGO\s*=\s*([A-Za-z_]+)|\bNCCL ([A-Za-z_]+)(?=,|;|$)")
NAMES = {name.replace("_", ""): name for name in ALL}
SHARP_ON = re.compile(rf"COLLNET_ENABLE{ON}|\b(?:SHARP|CollNet)(?:/\w+)?{ON}", re.I)
SHARP_OFF = re.compile(rf"COLLNET_ENABLE{OFF}|\b(?:SHARP|CollNet)(?:/\w+)?{OFF}|\bno SHARP", re.I)
NVLS_OFF = re.compile(rf"NVLS_ENABLE{OFF}|\bNVLS{OFF}|\bno NVLS\b", re.I)
MNNVL_OFF = re.compile(rf"MNNVL_ENABLE{OFF}|\bMNNVL{OFF}|\bno MNNVL\b", re.I)


class Settings(msgspec.Struct, frozen=True):
    """A way to run a collective and where its ranks are joined; noted: what said so."""

    way: Way
    place: Place
    noted: tuple[str, ...]


def settings(given: Row, operation: str, ranks: int, where: Cluster) -> Settings:
    """What a row says of how it ran; BadInput for what is not possible there."""
    said = "; ".join(given.get(name) or "" for name in COLUMNS)
    place, noted = where.place(ranks), []
    if MNNVL_OFF.search(said) and place.per_domain > place.per_host:
        place = Place(ranks, place.per_host, place.per_host)
        noted.append("hosts joined by NICs (MNNVL off)")
    way = Way(algorithm=_algorithm(said, operation), sharp=_sharp(said, place, where))
    noted += _notes(way)
    seen = group(place, where, way)
    if way.algorithm and ranks > 1 and operation in OPERATIONS:
        name: Operation = operation
        if why := ALL[way.algorithm].refuses(name, seen):
            raise BadInput([Finding("settings", f"{way.algorithm} is not possible: {why}")])
    return Settings(way, place, tuple(noted))


def _algorithm(said: str, operation: str) -> str:
    if operation == "all_to_all":
        return ""
    for found in ALGORITHM.finditer(said):
        name = (found[1] or found[2]).replace("_", "").lower()
        if name in NAMES:
            return NAMES[name]
    return "ring" if NVLS_OFF.search(said) else ""


def _sharp(said: str, place: Place, where: Cluster) -> bool:
    """As the row says, else as the cluster does, where its switches can."""
    if SHARP_OFF.search(said) or sharp.refusal(place, where):
        return False
    return bool(SHARP_ON.search(said)) or where.fabric.sharp


def _notes(way: Way) -> Iterator[str]:
    if way.algorithm:
        yield f"{way.algorithm} as its settings say"
    if way.sharp:
        yield "SHARP as its settings say"

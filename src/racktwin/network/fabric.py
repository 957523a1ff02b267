"""The fitted constants of links and libraries, and the facts between domains: catalog/fabrics."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeVar

import msgspec

from racktwin import catalog
from racktwin.network.curve import Curve, Rule
from racktwin.network.exchange import Copies, Exchange
from racktwin.units import Fraction, JoulesPerByte, Seconds

Framework = Literal["trtllm", "sglang", "vllm"]
Mode = Literal["throughput", "low_latency"]
T = TypeVar("T")
ORIGIN = ("title", "kind", "source", "date", "note")


class Nccl(msgspec.Struct, frozen=True):
    """NCCL in one NVLink domain: curves[system][operation][ranks], rules[generation][operation].

    sibling[system]: the system with the same links; its curve answers for rank counts that a
    system's own table lacks.
    """

    sibling: dict[str, str]
    curves: dict[str, dict[str, dict[str, Curve]]]
    rules: dict[str, dict[str, Rule]]


class Engine(msgspec.Struct, frozen=True):
    """All-reduce of serving engines in CUDA graphs: curves[system][framework][ranks]."""

    curves: dict[str, dict[str, dict[str, Curve]]]


class Library(msgspec.Struct, frozen=True):
    """One way to exchange tokens: phases[system][phase][payload], and what it sends of a token.

    tokens: per rank and step, the most it is used for where an engine chooses by size.
    """

    copies: Copies
    phases: dict[str, dict[str, dict[str, Exchange]]]
    tokens: int | None = None


class Experts(msgspec.Struct, frozen=True):
    """Libraries of the token exchange, and which one a framework uses.

    payload: bytes per value on the wire, scales included. default[framework][rack | host][mode]:
    a library's name. nearest[system]: the systems whose constants answer where its own are
    missing, best first.
    """

    payload: dict[str, float]
    nearest: dict[str, list[str]]
    default: dict[str, dict[str, dict[Mode, str]]]
    libraries: dict[str, Library]


class Tiers(msgspec.Struct, frozen=True):
    """Facts of the network between NVLink domains, of copies between GPUs, and of link energy.

    nic_efficiency: share of the NIC's line rate that messages reach, where the cluster says none;
    nic_hop: s per level of a tree over domains; nic_start: s to start a message; exchange_start: s
    a token exchange takes longer once it leaves its domain;
    nvlink_start, nic_send: s of a step of an algorithm at its leanest over either; post: s a NIC
    takes for a further message; between_error: of an estimate over several domains, a ratio;
    overlap: exponent of the sum over both tiers, 1; copy_efficiency: share of NVLink's line rate
    of a plain copy; copy_start: s to start one; nvlink_energy, nic_energy: J/B sent.
    """

    nic_efficiency: Fraction
    nic_hop: Seconds
    nic_start: Seconds
    exchange_start: Seconds
    nvlink_start: Seconds
    nic_send: Seconds
    post: Seconds
    between_error: Fraction
    overlap: float
    copy_efficiency: Fraction
    copy_start: Seconds
    nvlink_energy: JoulesPerByte
    nic_energy: JoulesPerByte


def generation(family: str) -> str:
    """'blackwell' for both Blackwell families, else the family: links are the same within one."""
    return "blackwell" if family.startswith("blackwell") else family


@cache
def nccl() -> Nccl:
    """NCCL's constants."""
    return _read("nccl", Nccl)


@cache
def engine() -> Engine:
    """The engines' all-reduce constants."""
    return _read("engine", Engine)


@cache
def experts() -> Experts:
    """The token exchange's constants."""
    return _read("experts", Experts)


@cache
def tiers() -> Tiers:
    """Facts between domains."""
    return _read("tiers", Tiers)


def _read(name: str, kind: type[T]) -> T:
    return catalog.load("fabrics", name).build(kind, ORIGIN)

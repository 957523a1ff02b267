"""The fitted constants of links and libraries, read from the catalog once."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal, TypeVar

import msgspec
import yaml

from racktwin.network.curve import Curve, Rule
from racktwin.network.exchange import Copies, Exchange

Framework = Literal["trtllm", "sglang", "vllm"]
T = TypeVar("T")


class Nccl(msgspec.Struct, frozen=True):
    """NCCL in one NVLink domain: curves[system][operation][ranks], rules[generation][operation].

    sibling[system]: the system with the same links; its curve answers for rank counts that a
    system's own table lacks.
    """

    sibling: dict[str, str]
    curves: dict[str, dict[str, dict[int, Curve]]]
    rules: dict[str, dict[str, Rule]]


class Engine(msgspec.Struct, frozen=True):
    """All-reduce of serving engines in CUDA graphs: curves[system][framework][ranks]."""

    curves: dict[str, dict[str, dict[int, Curve]]]


class Library(msgspec.Struct, frozen=True):
    """One way to exchange tokens: phases[system][phase][payload], and what it sends of a token.

    steps: the phases it has, among prepare, dispatch and combine.
    """

    copies: Copies
    steps: tuple[str, ...]
    phases: dict[str, dict[str, dict[str, Exchange]]]


class Experts(msgspec.Struct, frozen=True):
    """Libraries of the token exchange, and which one a framework uses.

    payload: bytes per value on the wire, scales included. default[framework][rack | node]: library
    names for the high-throughput and for the low-latency mode. nearest[system]: the systems whose
    constants answer where its own are missing, best first.
    """

    payload: dict[str, float]
    nearest: dict[str, tuple[str, ...]]
    default: dict[str, dict[str, dict[str, str]]]
    libraries: dict[str, Library]


class Fact(msgspec.Struct, frozen=True):
    """A number about the world, with where it comes from."""

    value: float
    unit: str
    source: str
    kind: Literal["datasheet", "measured", "derived", "assumed"]
    date: str
    note: str = ""


class Tiers(msgspec.Struct, frozen=True):
    """Facts of the network between NVLink domains, of copies between GPUs, and of link energy."""

    nic_efficiency: Fact
    nic_efficiency_of: dict[str, Fact]
    nic_hop: Fact
    nic_start: Fact
    exchange_start: Fact
    overlap: Fact
    switch_domains: Fact
    copy_efficiency: Fact
    copy_start: Fact
    nvlink_energy: Fact
    nic_energy: Fact


def generation(family: str) -> str:
    """'blackwell' for both Blackwell families, else the family: links are the same within one."""
    return "blackwell" if family.startswith("blackwell") else family


@cache
def nccl() -> Nccl:
    """NCCL's constants (catalog/fabrics/nccl.yaml)."""
    return _read("nccl", Nccl)


@cache
def engine() -> Engine:
    """The engines' all-reduce constants (catalog/fabrics/engine.yaml)."""
    return _read("engine", Engine)


@cache
def experts() -> Experts:
    """The token exchange's constants (catalog/fabrics/experts.yaml)."""
    return _read("experts", Experts)


@cache
def tiers() -> Tiers:
    """Facts between domains (catalog/fabrics/tiers.yaml)."""
    return _read("tiers", Tiers)


def _read(name: str, kind: type[T]) -> T:
    text = resources.files("racktwin.catalog").joinpath("fabrics", f"{name}.yaml").read_text()
    return msgspec.convert(yaml.load(text, yaml.CSafeLoader), kind, strict=False)

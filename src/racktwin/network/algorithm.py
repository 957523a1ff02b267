"""The algorithms NCCL has, what each can do, and why it cannot."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from racktwin.network.channels import Group
from racktwin.network.tuner import PROTOCOLS, Protocol
from racktwin.network.volume import Operation

SIMPLE: tuple[Protocol, ...] = ("Simple",)
REDUCED: tuple[Operation, ...] = ("all_reduce", "all_gather", "reduce_scatter")
HALVES: tuple[Operation, ...] = ("all_gather", "reduce_scatter")
Reason = Callable[[Group], str]


class Algorithm(msgspec.Struct, frozen=True):
    """One algorithm; `lacking` says what a group lacks to run it, '' when nothing."""

    name: str
    about: str
    operations: tuple[Operation, ...]
    protocols: tuple[Protocol, ...]
    lacking: Reason

    def refuses(self, operation: Operation, group: Group) -> str:
        """Why it cannot run; '' when it can."""
        if operation not in self.operations:
            can = ", ".join(name.replace("_", "-") for name in self.operations)
            return f"{self.name} does {can} only"
        return self.lacking(group)


def _nothing(group: Group) -> str:
    return ""


def _switch(group: Group) -> str:
    if group.per_node < 2:
        return "needs two GPUs of an NVLink domain for its switch to reduce"
    if group.nodes > 1 and not group.sharp:
        return f"over {group.nodes} NVLink domains needs SHARP in the switches between them"
    return ""


def _switches(group: Group) -> str:
    if group.per_node < 2:
        return "needs two GPUs of an NVLink domain for its switch to reduce"
    return "joins several NVLink domains, and there is one" if group.nodes < 2 else ""


def _sharp(group: Group) -> str:
    if group.nodes < 2:
        return "needs switches between NVLink domains, and there is one domain"
    return "" if group.sharp else "needs SHARP, which is off"


def _spread(group: Group) -> str:
    if group.nodes < 2 or group.per_node > 1:
        return "needs one GPU per NVLink domain, and several domains"
    return ""


ALL = {
    each.name: each
    for each in (
        Algorithm(
            "ring",
            "every rank passes on to the next",
            (*REDUCED, "broadcast"),
            PROTOCOLS,
            _nothing,
        ),
        Algorithm("tree", "two binary trees over the nodes", ("all_reduce",), PROTOCOLS, _nothing),
        Algorithm("nvls", "the NVLink switch reduces", REDUCED, SIMPLE, _switch),
        Algorithm(
            "nvls_tree",
            "the NVLink switch reduces, trees between nodes",
            ("all_reduce",),
            SIMPLE,
            _switches,
        ),
        Algorithm(
            "collnet_direct", "the switches between nodes reduce (SHARP)", REDUCED, SIMPLE, _sharp
        ),
        Algorithm(
            "collnet_chain",
            "chains inside nodes, SHARP between them",
            ("all_reduce",),
            SIMPLE,
            _sharp,
        ),
        Algorithm("pat", "parallel aggregated trees", HALVES, PROTOCOLS, _spread),
    )
}

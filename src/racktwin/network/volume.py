"""Bytes a collective puts on a link: what the algorithm sends, and the least any could.

Sizes follow nccl-tests: the buffer of one rank for all-reduce and all-to-all, the gathered output
for all-gather, the input for reduce-scatter, the buffer sent for broadcast. Shares
are per rank and direction, over that size.
"""

from __future__ import annotations

from typing import Literal, get_args

Operation = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


def wire_share(operation: Operation, ranks: float) -> float:
    """Bytes sent per rank over the size, without reduction in the switch."""
    if operation == "broadcast":
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if operation == "all_reduce" else share


def switch_share(ranks: int) -> float:
    """Bytes over the size that an all-reduce sends per rank when the switch reduces (NVLS).

    Every rank sends its buffer to be reduced, and the reduced part it owns: 1 + 1/ranks. Hence the
    bus bandwidth of 5 to 8 H100 (420, 440, 460, 480 GB/s, NVIDIA/nccl issue 1455): 2 (n-1)/(n+1).
    """
    return 1.0 + 1.0 / ranks


def least_share(operation: Operation, ranks: int) -> float:
    """Bytes every rank must receive over the size, whoever reduces: the physical floor.

    A switch that reduces (NVLS, SHARP) spares an all-reduce one of its two passes, so its floor
    is the buffer once; the others gain nothing in the direction that limits them.
    """
    if ranks < 2:
        return 0.0
    return 1.0 if operation in ("all_reduce", "broadcast") else (ranks - 1) / ranks

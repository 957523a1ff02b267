"""Bytes between chips: collectives, the token exchange of experts, copies from GPU to GPU."""

from racktwin.network.bound import bound
from racktwin.network.collective import (
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    reduce_scatter,
)
from racktwin.network.experts import combine, dispatch
from racktwin.network.transfer import point_to_point, transfer
from racktwin.network.way import Way

__all__ = [
    "Way",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "bound",
    "broadcast",
    "combine",
    "dispatch",
    "point_to_point",
    "reduce_scatter",
    "transfer",
]

"""The roofline: no operator is faster than its FLOPs at peak or its bytes at HBM bandwidth.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model",
CACM 52(4), 2009.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from racktwin.hardware.chip import Chip

Array = NDArray[np.float64]
Sizes = NDArray[Any] | float  # of many states at once, or of one


class Work(NamedTuple):
    """What an operator must do at the least: FLOPs in one dtype and bytes through HBM."""

    flops: Array
    bytes: Array
    dtype: str


def work(flops: Sizes, moved: Sizes, dtype: str) -> Work:
    """A `Work` from `flops` (FLOP) and `moved` (bytes), broadcast to one shape."""
    both = np.broadcast_arrays(np.asarray(flops, float), np.asarray(moved, float))
    return Work(both[0], both[1], dtype)


def seconds(task: Work, chip: Chip) -> Array:
    """The least time of `task` on `chip`, s."""
    return np.maximum(task.flops / chip.peak[task.dtype], task.bytes / chip.memory_bandwidth)

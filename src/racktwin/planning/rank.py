"""One layout priced for planning: its step table and the memory left for sequences."""

from __future__ import annotations

import msgspec

from racktwin.engine.cost import Array
from racktwin.engine.memory import MemoryFit
from racktwin.engine.table import StepTable
from racktwin.models.layout import Layout


class Rank(msgspec.Struct, frozen=True):
    """A layout with its table, its memory fit at each token budget, and sequences it can hold.

    budgets: tokens per step of a rank, array (b,); capacity: sequences of the traffic's full
    length per attention-data rank at each budget, array (b,).
    """

    layout: Layout
    table: StepTable
    budgets: Array
    fits: tuple[MemoryFit, ...]
    capacity: Array

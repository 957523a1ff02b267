"""One layout priced for planning: its step table, and what it can hold under each choice."""

from __future__ import annotations

import msgspec

from racktwin.engine.cost import Array
from racktwin.engine.table import StepTable
from racktwin.models.layout import Layout


class Rank(msgspec.Struct, frozen=True):
    """A layout with its table and its choices, one per entry of the arrays.

    budgets: tokens per step of an attention-data rank; batches: its batch limit, sequences;
    capacity: sequences of the traffic's full length its memory then holds.
    """

    layout: Layout
    table: StepTable
    budgets: Array
    batches: Array
    capacity: Array

"""The electrical side of a hall: feeds and the stages between a rack's inlet and the meter."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.hardware.stage import Stage
from racktwin.units import Watts


class Facility(msgspec.Struct, frozen=True, kw_only=True):
    """`feeds` equal chains of `stages`, from the rack upwards; the feeds share every rack's load.

    switches_per_rack: fabric switches in one rack of their own.
    budgets: W its operator allows: 'rack' (inlet), 'site' (meter), or a stage (a unit of a feed).
    """

    name: str = ""
    title: str
    feeds: Count
    stages: list[Stage]
    switches_per_rack: Count
    budgets: dict[str, Watts] = {}

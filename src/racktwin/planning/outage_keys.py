"""The keys of a file of events."""

from __future__ import annotations

from typing import Literal

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.units import Seconds


class FailKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas that fail; lasts: without it they never come back."""

    replica: str
    at: Seconds
    lasts: Seconds | None = None


class DrainKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas that are drained and started again: one after the other, or `together` at a time.

    pause: between one that is back and the next.
    """

    replica: str
    at: Seconds
    restart: Seconds | None = None
    pause: Seconds = Seconds(0.0)
    together: Count = 1


class RandomKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A pool whose replicas fail at random; mtbf of a replica, or gpu_mtbf of each of its GPUs."""

    pool: str
    repair: Seconds
    mtbf: Seconds | None = None
    gpu_mtbf: Seconds | None = None


class EventKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A file of events."""

    on_failure: Literal["retry", "migrate"] | None = None
    detection: Seconds | None = None
    fail: list[FailKeys] = []
    drain: list[DrainKeys] = []
    random: list[RandomKeys] = []


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds where nothing is said: s until a router knows of a failure."""

    name: str
    title: str
    detection: Seconds

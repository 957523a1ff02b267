"""Limits on what users feel of a request: one within all of them is a good one."""

from __future__ import annotations

import math

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Latencies a good request stays within, s."""

    ttft: float = math.inf
    tpot: float = math.inf
    e2e: float = math.inf

"""What the constants of an epoch may be: a file of your own can hold anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import get_args

from racktwin.engine.epoch import Epoch
from racktwin.finding import Finding, unknown
from racktwin.hardware.chip import Family

FAMILIES: tuple[str, ...] = get_args(Family)
# s a layer or sequence, s a step or request, factors over a table, steps, shares, tokens.
LIMITS: dict[tuple[str, ...], tuple[float, float]] = {
    ("gap", "piecewise", "recurrent", "per_sequence", "launch", "launch_recurrent"): (0.0, 0.1),
    ("step_overhead", "first_token", "handover"): (0.0, 60.0),
    ("gemm", "experts", "attention", "communication", "hopper", "mxfp4"): (0.05, 20.0),
    ("prefill", "prefill_hopper", "prefill_experts", "prefill_apart"): (0.05, 20.0),
    ("brief",): (0.0, math.inf),
    ("prefill_wait", "balance_wait"): (0.0, 10_000.0),
    ("memory_fraction",): (0.01, 1.0),
    ("reserved",): (0.0, 1.0),
    ("max_batch_tokens",): (1.0, 10_000_000.0),
}


def faults(epoch: Epoch) -> Iterator[Finding]:
    """Constants out of range, and families of chips that nobody knows."""
    for names, (least, most) in LIMITS.items():
        for name in names:
            value = float(getattr(epoch, name))
            if not least <= value <= most:
                yield Finding(name, f"{name} is {value:g}; expected {least:g} to {most:g}")
    for family in epoch.own_experts:
        if family not in FAMILIES:
            yield unknown("own_experts", family, FAMILIES)

"""Efficiencies for operators nobody measured on a chip: stated defaults from the catalog."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.kernels.efficiency import Efficiency
from racktwin.units import Seconds

Operator = Literal["gemm", "attention", "experts", "recurrent", "stream"]


class Defaults(msgspec.Struct, frozen=True):
    """The fraction of the roofline each class of operators reaches; launch: s of one kernel."""

    gemm: float
    attention: float
    experts: float
    recurrent: float
    stream: float
    launch: Seconds


@cache
def defaults() -> Defaults:
    """The default efficiencies of the catalog."""
    return catalog.load("kernels", "generic").build(Defaults)


def generic(operator: Operator, what: str) -> Efficiency:
    """The default for a class of operators, named so that the answer can say it."""
    value: float = getattr(defaults(), operator)
    return Efficiency(
        "assumed", f"{what}: roofline x generic {value:.2f}", flat=value, launch=defaults().launch
    )

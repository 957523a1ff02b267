"""Estimates: a number, how sure it is, and what stands behind it."""

from __future__ import annotations

from typing import Literal

import msgspec

EvidenceKind = Literal["measured", "formula", "assumed"]


class Evidence(msgspec.Struct, frozen=True, order=True):
    """What a figure rests on.

    kind: 'measured' (a table of measurements), 'formula' (physics or arithmetic on catalog
    facts), 'assumed' (a stated default nobody measured).
    name: the table, formula or assumption ('gb300 gemm nvfp4', 'roofline x 0.70').
    """

    kind: EvidenceKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


class Estimate(msgspec.Struct, frozen=True):
    """A value with its 80 % interval [low, high], its unit and its evidence."""

    value: float
    low: float
    high: float
    unit: str
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}) {self.unit}"

"""The price of an operator over many states: time, work, energy and what it rests on."""

from __future__ import annotations

import msgspec
import numpy as np

from racktwin.estimate import Evidence
from racktwin.kernels.roofline import Array

_WEAKEST = ("measured", "formula", "assumed")


class Priced(msgspec.Struct, frozen=True):
    """What an operator takes in each state; the four arrays share one shape.

    seconds: s. flops: FLOP. bytes: bytes through HBM. joules: J above idle.
    """

    seconds: Array
    flops: Array
    bytes: Array
    joules: Array
    evidence: Evidence

    def __add__(self, other: Priced) -> Priced:
        """One after the other; the evidence is as weak as the weaker of the two."""
        return Priced(
            self.seconds + other.seconds,
            self.flops + other.flops,
            self.bytes + other.bytes,
            self.joules + other.joules,
            _joined(self.evidence, other.evidence),
        )

    def __mul__(self, times: float) -> Priced:
        """The same operator `times` times over."""
        return Priced(
            self.seconds * times,
            self.flops * times,
            self.bytes * times,
            self.joules * times,
            self.evidence,
        )

    __rmul__ = __mul__

    def quicker(self, other: Priced) -> Priced:
        """State by state the quicker of two ways to do the same."""
        first = self.seconds <= other.seconds
        if first.all() or not first.any():
            return self if first.all() else other
        return Priced(
            np.where(first, self.seconds, other.seconds),
            np.where(first, self.flops, other.flops),
            np.where(first, self.bytes, other.bytes),
            np.where(first, self.joules, other.joules),
            _joined(self.evidence, other.evidence),
        )


def nothing(shape: tuple[int, ...] = ()) -> Priced:
    """An operator that does nothing, in each state of `shape`."""
    zero = np.zeros(shape)
    return Priced(zero, zero, zero, zero, Evidence("formula", "no work"))


def _joined(one: Evidence, other: Evidence) -> Evidence:
    if one == other or other.name == "no work":
        return one
    if one.name == "no work":
        return other
    names = dict.fromkeys([*one.name.split(" + "), *other.name.split(" + ")])
    kind = max(one.kind, other.kind, key=_WEAKEST.index)
    return Evidence(kind, " + ".join(names))

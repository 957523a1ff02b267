"""A histogram of only the classes that occur: one for each bin of a long run costs little."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from racktwin.serving.fleet import Floats, Ints
from racktwin.serving.sample import class_of, middle


class Sparse(NamedTuple):
    """places: classes as in `sample`, rising; counts: of cases in each (1)."""

    places: Ints
    counts: Floats

    @classmethod
    def of(cls, seconds: Floats, counts: Floats) -> Self:
        """Values (s), each of which occurred so often (1)."""
        return cls._joined(class_of(seconds), counts)

    @classmethod
    def _joined(cls, places: Ints, counts: Floats) -> Self:
        found, which = np.unique(places, return_inverse=True)
        summed: Floats = np.bincount(which, counts, len(found)).astype(float)
        return cls(found[summed > 0], summed[summed > 0])

    def with_(self, other: Sparse) -> Self:
        """The cases of both."""
        places = np.concatenate([self.places, other.places])
        return self._joined(places, np.concatenate([self.counts, other.counts]))

    def level(self, share: float) -> float:
        """What this share (1) of the cases is at most, s; NaN where there is none."""
        if not len(self.places):
            return float("nan")
        reached = np.cumsum(self.counts)
        index = min(int(np.searchsorted(reached, share * reached[-1])), len(reached) - 1)
        return float(middle(self.places[index : index + 1])[0])

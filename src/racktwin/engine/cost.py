"""What a set of operators costs, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from racktwin.estimate import Evidence
from racktwin.kernels.priced import Priced

Array = NDArray[np.float64]


class Cost(msgspec.Struct, frozen=True):
    """Seconds by part (arrays over states, s), joules of the work above idle (J), and evidence."""

    parts: Mapping[str, Array]
    joules: Array
    evidence: Mapping[str, frozenset[Evidence]]

    @property
    def seconds(self) -> Array:
        """Time of all parts together, s."""
        return np.asarray(sum(self.parts.values(), start=np.zeros_like(self.joules)))

    def __add__(self, other: Cost) -> Cost:
        return total([self, other])

    def scaled(self, factor: float) -> Cost:
        """The same work `factor` times."""
        parts = {part: seconds * factor for part, seconds in self.parts.items()}
        return Cost(parts, self.joules * factor, self.evidence)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of several costs over the same states."""
    parts: dict[str, Array] = {}
    evidence: dict[str, frozenset[Evidence]] = {}
    joules: Array = np.zeros(())
    for cost in costs:
        joules = joules + cost.joules
        for part, seconds in cost.parts.items():
            parts[part] = parts[part] + seconds if part in parts else seconds
        for part, known in cost.evidence.items():
            evidence[part] = evidence.get(part, frozenset()) | known
    return Cost(parts, joules, evidence)


def of(part: str, priced: Priced, factor: float = 1.0) -> Cost:
    """A priced operator as one part; `factor` is a calibration on its time, not on its energy."""
    return Cost(
        {part: priced.seconds * factor}, priced.joules, {part: frozenset([priced.evidence])}
    )


def collective(priced: Priced, factor: float, brief: float, least: ArrayLike = 0.0) -> Cost:
    """A collective in two parts: `communication`, its first `brief` s, and `transfer` beyond.

    factor: calibration of the first, 1; least: s that neither of them goes below together.
    """
    first = np.minimum(priced.seconds, brief)
    beyond = priced.seconds - first
    first = np.maximum(first * factor, np.asarray(least, float) - beyond)
    parts = {"communication": first, "transfer": beyond}
    return Cost(parts, priced.joules, {"communication": frozenset([priced.evidence])})

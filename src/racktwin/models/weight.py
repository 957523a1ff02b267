"""A weight matrix: its size, and how tensor and expert parallelism cut it."""

from __future__ import annotations

from typing import Literal

import msgspec

from racktwin.models.precision import Part


class Weight(msgspec.Struct, frozen=True):
    """Matrices of one part that are cut alike.

    elements: weights in all of them. cut: 'tensor', 'experts' or 'none' (a copy on every rank).
    units: what cannot be cut further (heads, experts, channels); 0 means elements.
    """

    part: Part
    elements: int
    cut: Literal["tensor", "experts", "none"] = "none"
    units: int = 0

    def share(self, tensor: int, expert: int, expert_tensor: int, spare: int = 0) -> float:
        """Elements on the fullest GPU. spare: redundant expert slots of the layer."""
        if self.cut == "none":
            return self.elements
        if self.cut == "experts":
            slots = -(-(self.units + spare) // expert)
            return self.elements / self.units * slots / expert_tensor
        if not self.units:
            return self.elements / tensor
        return self.elements / self.units * -(-self.units // tensor)

"""Which measured experts stand in for a layout or a model that was not measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.kernels.grid import Grid
from racktwin.kernels.roofline import Array
from racktwin.kernels.tables import Table

_LAYOUTS, _MODELS = 2, 4  # neighbours blended
_CLOSE = 0.05  # a neighbour nearer than this counts as this near
_APART = 0.7  # a table whose nearest row is this much farther away is not asked


class Grouped(NamedTuple):
    """The experts of a layer and how they are spread: expert x expert_tensor ranks."""

    hidden: int
    intermediate: int
    top_k: int
    experts: int
    expert_tensor: int
    expert: int
    gated: int

    @property
    def per_visit(self) -> float:
        """How many tokens it takes until each expert is visited once on average."""
        return self.experts / self.top_k


def blended(shape: Grouped, tables: list[Table]) -> tuple[Grid, str] | None:
    """The efficiency of the layouts on either side, or else of the models most alike.

    Efficiencies are averaged in the logarithm with weights 1 / distance^2, at as many tokens per
    expert. Left out of the tables, layouts come back within some 10 %, models within some 15 %
    (median; docs/reference/kernel-tables.md).
    """
    apart = [(distance(shape, table.keys.astype(float)), table) for table in tables]
    apart = [(far, table) for far, table in apart if len(far)]
    if not apart:
        return None
    nearest = min(far.min() for far, _ in apart)
    grids, names = [], []
    for far, table in apart:
        if far.min() < nearest + _APART:
            grid, name = _blend(shape, table, far)
            grids.append(grid)
            names.append(name)
    best = max(range(len(grids)), key=lambda each: float(grids[each].values.mean()))
    return grids[best], names[best]


def _blend(shape: Grouped, table: Table, far: Array) -> tuple[Grid, str]:
    same = bool(far.min() < _OTHER)
    rows = np.argsort(far, kind="stable")[: _LAYOUTS if same else _MODELS]
    rows = rows[(far[rows] < _OTHER) == same]
    weights = 1 / (far[rows] % _OTHER + _CLOSE) ** 2
    axis = table.grids.axes[0]
    others = [Grouped(*(int(value) for value in table.keys[row])) for row in rows]
    values: Array = np.zeros(len(axis))
    for row, weight, other in zip(rows, weights, others, strict=True):
        shift = np.log(shape.per_visit / other.per_visit)
        values += weight * np.interp(axis - shift, axis, table.grids.values[row])
    layouts = " and ".join(f"TP{each.expert_tensor} EP{each.expert}" for each in others[:2])
    models = " and ".join(
        f"{each.hidden}x{each.intermediate} top {each.top_k} of {each.experts}"
        for each in dict.fromkeys(each._replace(expert=1, expert_tensor=1) for each in others)
    )
    rule = f" from layouts {layouts}" if same else f" from models {models}"
    return Grid((axis,), values / weights.sum(), np.ones(len(axis), bool)), rule


_OTHER = 100.0  # added to the distance of another model


def distance(shape: Grouped, keys: Array) -> Array:
    """How unlike the rows of `keys` are: log ratios of what one rank computes."""
    hidden, inter, top_k, experts, tensor, expert, gated = keys.T
    far = np.abs(np.log(hidden / shape.hidden))
    far += np.abs(np.log(inter / tensor * shape.expert_tensor / shape.intermediate))
    far += np.abs(np.log(experts / expert * shape.expert / shape.experts))
    far += 0.5 * np.abs(np.log(expert / shape.expert)) + 0.5 * np.abs(np.log(top_k / shape.top_k))
    model = (keys[:, :4] != np.asarray(shape[:4])).any(axis=1)
    return np.asarray(far + _OTHER * model + 1.0 * (gated != shape.gated))

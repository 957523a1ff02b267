"""What the lookup rules cost: errors at shapes taken out of the tables.

GEMM: every second n and k is left out. Attention heads, expert layouts and models: each is priced
from the tables without it, as the runtime would price one that nobody measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from distillation.draft import Draft, Score
from racktwin.kernels import attention, grouped
from racktwin.kernels.grid import Grid
from racktwin.kernels.tables import Table

Array = NDArray[np.float64]


def scores(drafts: list[Draft]) -> Iterator[Score]:
    """The errors of each kind of rule, one score a kind and table."""
    for each in drafts:
        operator = each.name.split(".")[0]
        if operator == "gemm":
            yield _score(f"{each.name}: n, k between", each, [_between(each.table)])
        if operator in ("attention_decode", "attention_prefill"):
            yield _score(f"{each.name}: other heads", each, list(_heads(each.table, operator)))
        if operator == "experts" and ".power_law" in each.name:
            layouts = list(_experts(each.table, 0, 7))
            yield _score(f"{each.name}: other layout", each, layouts)
            yield _score(f"{each.name}: other model", each, list(_experts(each.table, 0, 4)))


def _score(name: str, source: Draft, errors: list[Array]) -> Score:
    found = np.concatenate([np.zeros(0), *errors])
    return Score(name, source.score.rows, len(found), found)


def _between(table: Table) -> Array:
    """Errors at every second n and k from the ones on either side."""
    grid = table.grid(0)
    keep = np.ix_(np.arange(len(grid.axes[0])), *(_alternate(axis) for axis in grid.axes[1:]))
    axes = (grid.axes[0], *(axis[_alternate(axis)] for axis in grid.axes[1:]))
    thin = Grid(axes, grid.values[keep], grid.measured[keep])
    out = grid.measured.copy()
    out[keep] = False
    place = np.nonzero(out)
    predicted, _ = thin.at(*(np.exp(a[i]) for a, i in zip(grid.axes, place, strict=True)))
    return _error(grid.values[place], predicted)


def _alternate(axis: Array) -> NDArray[np.intp]:
    return np.unique(np.append(np.arange(0, len(axis), 2), len(axis) - 1))


def _without(table: Table, gone: NDArray[np.bool_]) -> Table:
    grids = Grid(table.grids.axes, table.grids.values[~gone], table.grids.measured[~gone])
    return Table(table.facts, table.keys[~gone], grids)


def _heads(table: Table, operator: str) -> Iterator[Array]:
    phase: attention.Phase = "decode" if operator.endswith("decode") else "prefill"
    for row, (fp8, head_dim, window, heads, kv_heads) in enumerate(table.keys.tolist()):
        same = (table.keys[:, :3] == table.keys[row, :3]).all(axis=1)
        if same.sum() < 4:
            continue
        kv_dtype = "fp8" if fp8 else "bf16"
        shape = attention.Heads(heads, kv_heads, head_dim, head_dim, window, kv_dtype)
        gone = np.arange(len(table.keys)) == row
        found = attention.nearest(_without(table, gone), phase, shape)
        if found:
            yield _against(table.grid(row), found[0])


def _experts(table: Table, first: int, last: int) -> Iterator[Array]:
    """Leave out all rows that agree in the key columns [first, last)."""
    for key in np.unique(table.keys[:, first:last], axis=0):
        gone = (table.keys[:, first:last] == key).all(axis=1)
        rest = _without(table, gone)
        for row in np.flatnonzero(gone):
            shape = grouped.Grouped(*(int(value) for value in table.keys[row]))
            found = grouped.blended(shape, [rest])
            if found:
                yield _against(table.grid(int(row)), found[0])


def _against(truth: Grid, found: Grid) -> Array:
    place = np.nonzero(truth.measured)
    predicted, _ = found.at(*(np.exp(a[i]) for a, i in zip(truth.axes, place, strict=True)))
    return _error(truth.values[place], predicted)


def _error(true: Array, predicted: Array) -> Array:
    return np.asarray(np.abs(np.exp(true - predicted) - 1))

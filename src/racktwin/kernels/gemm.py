"""Matrix multiplication: m rows of activations times a k x n weight.

The measured low-precision tables (fp8, fp8_block, nvfp4) contain the quantisation of the
activations: over n, their times have an intercept of one to three times the bytes it moves,
where bf16 has none. So does the price given here, unless the layer in front already wrote them in
fp8 with the static scale of the checkpoint: then the two kernels that look for the largest value
and quantise are not launched, and their measured time is taken off.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from racktwin.estimate import EvidenceKind
from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, fastest
from racktwin.kernels.roofline import Array, Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value, format_of

# Kernels in front of a product with a scale to be found: table, and bytes they move a value.
_QUANTISING = {"scale": 2.0, "stream": 3.0}
_TABLES = {"fp16": "bf16", "fp32": "bf16", "mxfp8": "fp8_block", "mxfp4": "nvfp4"}


def gemm_work(m: Sizes, n: Sizes, k: Sizes, dtype: str, peaks: Container[str]) -> Work:
    """FLOPs and bytes of an m x k times k x n product with weights in `dtype`, output in bf16."""
    m, n, k = (np.asarray(each, float) for each in (m, n, k))
    moved = n * k * bytes_per_value(dtype) + m * k * formats.activation_bytes(dtype, peaks)
    return work(2 * m * n * k, (moved + 2 * m * n) * (m > 0), formats.compute(dtype, peaks))


def gemm_efficiency(
    tables: Tables | None,
    n: float,
    k: float,
    dtype: str,
    peaks: Container[str],
    sources: list[str],
    *,
    quantised: bool = False,
) -> Efficiency:
    """Efficiency over m of the fastest measured kernel among the `sources` (frameworks).

    quantised: the activations arrive in `dtype`, with a static scale.
    """
    name = _TABLES.get(dtype, dtype)
    native = formats.compute(dtype, peaks) != "bf16" or name == "bf16"
    rule = "" if dtype == name else f" ({dtype})"
    quantised = quantised and native and name == "fp8"
    if not native:
        # A weight-only kernel widens the weights on the way in: it behaves like the bf16 kernel
        # that moves as many bytes of weights.
        k = max(k * bytes_per_value(dtype) / 2, 1.0)
        name, rule = "bf16", f" at equal bytes ({dtype} weights, bf16 units)"
    grids, block = [], float(format_of(name).block)
    for each in sources:
        table = tables.get(f"gemm.{name}.{each}") if tables else None
        if tables and table is not None:
            grid = _slice(table, n, k, block)
            grids.append(_bare(grid, n, k, tables, each) if quantised else grid)
    if tables is None or not grids:
        return generic("gemm", f"gemm {dtype}")
    rule += " less quantising" if quantised else ""
    kind: EvidenceKind = "measured" if native else "formula"
    what = f"{tables.name} gemm {name}{rule}"
    return Efficiency(kind, what, fastest(grids), family=f"gemm {name}")


def _slice(table: Table, n: float, k: float, block: float) -> Grid:
    """Over m; a side below the `block` of the format (values) is filled up, or never cut."""
    return table.grid(0).fixed(2, max(k, block)).fixed(1, max(n, block))


def _bare(grid: Grid, n: float, k: float, tables: Tables, framework: str) -> Grid:
    """An fp8 grid over m without the kernels that quantised its activations, where measured."""
    measured, m = tables.index, np.exp(grid.axes[0])
    task = gemm_work(m, n, k, "fp8", measured.peak)
    least = np.maximum(task.flops / measured.peak[task.dtype], task.bytes / measured.bandwidth)
    spent: Array = np.zeros_like(m)
    for name, per_value in _QUANTISING.items():
        table = tables.get(f"{name}.{framework}")
        if table is None:
            return grid
        moved = per_value * m * k
        spent = spent + moved / measured.bandwidth * np.exp(-table.grid(0).at(moved)[0])
    left = np.maximum(least * np.exp(-grid.values) - spent, least)
    return Grid(grid.axes, np.log(least / left), grid.measured)

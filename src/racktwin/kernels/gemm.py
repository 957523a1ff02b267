"""Matrix multiplication: m rows of activations times a k x n weight.

The measured low-precision tables (fp8, fp8_block, nvfp4) contain the quantisation of the
activations: over n, their times have an intercept of one to three times the bytes it moves,
where bf16 has none. So does the price given here.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, fastest
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value

_TABLES = {"fp16": "bf16", "fp32": "bf16", "mxfp8": "fp8_block", "mxfp4": "nvfp4"}


def gemm_work(m: Sizes, n: Sizes, k: Sizes, dtype: str, peaks: Container[str]) -> Work:
    """FLOPs and bytes of an m x k times k x n product with weights in `dtype`, output in bf16."""
    m, n, k = (np.asarray(each, float) for each in (m, n, k))
    moved = n * k * bytes_per_value(dtype) + m * k * formats.activation_bytes(dtype, peaks)
    return work(2 * m * n * k, (moved + 2 * m * n) * (m > 0), formats.compute(dtype, peaks))


def gemm_efficiency(
    tables: Tables | None, n: float, k: float, dtype: str, peaks: Container[str], sources: list[str]
) -> Efficiency:
    """Efficiency over m of the fastest measured kernel among the `sources` (frameworks)."""
    name = _TABLES.get(dtype, dtype)
    native = formats.compute(dtype, peaks) != "bf16" or name == "bf16"
    rule = "" if dtype == name else f" ({dtype})"
    if not native:
        # A weight-only kernel widens the weights on the way in: it behaves like the bf16 kernel
        # that moves as many bytes of weights.
        k = max(k * bytes_per_value(dtype) / 2, 1.0)
        name, rule = "bf16", f" at equal bytes ({dtype} weights, bf16 units)"
    found = [] if tables is None else [tables.get(f"gemm.{name}.{each}") for each in sources]
    grids = [_slice(table, n, k) for table in found if table is not None]
    if tables is None or not grids:
        return generic("gemm", f"gemm {dtype}")
    return Efficiency(
        "measured" if native else "formula", f"{tables.name} gemm {name}{rule}", fastest(grids)
    )


def _slice(table: Table, n: float, k: float) -> Grid:
    return table.grid(0).fixed(2, k).fixed(1, n)

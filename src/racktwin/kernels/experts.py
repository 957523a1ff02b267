"""The routed experts of one layer: a grouped GEMM on the slowest rank of its group.

Measured layouts are kept as measured; what is missing is blended from its neighbours (`grouped`).
Kernels that do not divide the work over expert-parallel ranks (those of vLLM and SGLang) only
serve an expert-parallel layout where they beat one that does.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, fastest
from racktwin.kernels.grouped import Grouped, blended
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value

_TABLES = {"fp16": ["bf16"], "fp32": ["bf16"], "mxfp8": ["fp8_block"], "mxfp4": ["mxfp4"]}
_WEIGHT_ONLY = ["mxfp4", "int4"]
_DIVIDING = ("trtllm", "wideep")
_OTHERS = ("sglang", "vllm")


def experts_work(tokens: Sizes, shape: Grouped, dtype: str, peaks: Container[str]) -> Work:
    """What an average rank does for `tokens` tokens of the whole group.

    The experts whose weights are read are those that uniform routing is expected to touch.
    """
    count = np.asarray(tokens, float)
    matrix = shape.hidden * shape.intermediate / shape.expert_tensor
    matrices = 3 if shape.gated else 2
    local = shape.experts / shape.expert
    touched = local * -np.expm1(count * np.log1p(-min(shape.top_k / shape.experts, 1 - 1e-12)))
    visits = count * min(1.0, shape.top_k / shape.expert)
    moved = touched * matrices * matrix * bytes_per_value(dtype)
    moved = moved + visits * shape.hidden * (2 + formats.activation_bytes(dtype, peaks))
    flops = 2.0 * matrices * matrix * count * shape.top_k / shape.expert
    return work(flops, moved, formats.compute(dtype, peaks))


def experts_efficiency(
    tables: Tables | None,
    shape: Grouped,
    dtype: str,
    imbalance: str,
    peaks: Container[str],
) -> Efficiency:
    """Efficiency over tokens of the group, of the fastest measured kernel."""
    names = _TABLES.get(dtype, [dtype])
    if formats.compute(dtype, peaks) == "bf16" and dtype not in ("bf16", "fp16", "fp32"):
        names = list(dict.fromkeys([*(n for n in names if n in _WEIGHT_ONLY), *_WEIGHT_ONLY]))
    if tables is None:
        return generic("experts", f"experts {dtype}")
    for name in names:
        dividing = _load(tables, name, imbalance, _DIVIDING)
        others = _load(tables, name, imbalance, _OTHERS)
        found = _search(shape, dividing, others)
        if found:
            grid, rule = found
            bent = rule + ("" if name == dtype else f" ({dtype} weights)")
            return Efficiency("measured", f"{tables.name} experts {name} {imbalance}{bent}", grid)
    return generic("experts", f"experts {dtype}")


def _load(tables: Tables, name: str, imbalance: str, sources: tuple[str, ...]) -> list[Table]:
    found = [tables.get(f"experts.{name}.{imbalance}.{source}") for source in sources]
    return [table for table in found if table is not None]


def _search(shape: Grouped, dividing: list[Table], others: list[Table]) -> tuple[Grid, str] | None:
    """The fastest exact grid; for what lacks one, a blend of its neighbours."""
    exact, also = _exact(shape, dividing), _exact(shape, others)
    if exact or (also and shape.expert == 1):
        return fastest(exact + also), ""
    near = blended(shape, dividing if shape.expert > 1 else dividing + others)
    if near is None:
        return (fastest(also), " by kernels that do not divide the work") if also else None
    return fastest([near[0], *also]), near[1]


def _exact(shape: Grouped, tables: list[Table]) -> list[Grid]:
    rows = [(table, table.row(*shape)) for table in tables]
    return [table.grid(row) for table, row in rows if row is not None]

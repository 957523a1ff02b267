"""The routed experts of one layer: a grouped GEMM on the slowest rank of its group.

Measured layouts are kept as measured, because scaling between them is poor. The missing ones take
the efficiency of the nearest layout, or of the nearest model, at as many tokens per expert.
Kernels that do not divide the work over expert-parallel ranks (those of vLLM and SGLang) only
serve an expert-parallel layout where they beat one that does.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np

from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, fastest, shifted
from racktwin.kernels.roofline import Array, Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value

_TABLES = {"fp16": ["bf16"], "fp32": ["bf16"], "mxfp8": ["fp8_block"], "mxfp4": ["mxfp4"]}
_WEIGHT_ONLY = ["mxfp4", "int4"]
_DIVIDING = ("trtllm", "wideep")
_OTHERS = ("sglang", "vllm")


class Grouped(NamedTuple):
    """The experts of a layer and how they are spread: expert x expert_tensor ranks."""

    hidden: int
    intermediate: int
    top_k: int
    experts: int
    expert_tensor: int
    expert: int
    gated: int


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
    """The fastest exact grid; for what lacks one, the nearest of the tables that may stand in."""
    exact = _exact(shape, dividing)
    also = _exact(shape, others)
    if exact or (also and shape.expert == 1):
        return fastest(exact + also), ""
    near = _nearest(shape, dividing if shape.expert > 1 else dividing + others)
    if near is None:
        return (fastest(also), ", kernels that do not divide the work") if also else None
    grid, rule = near
    return grid, rule


def _exact(shape: Grouped, tables: list[Table]) -> list[Grid]:
    rows = [(table, table.row(*shape)) for table in tables]
    return [table.grid(row) for table, row in rows if row is not None]


def _nearest(shape: Grouped, tables: list[Table]) -> tuple[Grid, str] | None:
    """The grid of the nearest layout of the same model, else of the nearest model."""
    best: tuple[float, Table, int] | None = None
    for table in tables:
        distance = _distance(shape, table.keys.astype(float))
        row = int(np.argmin(distance)) if len(distance) else 0
        if len(distance) and (best is None or distance[row] < best[0]):
            best = (float(distance[row]), table, row)
    if best is None:
        return None
    _, table, row = best
    other = Grouped(*(int(value) for value in table.keys[row]))
    density = (shape.experts / shape.top_k) / (other.experts / other.top_k)
    same = other[:4] == shape[:4]
    rule = (
        f" nearest layout TP{other.expert_tensor} EP{other.expert}"
        if same
        else (
            f" nearest model {other.hidden}x{other.intermediate} top {other.top_k} of"
            f" {other.experts}, TP{other.expert_tensor} EP{other.expert}"
        )
    )
    return shifted(table.grid(row), 0, density), rule


def _distance(shape: Grouped, keys: Array) -> Array:
    """How unlike the rows of `keys` are: log ratios of what one rank computes."""
    hidden, inter, top_k, experts, tensor, expert, gated = keys.T
    far = np.abs(np.log(hidden / shape.hidden))
    far += np.abs(np.log(inter / tensor * shape.expert_tensor / shape.intermediate))
    far += np.abs(np.log(experts / expert * shape.expert / shape.experts))
    far += 0.5 * np.abs(np.log(expert / shape.expert)) + 0.5 * np.abs(np.log(top_k / shape.top_k))
    model = (keys[:, :4] != np.asarray(shape[:4])).any(axis=1)
    return np.asarray(far + 100.0 * model + 1.0 * (gated != shape.gated))

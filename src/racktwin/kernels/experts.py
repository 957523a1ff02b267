"""The routed experts of one layer: a grouped GEMM on the slowest rank of its group.

Measured layouts are kept as measured; what is missing is blended from its neighbours (`grouped`).
Kernels that do not divide the work over expert-parallel ranks (those of vLLM and SGLang) only
serve an expert-parallel layout where they beat one that does.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from racktwin.estimate import EvidenceKind
from racktwin.finding import BadInput, unknown
from racktwin.kernels import dtype as formats
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import Grid, fastest
from racktwin.kernels.grouped import Grouped, blended
from racktwin.kernels.load import touched
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Table, Tables
from racktwin.models.formats import bytes_per_value

_TABLES = {
    "fp16": ["bf16"],
    "fp32": ["bf16"],
    "int8": ["bf16"],  # widened on the way in; kernels of 8-bit integers were not measured
    "q8_0": ["bf16"],
    "mxfp8": ["fp8_block"],
    "mxfp4": ["mxfp4"],
}
_WEIGHT_ONLY = ["mxfp4", "int4"]
# How tokens fall on experts, and what is taken where a load was not measured. eplb: experts
# replicated and placed so that ranks carry alike.
_STAND_INS = {"power_law_1.01": ["balanced"], "balanced": ["power_law_1.01"], "eplb": ["balanced"]}
_DIVIDING = ("trtllm", "wideep")
_OTHERS = ("sglang", "vllm")


def experts_work(
    tokens: Sizes, shape: Grouped, dtype: str, peaks: Container[str], imbalance: str
) -> Work:
    """What an average rank does for `tokens` tokens of the whole group."""
    count = np.asarray(tokens, float)
    matrices = (3 if shape.gated else 2) * shape.hidden * shape.intermediate / shape.expert_tensor
    weights = touched(count, shape.per_visit, imbalance) * shape.experts / shape.expert * matrices
    visits = count * min(1.0, shape.top_k / shape.expert)
    moved = weights * bytes_per_value(dtype)
    moved = moved + visits * shape.hidden * (2 + formats.activation_bytes(dtype, peaks))
    flops = 2.0 * matrices * count * shape.top_k / shape.expert
    return work(flops, moved, formats.compute(dtype, peaks))


def experts_efficiency(
    tables: Tables | None,
    shape: Grouped,
    dtype: str,
    imbalance: str,
    peaks: Container[str],
    own: str = "",
) -> Efficiency:
    """Efficiency over tokens of the group, of the fastest measured kernel.

    own: the framework whose kernels alone count, where it was measured with the model at all.
    """
    if imbalance not in _STAND_INS:
        raise BadInput([unknown("imbalance", imbalance, _STAND_INS)])
    if imbalance == "eplb" and shape.expert == 1:
        imbalance = "power_law_1.01"  # replicas even out ranks, not the experts of one rank
    names = _names(dtype, peaks)
    for load in [imbalance, *_STAND_INS[imbalance]]:
        found = _mine(shape, _load(tables, names, load, (own,))) if own else None
        dividing = _load(tables, names, load, _DIVIDING)
        found = found or _search(shape, dividing, _load(tables, names, load, _OTHERS))
        if found and tables:
            grid, rule = found
            kind: EvidenceKind = "formula" if " models " in rule else "measured"
            rule += "" if load == imbalance else f" for {imbalance}"
            rule += "" if names == [dtype] else f" ({dtype} weights)"
            what = f"{tables.name} experts {' or '.join(names)} {load}"
            return Efficiency(kind, what + rule, grid, family=f"experts {names[0]}")
    return generic("experts", f"experts {dtype}")


def _names(dtype: str, peaks: Container[str]) -> list[str]:
    """The weight formats whose kernels serve `dtype`: its own, or all that widen 4-bit weights."""
    names = _TABLES.get(dtype, [dtype])
    return names if formats.compute(dtype, peaks) != "bf16" or names == ["bf16"] else _WEIGHT_ONLY


def _load(
    tables: Tables | None, names: list[str], load: str, sources: tuple[str, ...]
) -> list[Table]:
    if tables is None:
        return []
    found = [tables.get(f"experts.{n}.{load}.{source}") for n in names for source in sources]
    return [table for table in found if table is not None]


def _mine(shape: Grouped, tables: list[Table]) -> tuple[Grid, str] | None:
    """The grid of the layout or of its neighbours of the same model; None for another model."""
    if exact := _exact(shape, tables):
        return fastest(exact), ""
    near = blended(shape, tables)
    return near if near and " layouts " in near[1] else None


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

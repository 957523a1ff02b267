"""Measured kernel times against the tables that ship."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from racktwin.evidence import kernel_table
from racktwin.evidence.data import HERE
from racktwin.evidence.error import errors
from racktwin.evidence.kernel_table import COLUMNS, KEYS, SHAPES
from racktwin.evidence.table_error import table_error
from racktwin.evidence.validation.point import (
    Many,
    Point,
    Track,
    Validation,
    Value,
    cell,
    untracked,
)
from racktwin.evidence.validation.sweep import SHIPPED
from racktwin.evidence.validation.thinned import Thinned, left_out
from racktwin.hardware import chip as known_chip
from racktwin.kernels.experts import experts_work
from racktwin.kernels.grouped import Grouped
from racktwin.kernels.operators import Kernels
from racktwin.kernels.roofline import seconds as roofline

if TYPE_CHECKING:
    import polars as pl

HEADER = (*KEYS, "points")
ADDED = ("mean", "median", "p90", "bias", "evidence", "reason")
BY = ("chip", "operator", "dtype")
MLA = {"kv_rank": 512, "rope_dim": 64}  # the only latent shape that was measured: DeepSeek's
EXPANDED = {**MLA, "nope_dim": 128, "value_dim": 128}
NARROW = {192: 128}  # value dimension where it is not the key's
UNGATED = frozenset([(2688, 1856), (1024, 2688), (4096, 2688), (2048, 5120), (8192, 5120)])
BELOW = 0.95  # of the roofline: such expert times reach only some of the experts
POINTS = "kernel_points.csv.gz"
NOTES = (
    "a row is a table; GEMM and experts: the fastest kernel of any framework counts",
    "left out: the size is taken out of the table, or never was in it; not at a table's ends",
    "shapes that nobody measured: docs/reference/kernel-tables.md",
)


def kernels(points: str | Path | None = None, track: Track[Any] = untracked) -> Validation:
    """Errors at all measured points of a folder of raw tables; of a sample that ships without."""
    tables = _shipped() if points is None else list(kernel_table.tables(Path(points)))
    groups = [part for table in tables for _, part in table.group_by(KEYS, maintain_order=True)]
    found = [_point(line, part) for line, part in enumerate(track(groups), 1)]
    return Validation(
        set="kernels",
        source=SHIPPED if points is None else str(points),
        held="left out",
        header=HEADER,
        added=ADDED,
        by=BY,
        points=tuple(each for each in found if each is not None),
        notes=NOTES,
    )


def _shipped() -> list[pl.DataFrame]:
    import polars as pl

    numbers = {name: pl.Int64 for name in COLUMNS if name not in (*KEYS, "seconds")}
    return [pl.read_csv(HERE / POINTS, schema_overrides={**numbers, "seconds": pl.Float64})]


def _point(line: int, rows: pl.DataFrame) -> Point | None:
    """One table: all its points at once."""
    chip, operator, framework, dtype = (str(rows[name][0]) for name in KEYS)
    engine = "trtllm" if framework == "any" else framework
    priced = Kernels(known_chip(chip), engine)
    thinned = [Thinned(known_chip(chip), engine, parity) for parity in (0, 1)]
    parts, evidence = [], ""
    for shape, part in rows.group_by(SHAPES[operator], maintain_order=True):
        batch, tokens = (part[name].to_numpy().astype(float) for name in ("batch", "tokens"))
        call = operator, dtype, [int(each) for each in shape], batch, tokens
        price, least = _price(priced, *call)
        truth = part["seconds"].to_numpy()
        predicted = np.broadcast_to(price.seconds, truth.shape)
        held = _held(thinned, predicted, call)
        parts.append(np.stack([predicted, truth, held])[:, truth >= BELOW * least])
        evidence = evidence or str(price.evidence)
    predicted, truth, held = np.concatenate(parts, axis=1)
    if not len(truth):
        return None
    band = table_error("kernels", operator, chip)
    many = Many(predicted, truth, held, *((band.low, band.high) if band else ()))
    off = errors(predicted, truth)
    cells = dict(zip(HEADER, (chip, operator, framework, dtype, f"{off.count}"), strict=True))
    figures = zip(ADDED, (off.mean, off.median, off.p90, off.bias), strict=False)
    return Point(
        line=line,
        cells=cells,
        columns={**{name: cell(value) for name, value in figures}, "evidence": evidence},
        values=(Value(figure="time", value=1.0),),
        many={"time": many},
        traits={"chip": chip, "operator": operator, "dtype": dtype, "framework": framework},
        evidence=evidence,
    )


def _held(thinned: Sequence[Thinned], predicted: Any, call: Any) -> Any:
    """Times from the tables without each point, s; NaN at the ends of a table."""
    without = [np.broadcast_to(_price(each, *call)[0].seconds, predicted.shape) for each in thinned]
    parity, inside = left_out(thinned[0].axis, call[-1])
    held = np.where(parity == 0, without[0], np.where(parity == 1, without[1], predicted))
    return np.where(inside, held, np.nan)


def _price(
    priced: Kernels, operator: str, dtype: str, shape: Sequence[int], batch: Any, tokens: Any
) -> tuple[Any, Any]:
    """The price of one shape at many loads, and a floor of times that are real, s."""
    if operator == "gemm":
        return priced.gemm(tokens, shape[0], shape[1], dtype), 0.0
    if operator == "experts":
        return _experts(priced, dtype, shape, tokens)
    if operator.startswith("mla"):
        if operator == "mla_decode":
            return priced.mla_decode(batch, tokens, heads=shape[0], kv_dtype=dtype, **MLA), 0.0
        return priced.mla_prefill(batch, tokens, heads=shape[0], kv_dtype=dtype, **EXPANDED), 0.0
    heads, kv_heads, head_dim, window = shape
    price = priced.attention_decode if operator == "attention_decode" else priced.attention_prefill
    layout = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "window": window}
    value_dim = NARROW.get(head_dim, head_dim)
    return price(batch, tokens, **layout, value_dim=value_dim, kv_dtype=dtype), 0.0


def _experts(priced: Kernels, dtype: str, shape: Sequence[int], tokens: Any) -> tuple[Any, Any]:
    hidden, intermediate, top_k, experts, expert_tensor, expert = shape
    gated = (hidden, intermediate) not in UNGATED
    price = priced.experts(
        tokens,
        hidden=hidden,
        intermediate=intermediate,
        top_k=top_k,
        experts=experts,
        expert=expert,
        expert_tensor=expert_tensor,
        dtype=dtype,
        gated=gated,
    )
    layout = Grouped(hidden, intermediate, top_k, experts, expert_tensor, expert, gated)
    task = experts_work(tokens, layout, dtype, priced.chip.peak, "power_law_1.01")
    return price, roofline(task, priced.chip)


def sample(folder: Path, most: int) -> Iterator[pl.DataFrame]:
    """At most `most` points of each raw table, the same ones every time."""
    for table in kernel_table.tables(folder):
        for _, part in table.group_by(KEYS, maintain_order=True):
            yield part.sample(min(most, part.height), seed=0)

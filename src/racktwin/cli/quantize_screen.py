"""The screens of `racktwin quantize`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from racktwin.checkpoints.answer import kept_by_reason
from racktwin.checkpoints.comparison import Comparison, by_layer, whole
from racktwin.checkpoints.conversion import Conversion
from racktwin.checkpoints.inspection import Inspection
from racktwin.checkpoints.selection import Selection
from racktwin.cli.console import table
from racktwin.numerics.deviation import Deviation
from racktwin.units import Bytes

MOST = 8  # rows of tables that could go on for ever
FIGURES = ("RMS error", "SNR", "clipped")


def written(found: Conversion, source: str, target: str) -> Iterator[RenderableType]:
    """What was written, what stayed, and what it cost."""
    scales = "weights and activation scales" if found.with_input else "weights only"
    yield Text(f"{source} in NVFP4", style="bold")
    yield f"{found.layout.name} layout, {scales}, block scales by {_calibration(found.calibration)}"
    yield ""
    chosen, total = found.selection, whole(found.deviations)
    yield f"quantized     {len(chosen.chosen):,} linear weights, {total.count:,} values"
    yield f"as they were  {_kept(chosen)}"
    if found.widened:
        yield f"              {found.widened:,} of them from block-scaled FP8 to bf16"
    yield f"size          {Bytes(found.read)} -> {Bytes(found.written)}"
    yield ""
    yield _errors("layer", by_layer(found.deviations))
    worst = max(found.deviations.items(), key=lambda each: each[1].error, default=None)
    if worst is not None:
        yield f"worst weight: {worst[0]}, {worst[1].error:.2%}"
    again = f", {found.resumed} of them were there" if found.resumed else ""
    shards = f"{found.shards} shard{'s' if found.shards > 1 else ''}{again}"
    yield f"wrote {target}: {shards}, {len(found.companions)} files beside"


def _calibration(name: str) -> str:
    return {"max": "the largest value", "mse": "least squared error"}[name]


def _kept(chosen: Selection) -> str:
    reasons = sorted(kept_by_reason(chosen).items())
    return ", ".join(f"{count:,} {reason}" for reason, count in reasons) or "no matrices"


def _errors(head: str, rows: Mapping[str, Deviation]) -> RenderableType:
    """Errors by row, the worst where there are many, and their sum."""
    made = table(head, *FIGURES, right=FIGURES)
    shown = dict(rows)
    if len(shown) > 2 * MOST:
        worst = sorted(shown, key=lambda name: -shown[name].error)[:MOST]
        shown = {name: each for name, each in rows.items() if name in worst}
    for name, each in shown.items():
        made.add_row(name or "other", *_figures(each))
    label = "all" if len(shown) == len(rows) else f"all {len(rows)}"
    made.add_row(label, *_figures(whole(dict(rows))))
    return made


def _figures(each: Deviation) -> tuple[str, str, str]:
    snr = f"{each.snr:.1f} dB" if each.error else "exact"
    return f"{each.error:.2%}", snr, f"{each.clipped_share:.2%}"


def inspected(found: Inspection, source: str) -> Iterator[RenderableType]:
    """What a checkpoint holds, its faults, its errors."""
    yield Text(f"{source}", style="bold")
    files = f"{found.files} file{'s' if found.files > 1 else ''}"
    settings = ", ".join(f"{key} {value}" for key, value in found.settings.items())
    yield f"{files}, {Bytes(found.bytes)}" + (f"; config: {settings}" if settings else "")
    yield ""
    figures = ("tensors", "values", "bytes", "bits a value")
    made = table("tensors of", "stored as", *figures, right=figures)
    for each in found.kinds:
        bits = f"{8 * each.bytes / each.values:.2f}" if each.values else ""
        made.add_row(each.use, each.format, f"{each.tensors:,}", f"{each.values:,}",
                     f"{Bytes(each.bytes)}", bits)  # fmt: skip
    yield made
    if found.deviations is not None:
        yield ""
        yield _errors("layer, against the reference", by_layer(found.deviations))
    if found.faults:
        yield ""
        yield Text(f"unfit: {len(found.faults):,} faults", style="bold yellow")
    for fault in found.faults[:MOST]:
        yield f"  {fault}"
    if len(found.faults) > MOST:
        yield f"  and {len(found.faults) - MOST:,} more"


def compared(found: Comparison, cosines: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Formats side by side."""
    count = whole(next(iter(found.deviations.values()))).count
    yield f"{len(found.selection.chosen):,} linear weights, {count:,} values, " \
          f"block scales by {_calibration(found.calibration)}"  # fmt: skip
    yield ""
    columns = ("bits a value", *FIGURES, "worst weight")
    more = ("cosine of outputs", "least") if cosines else ()
    made = table("format", *columns, *more, right=(*columns, *more))
    for name, seen in found.deviations.items():
        total, worst = whole(seen), max(each.error for each in seen.values())
        cells = [f"{8 * found.bytes[name] / count:.3f}", *_figures(total), f"{worst:.2%}"]
        if name in cosines:
            each = np.asarray(cosines[name])
            cells += [f"{each.mean():.4f}", f"{each.min():.4f}"]
        made.add_row(name, *cells)
    yield made
    yield ""
    layers = {name: by_layer(seen) for name, seen in found.deviations.items()}
    made = table("RMS error by layer", *layers, right=tuple(layers))
    rows = list(next(iter(layers.values())))
    first = layers[next(iter(layers))]
    shown = rows if len(rows) <= 2 * MOST else sorted(rows, key=lambda e: -first[e].error)[:MOST]
    for row in (each for each in rows if each in shown):
        made.add_row(row or "other", *(f"{each[row].error:.2%}" for each in layers.values()))
    yield made
    if len(shown) < len(rows):
        yield f"the {len(shown)} worst of {len(rows)} layers; all are in --json and --report"
    yield f"left out: {_kept(found.selection)}"

"""The answers of `racktwin quantize` as plain data (schema racktwin/quantize/1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from racktwin.checkpoints.comparison import Comparison, by_layer, whole
from racktwin.checkpoints.conversion import Conversion
from racktwin.checkpoints.inspection import Inspection
from racktwin.checkpoints.selection import Selection
from racktwin.numerics.deviation import Deviation


def written(found: Conversion) -> dict[str, Any]:
    """Of a checkpoint that was written."""
    return {
        "did": "wrote",
        "layout": found.layout.name,
        "calibration": found.calibration,
        "activation_scales": found.with_input,
        "bytes_in": found.read,
        "bytes_out": found.written,
        "shards": found.shards,
        "resumed": found.resumed,
        "widened": found.widened,
        "kept": _kept(found.selection),
        "files": list(found.companions),
        "errors": [_errors("nvfp4", found.deviations)],
    }


def inspected(found: Inspection) -> dict[str, Any]:
    """Of a checkpoint that was looked at."""
    seen = found.deviations
    return {
        "did": "inspected",
        "bytes_in": found.bytes,
        "shards": found.files,
        "settings": [{"key": key, "value": value} for key, value in found.settings.items()],
        "kinds": [msgspec.to_builtins(each) for each in found.kinds],
        "faults": [{"tensor": each.key, "message": each.message} for each in found.faults],
        "errors": [] if seen is None else [_errors("stored", seen)],
    }


def compared(found: Comparison, cosines: Mapping[str, Any]) -> dict[str, Any]:
    """Of formats side by side. cosines: of sentence vectors, by format."""
    each = {name: [float(e) for e in np.asarray(values)] for name, values in cosines.items()}
    return {
        "did": "compared",
        "calibration": found.calibration,
        "kept": _kept(found.selection),
        "errors": [
            _errors(name, seen) | {"bytes": found.bytes[name], "cosines": each.get(name, [])}
            for name, seen in found.deviations.items()
        ],
    }


def _kept(chosen: Selection) -> list[dict[str, str]]:
    return [{"module": name, "reason": reason} for name, reason in chosen.kept.items()]


def _errors(name: str, seen: Mapping[str, Deviation]) -> dict[str, Any]:
    every = dict(seen)
    return {
        "format": name,
        "all": _error(whole(every)),
        "layers": [{"layer": n or "other", **_error(e)} for n, e in by_layer(every).items()],
        "weights": [{"module": n, **_error(whole({n: e}))} for n, e in every.items()],
    }


def _error(each: Deviation) -> dict[str, Any]:
    return {
        "values": each.count,
        "error": each.error,
        "snr_db": each.snr if each.error else None,
        "clipped": each.clipped_share,
        "scales": [{"power": p, "blocks": n} for p, n in sorted(each.powers.items())],
        "worst": [msgspec.to_builtins(block) for block in each.worst],
    }


def kept_by_reason(chosen: Selection) -> dict[str, int]:
    """Why matrices stay as they were -> how many."""
    counts: dict[str, int] = {}
    for reason in chosen.kept.values():
        counts[reason] = counts.get(reason, 0) + 1
    return counts

"""Scales of activations, one for each quantized module, from a file: they are never invented."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from racktwin.checkpoints.checkpoint import read_json
from racktwin.checkpoints.shard import Shard
from racktwin.finding import BadInput, Finding, nearest

ENDING = ".input_scale"
SHOWN = 8


def read_input_scales(path: Path, modules: Iterable[str]) -> dict[str, np.float32]:
    """Module -> its '.input_scale': largest activation / (6 x 448), for exactly `modules`.

    path: a JSON object, or a safetensors file of single numbers. BadInput with every fault.
    """
    if not path.is_file():
        raise BadInput([Finding("--input-scales", f"{path}: no such file")], "quantize")
    given = _safetensors(path) if path.suffix == ".safetensors" else read_json(path)
    wanted = list(modules)
    known = {name.removesuffix(ENDING): value for name, value in given.items()}
    faults, scales = [], {}
    for name in wanted:
        if name not in known:
            faults.append(Finding(name + ENDING, "is missing"))
            continue
        value = known.pop(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        with np.errstate(over="ignore", under="ignore"):
            scale = np.float32(value) if number and abs(value) < 1 << 130 else np.float32(np.nan)
        if 0 < scale < np.inf:
            scales[name] = scale
        else:
            text = f"expected a positive number, found {str(value)[:40]}"
            faults.append(Finding(name + ENDING, text))
    for name in known:
        close = nearest(name, wanted)
        hint = f"; did you mean {close!r}?" if close else ""
        faults.append(Finding(name, f"is no quantized module{hint}"))
    if faults:
        more = len(faults) - SHOWN
        tail = [Finding("--input-scales", f"and {more:,} more faults")] if more > 0 else []
        raise BadInput([*faults[:SHOWN], *tail], str(path))
    return scales


def _safetensors(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with Shard(path) as shard:
        for name in shard.header.entries:
            values = shard.rows(name).reshape(-1)
            found[name] = float(values[0]) if values.size == 1 else f"{values.size} numbers"
    return found

"""The error of several formats on the same weights, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.pieces import largest_of, pieces
from racktwin.checkpoints.recognition import recognise, refuse_faults
from racktwin.checkpoints.selection import Selection, select
from racktwin.checkpoints.weight import Weight, values
from racktwin.finding import BadInput, Finding, unknown
from racktwin.numerics.deviation import Deviation, deviation
from racktwin.numerics.options import CALIBRATIONS
from racktwin.numerics.quantization import Calibration, quantize, quantize_rows, tensor_scale_of
from racktwin.numerics.recipe import RECIPES

LAYER = re.compile(r"\.(\d+)\.")


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """deviations: format -> module -> error. bytes: format -> of the chosen weights."""

    selection: Selection
    calibration: str
    deviations: dict[str, dict[str, Deviation]]
    bytes: dict[str, int]


def compare(
    found: Checkpoint,
    formats: Sequence[str],
    exclude: Sequence[str] = (),
    calibration: Calibration = "max",
    tell: Callable[[int, int, str], None] = lambda done, of, what: None,
) -> Comparison:
    """The error of every weight that would be quantized, in each of `formats`."""
    wrong = [unknown("--compare", name, RECIPES) for name in formats if name not in RECIPES]
    if calibration not in CALIBRATIONS:
        wrong.append(unknown("--calibration", calibration, CALIBRATIONS))
    if len(set(formats)) < len(formats):
        wrong.append(Finding("--compare", "names a format twice"))
    if wrong:
        raise BadInput(wrong, "quantize")
    held = recognise(found)
    refuse_faults(found, held)
    narrow = [RECIPES[name] for name in formats if RECIPES[name].scale != "float32"]
    wide = max((each.block[1] for each in narrow), default=1)
    chosen = select(held, exclude, wide, str(found.path))
    seen: dict[str, dict[str, Deviation]] = {name: {} for name in formats}
    size = dict.fromkeys(formats, 0)
    for place, (module, weight) in enumerate(chosen.chosen.items()):
        tell(place, len(chosen.chosen), module)
        for name in formats:
            seen[name][module] = _deviation(found, weight, name, calibration, chosen)
            size[name] += RECIPES[name].bytes(weight.shape[0], weight.shape[1])
    return Comparison(selection=chosen, calibration=calibration, deviations=seen, bytes=size)


def _deviation(
    found: Checkpoint, weight: Weight, name: str, calibration: Calibration, chosen: Selection
) -> Deviation:
    """Piece by piece; formats of one scale for the tensor see all of it at once."""
    total = Deviation()
    whole = np.float32(1)
    if RECIPES[name].tensor_scale:
        mates = [chosen.chosen[each] for each in chosen.mates[weight.module]]
        most = largest_of(found, mates)
        whole = tensor_scale_of(most) if most else whole
    parts = pieces(weight) if RECIPES[name].block[0] else [(0, weight.shape[0])]
    for begin, end in parts:
        piece = np.ascontiguousarray(values(found, weight, begin, end), np.float32)
        if RECIPES[name].tensor_scale:
            made = quantize_rows(piece, whole, calibration)
        else:
            made = quantize(piece, name, calibration=calibration)
        total.add(deviation(piece, made, begin))
    return total


def by_layer(seen: dict[str, Deviation]) -> dict[str, Deviation]:
    """Sums of the weights of each layer, by the first number in their names; '' for the others."""
    layers: dict[str, Deviation] = {}
    for module, each in seen.items():
        match = LAYER.search(module)
        layers.setdefault(match[1] if match else "", Deviation()).add(each, module)
    return dict(sorted(layers.items(), key=lambda pair: (pair[0] == "", int(pair[0] or 0))))


def whole(seen: dict[str, Deviation]) -> Deviation:
    """The sum over all weights."""
    total = Deviation()
    for module, each in seen.items():
        total.add(each, module)
    return total

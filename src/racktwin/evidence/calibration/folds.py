"""Constants fitted without one fold of the published curves: data/folds.yaml.

So that a published row can be predicted by what never saw it. Written by tools/calibrate.py.
"""

from __future__ import annotations

from functools import cache
from zlib import crc32

import msgspec

from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch
from racktwin.evidence import data
from racktwin.evidence.error import fold


class Folds(msgspec.Struct, frozen=True):
    """count: of folds; constants: their names; curves: marks of those that were fitted.

    values: any unit, of the constants by epoch, one mapping for each fold.
    """

    count: int
    constants: tuple[str, ...]
    curves: frozenset[str]
    values: tuple[dict[str, tuple[float, ...]], ...]


@cache
def folds() -> Folds:
    """What ships."""
    return msgspec.convert(data.load("folds"), Folds)


def mark(curve: str) -> str:
    """A curve in eight letters."""
    return f"{crc32(curve.encode()):08x}"


def held(curve: str) -> int | None:
    """The fold of a curve that constants were fitted to; None for a curve they never saw."""
    known = folds()
    return fold(curve, known.count) if mark(curve) in known.curves else None


@cache
def without(number: int, name: str) -> Epoch:
    """The epoch `name` with constants fitted without fold `number`."""
    known = folds()
    values = known.values[number].get(name)
    if values is None:
        return epoch(name)
    return msgspec.structs.replace(epoch(name), **dict(zip(known.constants, values, strict=True)))

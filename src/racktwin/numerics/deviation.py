"""How far a narrow format lies from the values it stands for, gathered piece by piece."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin.numerics.compiled import compiled
from racktwin.numerics.quantized import Quantized

Floats = npt.NDArray[np.float32]
WORST = 3  # blocks that are remembered


class Block(msgspec.Struct, frozen=True):
    """A block of a weight: row, block along it, relative error, a ratio; its module in sums."""

    row: int
    block: int
    error: float
    module: str = ""


class Deviation(msgspec.Struct, kw_only=True):
    """Sums over the values seen so far, any unit; relative figures come from them.

    clipped: values beyond the largest element of their block. powers: how many blocks have a scale,
    tensor scale included, between a power of two and the next, by its exponent. worst: blocks of
    the largest relative error, the worst first.
    """

    count: int = 0
    squares: float = 0.0
    off: float = 0.0
    clipped: int = 0
    powers: dict[int, int] = {}
    worst: list[Block] = []

    @property
    def error(self) -> float:
        """Root of the mean square of the error over that of the values, a ratio."""
        return math.sqrt(self.off / self.squares) if self.squares else 0.0

    @property
    def snr(self) -> float:
        """Signal over noise, a ratio in decibels (10 log10); infinite without an error."""
        return -20 * math.log10(self.error) if self.error else math.inf

    @property
    def clipped_share(self) -> float:
        """Share of the values that are clipped."""
        return self.clipped / self.count if self.count else 0.0

    def add(self, other: Deviation, module: str = "") -> None:
        """Take in what another one saw, of `module` where this is a sum of several."""
        self.count += other.count
        self.squares += other.squares
        self.off += other.off
        self.clipped += other.clipped
        for power, count in other.powers.items():
            self.powers[power] = self.powers.get(power, 0) + count
        named = [
            msgspec.structs.replace(each, module=module or each.module) for each in other.worst
        ]
        self.worst = sorted([*self.worst, *named], key=lambda each: -each.error)[:WORST]


@compiled
def block_sums(
    values: Floats, back: Floats, reach: Floats, tall: int, wide: int, noise: Any, power: Any
) -> int:
    """Squares of the error and of the values of each block, any unit; values beyond `reach`.

    back: what the format made of `values`; noise, power: start as zeros.
    """
    clipped = 0
    rows, columns = values.shape
    for row in range(rows):
        for block in range(reach.shape[1]):
            most = reach[row // tall, block]
            off, square = 0.0, 0.0
            for column in range(block * wide, min(columns, block * wide + wide)):
                value = values[row, column]
                error = np.float64(back[row, column] - value)
                off += error * error
                square += np.float64(value) * value
                clipped += abs(value) > most
            noise[row // tall, block] += off
            power[row // tall, block] += square
    return clipped


def difference(values: Floats, back: Floats) -> Deviation:
    """Of values and back, what stands for them (any unit), in a format without known blocks."""
    off = np.asarray(back, np.float64) - values
    return Deviation(
        count=values.size,
        squares=float(np.square(values, dtype=np.float64).sum()),
        off=float(np.square(off).sum()),
    )


def deviation(values: Floats, found: Quantized, first: int = 0) -> Deviation:
    """Of a matrix `values` (any unit) in the format it was quantized to.

    first: index of its first row in the whole tensor.
    """
    made = found.recipe
    if not values.size:
        return Deviation()
    scales = found.scales.astype(np.float32).reshape(-1, found.scales.shape[-1])
    reach = scales * np.float32(found.tensor_scale or 1) * np.float32(made.largest)
    reach = reach.reshape(-1, made.blocks(*values.shape)[1])
    noise, power = np.zeros(reach.shape), np.zeros(reach.shape)
    tall, wide = made.block[0] or len(values), made.block[1] or values.shape[1]
    seen = Deviation(count=values.size)
    seen.clipped = block_sums(values, found.dequantize(), reach, tall, wide, noise, power)
    seen.squares, seen.off = float(power.sum()), float(noise.sum())
    powers, blocks = np.unique(np.frexp(reach[reach > 0] / made.largest)[1] - 1, return_counts=True)
    seen.powers = {int(each): int(count) for each, count in zip(powers, blocks, strict=True)}
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(power > 0, noise / power, 0).reshape(-1)
    few = min(WORST, ratio.size)
    worst = np.argpartition(ratio, -few)[-few:]
    worst = worst[np.argsort(ratio[worst])[::-1]]
    across = noise.shape[1]
    seen.worst = [
        Block(first + int(at) // across * tall, int(at) % across, math.sqrt(ratio[at]))
        for at in worst
    ]
    return seen

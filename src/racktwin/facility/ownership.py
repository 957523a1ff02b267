"""What a GPU-hour costs its owner: capital as an annuity, upkeep, electricity, as ranges.

Every figure has a low, a middle and a high (its 80 % interval); they are taken as independent, so
the interval of a cost comes from each figure moved on its own, the moves added as squares.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import msgspec

from racktwin import catalog
from racktwin.estimate import Estimate
from racktwin.hardware import Cluster

HOURS = 8760.0  # of a year
EVIDENCE = "ranges of catalog/defaults/ownership.yaml, taken as independent"
Range = tuple[float, ...]


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """Low, middle, high. racks: $ 1e6 by chip; per_gpu: $ 1e3; building: $ 1e6 for 1e6 W of IT.

    fabric: share of the racks' price; interest, upkeep: share of the capital in a year; use: share
    of the hours, 0..1. years, building_years: count.
    """

    name: str
    title: str
    racks: dict[str, Range]
    per_gpu: Range
    fabric: Range
    building: Range
    years: Range
    building_years: Range
    interest: Range
    upkeep: Range
    use: Range


@functools.cache
def ownership() -> Ownership:
    """As the catalog has it."""
    return catalog.load("defaults", "ownership").build(Ownership)


class Owned(msgspec.Struct, frozen=True):
    """Of one GPU, each with an interval. racks, building, upkeep, electricity: $/GPU/h; all: sum.

    rack: capital of a rack with its share of fabric and building, $.
    """

    rack: Estimate
    racks: Estimate
    building: Estimate
    upkeep: Estimate
    electricity: Estimate
    all: Estimate


def annuity(interest: float, years: float) -> float:
    """Share of a capital to pay in each of `years` years at an interest (fraction)."""
    if not interest:
        return 1 / years
    return interest / -math.expm1(-years * math.log1p(interest))


def spread(cost: Callable[[dict[str, float]], float], ranges: dict[str, Range]) -> Estimate:
    """A cost (any unit) at the middles, with the moves of each figure (any unit) as squares."""
    middle = {name: row[1] for name, row in ranges.items()}
    at = cost(middle)
    down = up = 0.0
    for name, (low, _, high) in ranges.items():
        moves = [cost({**middle, name: value}) - at for value in (low, high)]
        down += min(0.0, *moves) ** 2
        up += max(0.0, *moves) ** 2
    return Estimate(at, at - math.sqrt(down), at + math.sqrt(up), "$", EVIDENCE)


def owned(cluster: Cluster, watts: float, pue: float, tariff: float) -> Owned:
    """The cost of a cluster's GPU. watts: W of IT for each GPU on average; tariff: $/kWh; pue: 1.

    A GPU-hour is one at work: idle hours are paid by those.
    """
    known = ownership()
    own = known.racks.get(cluster.chip.name)
    size = cluster.gpus_per_rack
    price = own or tuple(each * size / 1e3 for each in known.per_gpu)
    ranges: dict[str, Range] = {
        "price": price,
        **{
            name: getattr(known, name)
            for name in (
                "fabric",
                "building",
                "years",
                "building_years",
                "interest",
                "upkeep",
                "use",
            )
        },
    }
    megawatts = cluster.power / cluster.gpus * size / 1e6

    def hourly(yearly: float, use: float) -> float:
        return yearly / HOURS / size / use

    def racks(x: dict[str, float]) -> float:
        capital = x["price"] * 1e6 * (1 + x["fabric"])
        return hourly(capital * annuity(x["interest"], x["years"]), x["use"])

    def building(x: dict[str, float]) -> float:
        capital = x["building"] * 1e6 * megawatts
        return hourly(capital * annuity(x["interest"], x["building_years"]), x["use"])

    def capital(x: dict[str, float]) -> float:
        return x["price"] * 1e6 * (1 + x["fabric"]) + x["building"] * 1e6 * megawatts

    def upkeep(x: dict[str, float]) -> float:
        return hourly(capital(x) * x["upkeep"], x["use"])

    def electricity(_: dict[str, float]) -> float:
        return watts / 1e3 * pue * tariff

    def everything(x: dict[str, float]) -> float:
        return racks(x) + building(x) + upkeep(x) + electricity(x)

    parts = (capital, racks, building, upkeep, electricity, everything)
    return Owned(*(spread(each, ranges) for each in parts))

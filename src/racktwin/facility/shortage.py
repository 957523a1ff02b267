"""What a plant lacks: which element is short, by how much, and when it is worst."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from racktwin.facility.hall import Hall
from racktwin.facility.loop import Steady
from racktwin.units import Celsius, Flow, Pressure, Watts

SHARE = 1e-6  # of a need that counts as nothing


class Shortage(msgspec.Struct, frozen=True):
    """One element. hours: how many of those looked at; text: by how much, in words."""

    element: str
    text: str
    hours: int


def shortages(hall: Hall, found: Steady) -> list[Shortage]:
    """Everything that is short, the heat's way outward."""
    return [*_inside(hall, found), *_outside(hall, found), *_limits(hall, found)]


def _inside(hall: Hall, found: Steady) -> Iterator[Shortage]:
    if hall.loop is None:
        return
    unit, hours = hall.plant.exchange, len(found.supply)
    carried, have = found.heat.liquid + found.pumps, hall.units * unit.capacity
    over = carried > have * (1 + SHARE)
    if over.any():
        most = float(carried.max())
        whole = Watts(most).text(3)
        text = f"{Watts(most - have).text(3)} of {whole} over what {hall.units} carry"
        yield Shortage("exchangers", text, int(over.sum()))
    if hall.flow < hall.asked * (1 - 1e-3):
        drop = hall.loop.drop_at(hall.asked, hall.rack)
        given = hall.pump.head(hall.asked * hall.racks / hall.units)
        text = f"{Flow(hall.flow).text(3)} a rack instead of {Flow(hall.asked).text(3)}: "
        if given < drop:
            lacking = Pressure(drop - max(0.0, given)).text(2)
            text += f"the head is {lacking} short of {Pressure(drop).text(3)}"
        else:
            text += f"{hall.units} give at most {Flow(hall.pump.most).text(4)} each"
        yield Shortage("exchanger pumps", text, hours)


def _outside(hall: Hall, found: Steady) -> Iterator[Shortage]:
    sides = {"air": found.handled, "liquid": found.liquid}
    for name, each in sides.items():
        if each is None or not (lacking := each.lacking > SHARE * (each.cooler + 1.0)).any():
            continue
        at = int(each.lacking.argmax())
        outside = hall.plant.air.plant if name == "air" else hall.plant.liquid
        what = "chillers" if outside.chiller else f"{outside.cooler} coolers, no chillers,"
        text = (
            f"{Watts(float(each.lacking[at])).text(3)} of "
            f"{Watts(float(each.cooler[at] + each.chiller[at])).text(3)} at "
            f"{Celsius(float(each.sink[at])).text(3)} outside"
        )
        yield Shortage(f"{what} of the {name} side", text, int(lacking.sum()))


def _limits(hall: Hall, found: Steady) -> Iterator[Shortage]:
    """Temperatures beyond what the racks are made for."""
    side = hall.plant.air
    pairs = [("hall air", found.air, float(side.supply_most), "class A2")]
    if hall.loop is not None:
        pairs += [
            ("coolant supply", found.supply, float(hall.loop.inlet_most), "the racks' limit"),
            ("coolant return", found.back, float(hall.loop.return_most), "the racks' limit"),
            ("GPU junction", found.junction, float(hall.loop.throttle), "where GPUs throttle"),
        ]
    for element, at, most, why in pairs:
        over = at > most + 1e-6
        if over.any():
            worst = float(np.max(at))
            text = f"{worst - most:.1f} K above {most:g} °C, {why}"
            yield Shortage(element, text, int(over.sum()))

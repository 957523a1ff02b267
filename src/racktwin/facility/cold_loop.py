"""The coolant loop of one liquid-cooled rack: flow, pressure drop, cold plates."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog
from racktwin.facility.coolant import Coolant, coolant
from racktwin.finding import BadInput, Finding
from racktwin.units import Celsius, Flow, Pressure, ThermalResistance, Watts

Floats = NDArray[np.float64]
SHIPPED = "gb300-nvl72"  # the loop of a liquid-cooled rack that has none of its own


class ColdLoop(msgspec.Struct, frozen=True, kw_only=True):
    """What a rack asks of its coolant.

    inlet_least, inlet_most, return_most: °C; flows: m³/s of a rack that draws `rated` W, at the
    inlets in °C; drop: Pa at drop_flow, m³/s. conduction, film: K/W from a GPU's junction to its
    plate and on to the coolant's inlet at drop_flow; film falls with flow to film_power (1).
    target, throttle: °C of the junction; die_heat: J/K of a GPU and its plate; volume: litres.
    """

    title: str
    coolant: str
    inlet_least: Celsius
    inlet_most: Celsius
    return_most: Celsius
    inlets: tuple[float, ...]
    flows: tuple[Flow, ...]
    rated: Watts
    drop: Pressure
    drop_flow: Flow
    conduction: ThermalResistance
    film: ThermalResistance
    film_power: float
    target: Celsius
    throttle: Celsius
    die_heat: float
    volume: float

    @property
    def liquid(self) -> Coolant:
        """The coolant's properties."""
        return coolant(self.coolant)

    def flow(self, inlet: float, rack: float) -> float:
        """m³/s that a rack of `rack` W at its limit asks for at an inlet in °C."""
        asked = np.interp(inlet, self.inlets, [float(each) for each in self.flows])
        return float(asked) * rack / self.rated

    def drop_at(self, flow: float, rack: float) -> float:
        """Pa over a rack of `rack` W at a flow in m³/s: turbulent, with its square."""
        return float(self.drop * (flow / (self.drop_flow * rack / self.rated)) ** 2)

    def resistance(self, flow: Floats | float, rack: float) -> Floats:
        """K/W from a GPU's junction to the coolant's inlet at a rack's flow in m³/s."""
        share = np.asarray(flow) * self.rated / (rack * self.drop_flow)
        return np.asarray(self.conduction + self.film * share**-self.film_power)

    def check_inlet(self, inlet: float) -> None:
        """Refuse an inlet in °C beyond what the rack is made for."""
        if not self.inlet_least <= inlet <= self.inlet_most:
            text = (
                f"{inlet:g} °C is outside the {self.inlet_least} to {self.inlet_most} "
                f"of the {self.title.lower().replace('gb', 'GB').replace('nvl', 'NVL')}"
            )
            raise BadInput([Finding("--inlet", text)], "power")


def cold_loop(rack: str) -> ColdLoop:
    """The loop of a rack by the rack's name."""
    name = rack if rack in catalog.names("loops") else SHIPPED
    return catalog.load("loops", name).build(ColdLoop)

"""Coolants: properties over temperature, as tables that CoolProp wrote."""

from __future__ import annotations

import functools

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog

Floats = NDArray[np.float64]


class Coolant(msgspec.Struct, frozen=True, kw_only=True):
    """A liquid. celsius: °C of the rows; density: kg/m³; heat: J/kg/K; viscosity: Pa s.

    conductivity: W/m/K.
    """

    title: str
    celsius: tuple[float, ...]
    density: tuple[float, ...]
    heat: tuple[float, ...]
    viscosity: tuple[float, ...]
    conductivity: tuple[float, ...]

    def capacity(self, temperature: Floats | float) -> Floats:
        """Heat that a volume takes up for each kelvin, J/m³/K, at a temperature in °C."""
        density = np.interp(temperature, self.celsius, self.density)
        return np.asarray(density * np.interp(temperature, self.celsius, self.heat))


@functools.cache
def coolant(name: str) -> Coolant:
    """A coolant of the catalog by name ('pg25', 'water')."""
    return catalog.load("coolants", name).build(Coolant, ("kind", "source", "note"))

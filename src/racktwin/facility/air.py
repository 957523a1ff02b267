"""Moist air: what thermometers and hygrometers say, turned into one another.

The equations of the ASHRAE Handbook of Fundamentals (2017, chapter 1), over arrays. Temperatures
are in °C, pressures in Pa, humidity is relative, 0..1; `ratio` is kg of water per kg of dry air, 1.
"""

from __future__ import annotations

import functools

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin import catalog

Floats = NDArray[np.float64]
KELVIN = 273.15  # of 0 °C
NEWTON = 12  # iterations; five reach rounding
NUDGE = 1e-4  # K, for a slope


class Air(msgspec.Struct, frozen=True, kw_only=True):
    """Constants of moist air: coefficients (any unit), heats in J/kg/K or J/kg, sea level in Pa."""

    name: str
    title: str
    ice: tuple[float, ...]
    water: tuple[float, ...]
    vapour_ratio: float
    air_heat: float
    vapour_heat: float
    liquid_heat: float
    ice_heat: float
    evaporation: float
    sublimation: float
    sea_level: float
    lapse: float
    lapse_power: float


@functools.cache
def air() -> Air:
    """The constants as the catalog holds them."""
    return catalog.load("defaults", "air").build(Air)


def saturation(temperature: Floats) -> Floats:
    """Pressure of saturated vapour, Pa, at a temperature in °C; over ice below freezing.

    Equations 5 and 6.
    """
    kelvin = temperature + KELVIN
    logs = [
        c[0] / kelvin
        + c[1]
        + kelvin * (c[2] + kelvin * (c[3] + kelvin * (c[4] + kelvin * c[5])))
        + c[6] * np.log(kelvin)
        for c in (air().ice, air().water)
    ]
    return np.asarray(np.exp(np.where(temperature <= 0, *logs)))


def ratio_of(vapour: Floats, pressure: Floats) -> Floats:
    """Humidity ratio at a vapour pressure, Pa (equation 20)."""
    return np.asarray(air().vapour_ratio * vapour / (pressure - vapour))


def humidity_at(dew: Floats, temperature: Floats) -> Floats:
    """Relative humidity, 0..1, of air at a temperature with a dew point, both in °C."""
    return np.asarray(np.minimum(1.0, saturation(dew) / saturation(temperature)))


def pressure_at(altitude: float) -> float:
    """Of the standard atmosphere at an altitude in m, Pa (equation 3)."""
    return float(air().sea_level * (1 - air().lapse * altitude) ** air().lapse_power)


def wet_bulb(temperature: Floats, humidity: Floats, pressure: Floats) -> Floats:
    """Temperature of a wetted thermometer, °C (equations 33 and 35, solved for it); pressure: Pa.

    Newton's steps from the air's temperature down; the equation is monotone in between.
    """
    given = ratio_of(humidity * saturation(temperature), pressure)
    wet = np.array(temperature, dtype=np.float64)
    for _ in range(NEWTON):
        off = _ratio_at(wet, temperature, pressure) - given
        slope = (_ratio_at(wet + NUDGE, temperature, pressure) - given - off) / NUDGE
        wet = wet - off / slope
    return np.minimum(wet, temperature)


def _ratio_at(wet: Floats, temperature: Floats, pressure: Floats) -> Floats:
    """Humidity ratio of air at a temperature whose wet bulb is `wet`, both in °C."""
    known = air()
    full = ratio_of(saturation(wet), pressure)
    frozen = wet <= 0
    latent = np.where(frozen, known.sublimation, known.evaporation)
    own = np.where(frozen, known.ice_heat, known.liquid_heat)
    taken = (latent - (own - known.vapour_heat) * wet) * full
    left = latent + known.vapour_heat * temperature - own * wet
    return np.asarray((taken - known.air_heat * (temperature - wet)) / left)

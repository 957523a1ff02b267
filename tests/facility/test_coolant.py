"""Coolant tables against CoolProp 8.0 between their rows."""

from __future__ import annotations

import pytest

from racktwin import catalog
from racktwin.facility.coolant import coolant

# °C -> kg/m³, J/kg/K of INCOMP::APG[0.25] at 3 bar
BETWEEN = {15: (1025.904, 3900.531), 37: (1016.013, 3954.827), 55: (1006.093, 3999.255)}


@pytest.mark.parametrize(("celsius", "known"), BETWEEN.items())
def test_pg25_between_rows(celsius, known):
    density, heat = known
    assert coolant("pg25").capacity(celsius) == pytest.approx(density * heat, rel=1e-3)


def test_glycol_carries_less_than_water():
    for celsius in range(5, 90, 5):
        assert coolant("pg25").capacity(celsius) < coolant("water").capacity(celsius)


def test_every_coolant_is_whole():
    for name in catalog.names("coolants"):
        found = coolant(name)
        rows = (found.density, found.heat, found.viscosity, found.conductivity)
        assert {len(row) for row in rows} == {len(found.celsius)}
        assert list(found.viscosity) == sorted(found.viscosity, reverse=True)

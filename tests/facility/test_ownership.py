"""Annuities, spreads and a GPU-hour by hand."""

from __future__ import annotations

import pytest

from racktwin import catalog, hardware
from racktwin.facility.ownership import annuity, owned, ownership, spread


def test_annuities_of_the_textbook():
    assert annuity(0.08, 5) == pytest.approx(0.250456, abs=1e-6)
    assert annuity(0.0, 4) == 0.25


def test_independent_moves_add_as_squares():
    found = spread(lambda x: x["a"] + x["b"], {"a": (7.0, 10.0, 13.0), "b": (96.0, 100.0, 104.0)})
    assert (found.value, found.low, found.high) == pytest.approx((110, 105, 115))


def test_a_gpu_hour_by_hand():
    """4.9 M$ and 12 % of fabric over 5 years at 8 % (0.250456), 72 GPUs, 75 % of 8,760 hours."""
    cluster = hardware.cluster("azure-nd-gb300-v6")
    found = owned(cluster, 1200.0, 1.15, 0.083)
    hours = 8760 * 72 * 0.75
    racks = 4.9e6 * 1.12 * 0.250456 / hours
    megawatts = cluster.power / 64 / 1e6
    building = 12e6 * megawatts * annuity(0.08, 20) / hours
    upkeep = 0.03 * (4.9e6 * 1.12 + 12e6 * megawatts) / hours
    assert found.racks.value == pytest.approx(racks, rel=1e-5)
    assert found.building.value == pytest.approx(building)
    assert found.upkeep.value == pytest.approx(upkeep)
    assert found.electricity.value == pytest.approx(1.2 * 1.15 * 0.083)
    parts = (found.racks, found.building, found.upkeep, found.electricity)
    assert found.all.value == pytest.approx(sum(each.value for each in parts))
    assert found.all.low < found.all.value < found.all.high


def test_a_negative_price_lowers_the_cost():
    cluster = hardware.cluster("hgx-b200")
    assert owned(cluster, 1000.0, 1.1, -0.01).electricity.value == pytest.approx(-0.011)


def test_ranges_rise():
    known = ownership()
    rows = [getattr(known, name) for name in known.__struct_fields__ if name not in
            ("name", "title", "racks")]  # fmt: skip
    for row in [*rows, *known.racks.values()]:
        assert list(row) == sorted(row)
        assert len(row) == 3
    assert set(known.racks) <= set(catalog.names("chips"))

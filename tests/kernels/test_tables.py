import numpy as np
import pytest

from racktwin import hardware
from racktwin.kernels.tables import tables

CHIPS = ["gb300", "gb200", "b300", "b200", "h200", "h100"]


@pytest.mark.parametrize("name", CHIPS)
def test_the_rooflines_of_the_tables_are_those_of_the_catalog(name: str) -> None:
    chip = hardware.chip(name)
    found = tables(chip.tables)
    assert found is not None, "run tools/distill.py"
    assert found.index.peak == {dtype: float(peak) for dtype, peak in chip.peak.items()}
    assert found.index.bandwidth == float(chip.memory_bandwidth)


@pytest.mark.parametrize("name", CHIPS)
def test_every_table_is_whole(name: str) -> None:
    found = tables(hardware.chip(name).tables)
    assert found is not None
    for each in found.index.tables:
        table = found.get(each)
        assert table is not None
        grids = table.grids
        assert np.isfinite(grids.values).all(), each
        assert (grids.values <= 0).all(), f"{each}: faster than the roofline"
        assert grids.values.shape == (len(table.keys), *(len(axis) for axis in grids.axes))
        assert grids.measured.reshape(len(table.keys), -1).any(axis=1).all(), each
        assert all((np.diff(axis) > 0).all() for axis in grids.axes), each


def test_frameworks_that_are_compared_share_their_axes() -> None:
    for name in CHIPS:
        found = tables(hardware.chip(name).tables)
        assert found is not None
        axes: dict[str, set[tuple[float, ...]]] = {}
        for each, facts in found.index.tables.items():
            operator = each.split(".")[0]
            if operator in ("gemm", "experts", "mla_absorb", "stream"):
                first = list(facts.axes)[-1 if operator == "mla_absorb" else 0]
                axes.setdefault(operator, set()).add(tuple(facts.axes[first]))
        assert {operator: len(each) for operator, each in axes.items()} == dict.fromkeys(axes, 1)


def test_an_unknown_chip_has_none() -> None:
    assert tables("abacus") is None
    assert tables("../tables/gb300") is None

"""Validation of kernel tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from racktwin.evidence.validation import kernels
from racktwin.evidence.validation.point import Validation
from racktwin.evidence.validation.tally import summary
from racktwin.evidence.validation.thinned import left_out, thin
from racktwin.finding import BadInput
from racktwin.hardware import chip
from racktwin.kernels.grid import Grid
from racktwin.kernels.operators import Kernels


@pytest.fixture(scope="module")
def shipped() -> Validation:
    """The sample that ships."""
    return kernels()


def test_a_table_ten_percent_slower_than_ours(tmp_path: Path) -> None:
    priced = Kernels(chip("gb300"), "trtllm")
    sizes = [(m, n, 7168) for m in (1, 100, 5000) for n in (2112, 7168)]
    times = [float(priced.gemm(m, n, k, "nvfp4").seconds) * 1e3 * 1.1 for m, n, k in sizes]
    folder = tmp_path / "gb300"
    folder.mkdir()
    for framework, slower in (("trtllm", 1.0), ("vllm", 3.0)):  # the fastest of both counts
        rows = {axis: [size[i] for size in sizes] for i, axis in enumerate("mnk")}
        table = pl.DataFrame({**rows, "latency": [slower * each for each in times]})
        table = table.with_columns(gemm_dtype=pl.lit("nvfp4"))
        table.write_parquet(folder / f"gemm.{framework}.gemm_perf.parquet")
    (point,) = kernels(tmp_path).points
    assert point.cells["points"] == "6"
    assert float(point.columns["mean"]) == pytest.approx(1 - 1 / 1.1, rel=1e-4)
    assert float(point.columns["bias"]) == pytest.approx(1 / 1.1 - 1, rel=1e-4)


def test_thinned_tables_lack_the_point_they_predict() -> None:
    grid = Grid(
        (np.log([1.0, 2.0, 4.0, 8.0, 16.0]),), -np.array([1.0, 2, 4, 3, 1]), np.ones(5, bool)
    )
    odd, even = thin(grid, 1), thin(grid, 0)
    assert np.exp(odd.axes[0]) == pytest.approx([1, 4, 16])
    assert np.exp(even.axes[0]) == pytest.approx([1, 2, 8, 16])
    assert odd.at(2.0)[0] == pytest.approx(-2.5)  # halfway between 1 and 4 in the logarithm
    assert even.at(4.0)[0] == pytest.approx(-2.5)  # and between 2 and 8
    parity, inside = left_out(grid.axes[0], np.array([1.0, 2.0, 3.0, 4.0, 16.0, 32.0]))
    assert parity.tolist() == [0, 1, -1, 0, 0, -1]
    assert inside.tolist() == [False, True, True, True, False, False]


def test_points_left_out_are_worse_and_as_sure_as_said(shipped: Validation) -> None:
    found = summary(shipped)
    (time,) = found.everything.figures
    assert 10_000 < time.held.count < time.errors.count
    assert time.errors.median < time.held.median < 0.08
    assert 0.75 < time.coverage < 0.85


def test_what_ships_is_near(shipped: Validation) -> None:
    found = summary(shipped)
    (time,) = found.everything.figures
    assert time.errors.count > 10_000
    assert time.errors.mean < 0.08
    assert {each.name for each in found.groups if each.by == "operator"} >= {"gemm", "experts"}


@pytest.mark.parametrize("content", [b"", b"PAR1", b"text"])
def test_folders_that_hold_no_tables_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadInput, match="holds no"):
        kernels(tmp_path)
    with pytest.raises(BadInput, match="no folder"):
        kernels(tmp_path / "none")
    folder = tmp_path / "gb300"
    folder.mkdir()
    (folder / "gemm.trtllm.gemm_perf.parquet").write_bytes(content)
    with pytest.raises(BadInput, match="no table that can be read"):
        kernels(tmp_path)

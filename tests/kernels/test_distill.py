"""tools/distillation: thinning, filling, honest scores, the same bytes every time."""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from racktwin import hardware
from racktwin.kernels.tables import Tables

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from distillation import archive
from distillation.draft import Draft, draft
from distillation.source import Source
from distillation.thinning import common, every


def points() -> pl.DataFrame:
    rows = [
        {"kind": kind, "m": m, "k": k, "seconds": (m * k) ** 0.5 * kind, "roofline": 0.1 * kind}
        for kind in (1, 2)
        for m in (1, 2, 4, 8)
        for k in (1, 10, 100)
        if (m, k) != (8, 100)
    ]
    return pl.DataFrame(rows)


def made() -> Draft:
    return draft("t", points(), ["kind"], {"m": [1, 4, 8], "k": [1, 10, 100]}, "test")


def test_a_power_law_comes_back_exactly_from_the_points_left_out() -> None:
    score = made().score
    assert len(score.errors) == 2 * 3  # m = 2 of both kinds
    assert score.errors.max() < 2e-3  # stored to a thousandth


def test_a_stored_point_is_never_scored() -> None:
    score = made().score
    assert score.kept + len(score.errors) == points().height
    assert score.kept == 2 * 8


def test_a_gap_is_filled_and_marked() -> None:
    table = made().table
    assert np.isfinite(table.grids.values).all()
    assert table.grids.measured.sum(axis=(1, 2)).tolist() == [8, 8]
    assert not table.grids.measured[0, 2, 2]
    assert table.grids.values[0, 2, 2] == table.grids.values[0, 1, 2]  # m = 4 is nearest


def test_times_faster_than_the_roofline_are_capped_but_scored_as_measured() -> None:
    rows = pl.DataFrame({"m": [1, 2, 4], "seconds": [1.0, 0.5, 1.0], "roofline": [1.0, 1.0, 1.0]})
    capped = draft("t", rows, [], {"m": [1, 4]}, "test")
    assert (capped.table.grids.values <= 0).all()
    assert capped.score.errors == pytest.approx([1.0])


def test_thinning_keeps_both_ends() -> None:
    assert every(pl.Series([1, 2, 4, 8, 16, 32]), 2) == [1, 2, 8, 32]
    rows = pl.DataFrame({"n": [1, 1, 2, 2, 3], "k": [1, 2, 1, 2, 1]})
    assert common(rows, "n", "k") == [1, 2]


def test_the_archive_is_the_same_bytes_and_reads_back(tmp_path: Path) -> None:
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    chip = hardware.chip("gb300")
    archive.write(one, [made()], chip)
    archive.write(two, [made()], chip)
    assert one.read_bytes() == two.read_bytes()
    read = Tables("x", np.load(one, allow_pickle=False)).get("t")
    assert read is not None
    assert read.grids.values == pytest.approx(made().table.grids.values)
    assert (read.grids.measured == made().table.grids.measured).all()
    assert read.row(2) == 1
    assert read.row(3) is None


def test_both_layouts_of_the_raw_tables_are_found(tmp_path: Path) -> None:
    table = pl.DataFrame({"m": [1, 2, 3], "latency": [1.0, 0.0, float("nan")]})
    wheel = "core/systems/data/gb300/gemm/sglang/0.5/gemm_perf.parquet"
    for name in ("gb300/gemm.vllm.gemm_perf.parquet", wheel):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(path)
    source = Source(tmp_path, "gb300")
    for framework in ("vllm", "sglang"):
        rows = source.read(framework, "gemm")
        assert rows is not None
        assert rows["seconds"].to_list() == [1e-3]  # zero and NaN are not times
    assert source.read("trtllm", "gemm") is None
    assert Source(tmp_path, "h100_sxm").read("vllm", "gemm") is None


def test_the_newest_version_that_is_whole_is_read_from_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for version, rows in (("1.3.0rc9", 2000), ("1.3.0rc20", 1900), ("1.3.0rc23", 9)):
            content = io.BytesIO()
            latency = np.random.default_rng(rows).uniform(1, 2, rows)
            pl.DataFrame({"latency": latency}).write_parquet(content)
            name = f"core/systems/data/gb300/moe/trtllm/{version}/moe_perf.parquet"
            archive.writestr(name, content.getvalue())
    rows = Source(wheel, "gb300").read("trtllm", "moe")
    assert rows is not None
    assert rows.height == 1900

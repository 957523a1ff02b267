"""An epoch of one's own: it finds what made the points, few of them move it little, it is kept."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from racktwin import catalog
from racktwin.engine.epoch import Epoch
from racktwin.engine.epochs import epoch
from racktwin.evidence.calibration.calibration import TENTH, Calibration, band, calibrate
from racktwin.evidence.calibration.keep import check_name, keep, text
from racktwin.evidence.calibration.own import Own
from racktwin.evidence.calibration.points import read
from racktwin.evidence.confidence import Interval, interval
from racktwin.finding import BadInput

BASE = "vllm-0.18"
COLUMNS = (
    *("gpu_system", "framework", "framework_version", "model", "precision", "mode"),
    *("isl", "osl", "concurrency", "tp_size", "ttft_mean_ms", "tpot_mean_ms"),
)
ROW = dict(
    zip(COLUMNS, ("h200_sxm", "vllm", "0.18.0", "Qwen/Qwen3-32B", "fp8", "agg"), strict=False)
)
LOADS = [(1024, 1024, 1), (1024, 1024, 2), (8192, 1024, 1), (1024, 4096, 4)]
CLIENTS = (1, 8, 64)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without anything of their own."""
    monkeypatch.setenv("RACKTWIN_HOME", str(tmp_path / "home"))


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def made_by(truth: Epoch, path: Path) -> Path:
    """Twelve points that a machine with the constants of `truth` would measure."""
    rows = [
        {**ROW, "isl": f"{i}", "osl": f"{o}", "tp_size": f"{t}", "concurrency": f"{c}"}
        | {"ttft_mean_ms": "100", "tpot_mean_ms": "10"}
        for i, o, t in LOADS
        for c in CLIENTS
    ]
    points = read(write(path, rows))
    found = Own(points.rows, epoch(BASE)).predict(truth)
    for row, one in zip(rows, found, strict=True):
        row |= {"ttft_mean_ms": f"{one.ttft * 1e3:.6g}", "tpot_mean_ms": f"{one.tpot * 1e3:.6g}"}
    return write(path, rows)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points of a machine with gaps of 40 us and matrix products 15 % slower than the tables."""
    truth = msgspec.structs.replace(epoch(BASE), gap=40e-6, gemm=1.15, first_token=0.04)
    return made_by(truth, tmp_path_factory.mktemp("slow") / "points.csv")


@pytest.fixture(scope="module")
def fitted(slow: Path) -> Calibration:
    """The epoch 'mine' of those points."""
    return calibrate(slow, "mine")


def test_points_of_another_machine_are_followed(fitted: Calibration) -> None:
    found = fitted
    assert found.base.name == BASE
    assert 30e-6 < found.epoch.gap < 45e-6
    assert 1.08 < found.epoch.gemm < 1.18
    tpot, ttft, rate = found.scatter
    assert tpot.before.mean > 0.10
    assert tpot.after.mean < 0.02
    assert tpot.left_out.mean < 0.03
    assert ttft.after.mean < ttft.before.mean
    assert rate.after.mean < 0.02
    assert (found.chips, found.models, found.roles) == (("h200",), ("qwen3-32b",), ("aggregated",))
    assert found.held == "4 curves, one at a time"


def test_points_of_the_shipped_machine_move_nothing(tmp_path: Path) -> None:
    found = calibrate(made_by(epoch(BASE), tmp_path / "same.csv"), "same")
    for constant in found.constants:
        shipped, fitted = (getattr(each, constant.name) for each in (found.base, found.epoch))
        assert fitted == pytest.approx(shipped, rel=0.01, abs=constant.step / 20)
    assert found.scatter[0].left_out.mean < 1e-3


def test_band_is_the_spread_of_points_and_of_two_shipped_ones() -> None:
    shipped = [Interval(math.exp(-0.2), math.exp(0.2), "")]
    low, high = band(np.array([math.exp(0.1), math.exp(-0.1), np.nan]), shipped)
    square = (2 * (0.2 / TENTH) ** 2 + 2 * 0.1**2) / 4
    assert math.log(high) == pytest.approx(TENTH * math.sqrt(square))
    assert low * high == pytest.approx(1)
    assert band(np.array([np.nan]), shipped) == pytest.approx((math.exp(-0.2), math.exp(0.2)))


def test_more_points_make_a_narrower_band() -> None:
    shipped = [Interval(0.8, 1.2, "")]
    widths = [band(np.full(count, 1.02), shipped)[1] for count in (4, 12, 100)]
    assert widths == sorted(widths, reverse=True)


def test_what_is_kept_is_an_engine_with_its_own_interval(fitted: Calibration) -> None:
    found = fitted
    path = keep(found, "2026-12-01")
    assert path == catalog.file("epochs", "mine")
    again = epoch("mine")
    assert again.name == "mine"
    assert again.engine == "vllm"
    assert again.gap == pytest.approx(found.epoch.gap, rel=1e-3)
    assert again.balanced == epoch(BASE).balanced
    kind = {"chip": "h200", "engine": "vllm", "role": "aggregated", "epoch": "mine"}
    here = interval("tpot", model="qwen3-32b", **kind)
    tpot = found.scatter[0]
    assert (here.low, here.high) == pytest.approx((tpot.low, tpot.high), rel=1e-3)
    assert here.text.startswith("12 points of mine (80 % of errors within ")
    elsewhere = interval("tpot", model="llama-3.1-70b", **kind)
    shipped = interval("tpot", chip="h200", engine="vllm", role="aggregated", model="llama-3.1-70b")
    assert elsewhere.text.startswith("12 points of mine, none of llama-3.1-70b; ")
    assert elsewhere.low == pytest.approx(min(tpot.low, shipped.low), rel=1e-3)
    assert elsewhere.high >= shipped.high


def test_what_no_point_shows_is_left_to_the_engine_it_extends(fitted: Calibration) -> None:
    """Dense points under vLLM say nothing of recurrent layers or of drafts' hand-over."""
    lines = text(fitted, "2026-11-30").splitlines()
    keys = {line.partition(":")[0] for line in lines}
    assert "gap" in keys
    assert not keys & {"recurrent", "piecewise", "launch_recurrent", "handover"}


def test_a_kept_file_without_its_errors_is_refused(fitted: Calibration) -> None:
    path = keep(fitted, "2026-12-01")
    path.write_text(path.read_text().split("calibrated:")[0])
    with pytest.raises(BadInput, match="fit it anew"):
        interval("tpot", chip="h200", engine="vllm", role="aggregated", epoch="mine")


def test_names(fitted: Calibration) -> None:
    assert not check_name("my-cluster_2.0", replace=False)
    for bad in ("", "A", "../x", "a/b", "x" * 41, "a.yaml", "1x"):
        assert check_name(bad, replace=True), bad
    assert "ships" in check_name("vllm", replace=True)[0].message
    keep(fitted, "2026-12-01")
    assert "is taken" in check_name("mine", replace=False)[0].message
    assert not check_name("mine", replace=True)


def test_what_ships_goes_before_what_a_user_keeps(fitted: Calibration) -> None:
    named = msgspec.structs.replace(fitted.epoch, name="vllm")
    keep(msgspec.structs.replace(fitted, epoch=named), "2026-12-01")
    assert not catalog.is_own("epochs", "vllm")
    assert epoch("vllm").gap == epoch("vllm-0.19").gap


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"RACKTWIN_HOME": "/a/b"}, "/a/b"),
        ({"XDG_DATA_HOME": "/data"}, "/data/racktwin"),
    ],
)
def test_the_users_folder(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RACKTWIN_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert catalog.file("epochs", "x") == Path(folder) / "epochs" / "x.yaml"


def test_every_fault_of_a_table_is_named(slow: Path, tmp_path: Path) -> None:
    with slow.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["tpot_mean_ms"] = "nan"
    rows[1]["ttft_mean_ms"] = "-5"
    rows[2]["tpot_mean_ms"] = "0"
    rows[3]["model"] = "qwen3-33b"
    rows[4]["concurrency"] = "0"
    rows[5]["tpot_mean_ms"] = "1e300"
    with pytest.raises(BadInput) as fault:
        read(write(tmp_path / "bad.csv", rows))
    said = {(each.key, each.line) for each in fault.value.findings}
    assert said == {
        *(("tpot_mean_ms", 2), ("ttft_mean_ms", 3), ("tpot_mean_ms", 4)),
        *(("model", 5), ("concurrency", 6), ("tpot_mean_ms", 7)),
    }


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("tpot_mean_ms", "1e-300", "is no time between 0.001 and 10,000,000 ms"),
        ("ttft_mean_ms", "1e8", "is no time between 0.001 and 10,000,000 ms"),
        ("framework_version", "banana", "'banana' is no release; expected one like '0.18.0'"),
        ("precision", "fp7", "'fp7' is not known; did you mean 'fp8'?"),
        ("tp_size", "0", "'0' is no whole number of 1 or more"),
        ("tp_size", "7", "evenly; use 1, 2, 4, 8, 16, 32 or 64"),
        ("isl", "1024.5", "'1024.5' is no whole number of 1 or more"),
        ("concurrency", "0.5", "is below 1"),
        ("osl", "1", "an answer of one token has no TPOT"),
        ("concurrency", "60000", "are more clients than can be followed, 20,000"),
        ("precision", "fp\x008", "holds a character that is no text"),
        ("isl", "10\x0024", "holds a character that is no text"),
    ],
)
def test_a_fault_of_one_cell(slow: Path, tmp_path: Path, column: str, text: str, said: str) -> None:
    rows = rows_of(slow)
    rows[5][column] = text
    with pytest.raises(BadInput) as fault:
        read(write(tmp_path / "bad.csv", rows))
    assert {(each.key, each.line) for each in fault.value.findings} == {(column, 7)}
    assert any(said in each.message for each in fault.value.findings), fault.value


def test_copies_of_a_row_and_several_releases(slow: Path, tmp_path: Path) -> None:
    rows = rows_of(slow)
    with pytest.raises(BadInput) as fault:
        read(write(tmp_path / "copies.csv", [rows[0]] * 12))
    found = fault.value.findings
    assert [each.line for each in found] == list(range(3, 14))
    assert {each.message for each in found} == {"is a copy of line 2, measured times and all"}
    mixed = [*rows[:4], *({**row, "framework_version": "0.17.0"} for row in rows[4:])]
    with pytest.raises(BadInput, match=r"vllm-0.17 \(8 rows\), vllm-0.18 \(4 rows\): one release"):
        read(write(tmp_path / "mixed.csv", mixed))
    patch = [{**row, "framework_version": "0.18.1"} for row in rows]
    assert read(write(tmp_path / "patch.csv", patch)).base == BASE


def test_a_value_out_of_reach_is_a_finding(slow: Path, tmp_path: Path) -> None:
    rows = rows_of(slow)
    rows[2]["tpot_mean_ms"] = f"{30 * float(rows[2]['tpot_mean_ms']):.6g}"
    rows[6]["ttft_mean_ms"] = f"{float(rows[6]['ttft_mean_ms']) / 1e3:.6g}"
    with pytest.raises(BadInput) as fault:
        calibrate(write(tmp_path / "far.csv", rows), "mine")
    found = [(each.key, each.line) for each in fault.value.findings]
    assert found == [("ttft_mean_ms", 8), ("tpot_mean_ms", 4)]
    assert "times more than predicted, " in fault.value.findings[1].message


def test_too_few_several_engines_and_other_units(slow: Path, tmp_path: Path) -> None:
    with slow.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with pytest.raises(BadInput, match="3 rows with a measured TPOT; at least 4"):
        read(write(tmp_path / "few.csv", rows[:3]))
    blank = [*rows[:3], *({**row, "tpot_mean_ms": ""} for row in rows[3:])]
    with pytest.raises(BadInput, match="3 rows with a measured TPOT, 9 more without"):
        read(write(tmp_path / "blank.csv", blank))
    mixed = [*rows[:5], *({**row, "framework": "sglang"} for row in rows[5:])]
    with pytest.raises(BadInput, match=r"sglang \(7 rows\), vllm \(5 rows\)"):
        read(write(tmp_path / "mixed.csv", mixed))
    seconds = [{**row, "tpot_mean_ms": f"{float(row['tpot_mean_ms']) / 1e3}"} for row in rows]
    with pytest.raises(BadInput, match="are these seconds"):
        calibrate(write(tmp_path / "seconds.csv", seconds), "mine")


def test_points_without_ttft_fit_tpot_only(slow: Path, tmp_path: Path) -> None:
    with slow.open(newline="") as file:
        rows = [{**row, "ttft_mean_ms": ""} for row in csv.DictReader(file)]
    found = calibrate(write(tmp_path / "tpot.csv", rows), "mine")
    assert found.epoch.first_token == found.base.first_token
    assert found.scatter[0].after.mean < 0.02
    assert found.scatter[1].left_out.count == 0

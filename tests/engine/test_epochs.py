"""Engine epochs of the catalog."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from racktwin import catalog
from racktwin.engine import epochs
from racktwin.engine.epoch_check import faults
from racktwin.finding import BadInput
from racktwin.models import model


@pytest.mark.parametrize("name", catalog.names("epochs"))
def test_every_epoch_is_complete_and_plausible(name: str) -> None:
    found = epochs.epoch(name)
    assert 0 <= found.gap < 1e-3
    assert 0 <= found.step_overhead < 0.1
    assert all(0.2 < each < 5 for each in (found.gemm, found.experts, found.communication))
    assert found.name in (name, *epochs.names(found.engine))


@pytest.mark.parametrize("engine", ["trtllm", "sglang", "vllm"])
def test_an_engine_means_its_newest_epoch(engine: str) -> None:
    assert epochs.epoch(engine).name == epochs.names(engine)[0]


@pytest.mark.parametrize(
    ("engine", "version", "date", "name", "exact"),
    [
        ("trtllm", "1.2.0rc6.post3", "", "trtllm-1.2", True),
        ("trtllm", "v1.0.0rc3", "", "trtllm-1.0", True),
        ("trtllm", "0.8.1.post2", "2026-02-03", "trtllm-1.2", True),
        ("trtllm", "", "2025-10-29", "trtllm-1.1", False),
        ("sglang", "0.5.1.post1", "", "sglang-0.5.1", True),
        ("sglang", "nightly-dev-20260402", "2026-04-08", "sglang-0.5.9", False),
        ("vllm", "0.13.2", "", "vllm-0.15", True),
        ("vllm", "0.30", "", "vllm-0.19", False),
        ("vllm", "0.1", "", "vllm-0.11", False),
        ("vllm", "", "", "vllm-0.19", False),
        ("vllm", "", "2020-01-01", "vllm-0.11", False),
    ],
)
def test_versions_belong_to_epochs(
    engine: str, version: str, date: str, name: str, exact: bool
) -> None:
    found = epochs.match(engine, version, date)
    assert found.name == name
    assert (found.how == "") is exact


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(BadInput, match="sglang, trtllm, vllm"):
        epochs.match("tgi")


def test_an_epoch_on_a_chip_with_experts_in_a_format() -> None:
    bare = msgspec.structs.replace(
        epochs.epoch("vllm-0.19"), communication=1.2, hopper=1.5, experts=1.1, mxfp4=0.8
    )
    hopper, blackwell = bare.on("hopper", "mxfp4"), bare.on("blackwell-ultra", "nvfp4")
    assert (hopper.communication, hopper.hopper) == (1.2, 1.5)
    assert hopper.experts == pytest.approx(0.88)
    assert (blackwell.communication, blackwell.hopper, blackwell.experts) == (1.2, 1.0, 1.1)
    assert hopper.on("hopper", "mxfp4") == hopper


def test_host_time_of_a_step_is_that_of_its_layers() -> None:
    """Qwen3.5-397B: 60 layers, of which 45 recurrent; gpt-oss-120b: 36, none."""
    plain = msgspec.structs.replace(
        epochs.epoch("vllm-0.18"), gap=1e-5, piecewise=4e-6, recurrent=3e-5, step_overhead=1e-3
    )
    split = msgspec.structs.replace(plain, split_graphs=True)
    dense, hybrid = (model(name).architecture for name in ("gpt-oss-120b", "qwen3.5-397b"))
    assert plain.host(dense) == pytest.approx(36e-5 + 1e-3)
    assert split.host(dense) == pytest.approx(36 * 1.4e-5 + 1e-3)
    assert plain.host(hybrid) == pytest.approx(60e-5 + 45 * 3e-5 + 1e-3)


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        ("piecewise", -1.0),
        ("recurrent", -1e-3),
        ("launch_recurrent", -0.5),
        ("brief", -1.0),
        ("communication", 0.0),
        ("gap", 1e9),
        ("memory_fraction", 1.7),
        ("max_batch_tokens", 0),
        ("reserved", 2.0),
    ],
)
def test_constants_out_of_range_are_named(constant: str, value: float) -> None:
    wrong = msgspec.structs.replace(epochs.epoch("vllm-0.19"), **{constant: value})
    assert [each.key for each in faults(wrong)] == [constant]


def test_a_family_nobody_knows_gets_the_nearest() -> None:
    wrong = msgspec.structs.replace(epochs.epoch("vllm-0.19"), own_experts=("hoper",))
    (found,) = faults(wrong)
    assert "hopper" in str(found)


def test_an_epoch_of_ones_own_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKTWIN_HOME", str(tmp_path))
    (tmp_path / "epochs").mkdir()
    text = (
        "extends: vllm-0.19\nname: mine\n"
        'piecewise: {value: -1, kind: assumed, source: "a test", date: 2026-11-30}\n'
    )
    (tmp_path / "epochs" / "mine.yaml").write_text(text)
    with pytest.raises(BadInput, match="piecewise"):
        epochs.epoch("mine")

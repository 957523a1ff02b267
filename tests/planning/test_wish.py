"""Questions as they are typed: defaults, and every fault of a bad one."""

from __future__ import annotations

import msgspec
import pytest
from tests.planning.conftest import Asking

from racktwin import hardware
from racktwin.engine.deployment import Speculation
from racktwin.finding import BadInput
from racktwin.models import model
from racktwin.planning.ask import check, checked
from racktwin.planning.wish import Wish, asks, default_precision


def faults(name: str, on: list[str], lengths: tuple[float, float], **wish: object) -> list[str]:
    with pytest.raises(BadInput) as caught:
        asks(name, on, *lengths, Wish(**wish))  # type: ignore[arg-type]
    return [str(each) for each in caught.value.findings]


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"tpot": "20"}, "--tpot: '20' has no unit"),
        ({"tpot": "20 GB"}, "--tpot: '20 GB': 'GB' is not a unit"),
        ({"tpot": "0ms"}, "--tpot: expected a time above 0"),
        ({"ttft": "nan"}, "--ttft: 'nan' is not a number"),
        ({"ttft": "1e400s"}, "--ttft: '1e400s' is not a finite number"),
        ({"ttft": "-1s"}, "--ttft: '-1s' is out of range"),
        ({"gpus": 0}, "--gpus: expected 1 to 4,608, found 0"),
        ({"gpus": 4609}, "--gpus: expected 1 to 4,608, found 4,609"),
        ({"spare": -1}, "--spare: expected 0 to"),
        ({"top": 0}, "--top: expected 1 to"),
        ({"racks": 0}, "--racks: expected a whole number from 1"),
        ({"racks": 1, "nodes": 1}, "give racks or nodes, not both"),
        ({"precision": "nvfp5"}, "--precision: 'nvfp5' is not known; did you mean 'nvfp4'?"),
        ({"kv_dtype": "fp7"}, "--kv-dtype: 'fp7' is not known; did you mean 'fp8'?"),
        ({"engine": "trtlm-1.3"}, "--engine: 'trtlm-1.3' is not known; did you mean 'trtllm-1.3'?"),
        ({"objective": "thruput"}, "--objective: 'thruput' is not known; did you mean"),
        ({"mode": "agregated"}, "--mode: 'agregated' is not known; did you mean 'aggregated'?"),
        ({"prefix_hit": "100%"}, "--prefix-hit: expected 0 to below 1"),
        ({"prefix_hit": "140%"}, "--prefix-hit: '140%' is out of range"),
        ({"mtp": "1:0.8"}, "--mtp: Llama 3.1 8B has no multi-token-prediction layers"),
        ({"mtp": "0.8"}, "--mtp: '0.8' is not drafts:acceptance"),
        ({"mtp": "1:"}, "--mtp: '1:' is not drafts:acceptance"),
        ({"mtp": "3:0.9,0.5"}, "--mtp: has 2 values for 3 drafts"),
        ({"mtp": "2:0.9,x"}, "--mtp: 'x' is not a number"),
        ({"mtp": "1:1.5"}, "--mtp: '1.5' is out of range"),
        ({"price": "free"}, "--price: 'free' is not a number"),
        ({"memory_fraction": "0"}, "--memory-fraction: expected above 0 to 1"),
    ],
)
def test_one_fault_is_one_finding(wish: dict[str, object], says: str) -> None:
    (found,) = faults("llama-3.1-8b", ["hgx-b200"], (2000, 400), **wish)
    assert says in found


@pytest.mark.parametrize(
    ("lengths", "says"),
    [
        ((0, 400), "--input: expected 1 to"),
        ((2000, 1), "--output: expected 2 to"),
        ((float("nan"), 400), "--input: expected 1 to"),
        ((float("inf"), 400), "--input: expected 1 to"),
        ((1e30, 400), "--input: expected 1 to"),
        ((131_000, 400), "more than the 131,072 tokens Llama 3.1 8B is made for"),
    ],
)
def test_lengths_are_bounded(lengths: tuple[float, float], says: str) -> None:
    (found,) = faults("llama-3.1-8b", ["hgx-b200"], lengths)
    assert says in found


def test_all_faults_come_at_once() -> None:
    wish = {"objective": "speed", "mode": "x", "tpot": "20", "engine": "tgi", "top": 0}
    found = faults("lama-3.1-8b", ["hgx-b20", "azure-nd-gb300-v5"], (0, 0), **wish)
    keys = [each.partition(":")[0] for each in found]
    assert keys[:4] == ["MODEL", "--on", "--on", "--engine"]
    assert set(keys[4:]) == {"--tpot", "--input", "--output", "--top", "--objective", "--mode"}
    assert "did you mean 'llama-3.1-8b'" in found[keys.index("MODEL")]
    assert "did you mean 'hgx-b200'" in found[keys.index("--on")]


def test_a_fault_in_a_file_names_the_file(tmp_path: object) -> None:
    (found,) = faults("/nowhere/config.json", ["hgx-b200"], (2000, 400))
    assert "MODEL: /nowhere/config.json: " in found


def test_a_fault_of_two_clusters_is_said_once() -> None:
    assert len(faults("llama-3.1-8b", ["hgx-b200", "hgx-b300"], (2000, 400), top=0)) == 1


def test_what_is_not_said_is_filled_in() -> None:
    (ask,) = asks("deepseek-r1", ["azure-nd-gb300-v6"], 8192, 1024, Wish())
    assert (ask.gpus, ask.precision.name, ask.epoch.engine) == (4608, "nvfp4", "trtllm")
    assert (ask.ttft, ask.tpot, ask.spare, ask.mode) == (None, None, 0, "any")
    assert ask.price == ask.cluster.price > 0
    assert ask.price_note


def test_what_is_said_is_taken() -> None:
    wish = Wish(
        gpus=64, ttft="2s", tpot="15 ms", precision="fp8", kv_dtype="bf16", engine="sglang-0.5.9",
        prefix_hit="40%", mtp="2:0.7", spare=1, price="$2/GPU/h", memory_fraction="0.8", racks=2,
    )  # fmt: skip
    (ask,) = asks("deepseek-r1", ["azure-nd-gb300-v6"], 8192, 1024, wish)
    assert (ask.gpus, ask.cluster.racks, ask.ttft, ask.tpot) == (64, 2, 2.0, pytest.approx(0.015))
    assert (ask.precision.experts, ask.precision.kv) == ("fp8_block", "bf16")
    assert (ask.epoch.name, ask.traffic.prefix_hit) == ("sglang-0.5.9", 0.4)
    assert (ask.speculation.tokens, ask.speculation.acceptance) == (2, 0.7)
    assert (ask.price, ask.price_note, ask.fraction) == (2.0, "given", 0.8)


@pytest.mark.parametrize(
    ("name", "cluster", "expected"),
    [
        ("deepseek-r1", "azure-nd-gb300-v6", "nvfp4"),
        ("llama-3.1-70b", "hgx-b200", "nvfp4"),
        ("llama-3.1-70b", "azure-nd-h100-v5", "fp8"),
        ("gpt-oss-120b", "azure-nd-h100-v5", "mxfp4"),
        ("deepseek-r1", "azure-nd-h200-v5", "fp8_block"),
    ],
)
def test_the_default_precision_is_the_smallest_the_chip_computes_in(
    name: str, cluster: str, expected: str
) -> None:
    assert default_precision(model(name), hardware.cluster(cluster).chip).name == expected


def test_questions_made_in_python_are_checked_too(small: Asking) -> None:
    ask = small()
    assert not check(ask)
    assert checked(ask) is ask
    bad = msgspec.structs.replace(ask, price=float("nan"), gpus=-3, ttft=float("inf"))
    assert [each.key for each in check(bad)] == ["--ttft", "--gpus", "--price"]
    with pytest.raises(BadInput):
        checked(bad)


def test_each_draft_may_have_its_own_acceptance() -> None:
    (ask,) = asks("deepseek-r1", ["azure-nd-gb300-v6"], 8192, 1024, Wish(mtp="3:90%,0.6,0.3"))
    assert ask.speculation == Speculation(3, (0.9, 0.6, 0.3))

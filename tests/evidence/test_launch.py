"""Launch settings of published rows, by hand from the public scripts of their day."""

from __future__ import annotations

import pytest

from racktwin.evidence import sheet
from racktwin.evidence.launch import Launch, launch
from racktwin.evidence.naming import spoken
from racktwin.models.layout import Layout

Row = dict[str, str]

LLAMA = {"model": "meta-llama/Llama-3.1-70B", "framework_version": "", "measured_on": "2025-10-29"}
OSS = {"model": "openai/gpt-oss-120b", "id": "2026_04_06_gpt_oss_120b_1"}
MINIMAX = {"model": "MiniMaxAI/MiniMax-M2.5", "framework": "vllm", "precision": "fp8"}
QWEN = {"model": "Qwen/Qwen3.5-397B-A17B", "framework": "sglang", "framework_version": "0.5.9"}
SGLANG = {"framework": "sglang", "framework_version": "0.5.9", "precision": "fp8"}
H100, H200, B200 = ({"gpu_system": f"{each}_sxm"} for each in ("h100", "h200", "b200"))


@pytest.fixture
def row(published_row: Row) -> Row:
    return published_row


def said(row: Row, *changes: Row, **more: str) -> Launch:
    for change in changes:
        row = {**row, **change}
    return launch(spoken({**row, **more}))


@pytest.mark.parametrize(
    ("changes", "split"),
    [
        ([LLAMA, H200, {"framework": "vllm", "precision": "fp8"}], True),  # 0.10.2's default
        ([LLAMA, B200, {"framework": "vllm", "precision": "fp8"}], False),  # FULL_DECODE_ONLY
        ([LLAMA, H200, {"framework": "trtllm", "precision": "fp8"}], False),
        ([OSS, H100, {"framework": "vllm"}, {"measured_on": "2025-11-02"}], True),
        ([OSS, B200, {"framework": "vllm"}, {"measured_on": "2025-11-02"}], False),
        ([OSS, H100, {"framework": "vllm", "framework_version": "0.11.2"}], False),
        ([OSS, H200, {"framework": "vllm", "framework_version": "0.18.0"}], False),
        ([MINIMAX, H100, {"framework_version": "0.18.0"}], True),
        ([MINIMAX, H200, {"framework_version": "0.18.0"}], False),
        ([MINIMAX, H200, {"framework_version": "0.21.0"}], True),
        ([MINIMAX, B200, {"framework_version": "0.19.0"}], False),
    ],
)
def test_graphs_that_leave_attention_out(row: Row, changes: list[Row], split: bool) -> None:
    assert said({**row, "framework_version": ""}, *changes).split_graphs is split


@pytest.mark.parametrize(
    ("changes", "kv"),
    [
        ([OSS, B200, {"framework": "vllm", "measured_on": "2025-11-02"}], "bf16"),
        ([OSS, B200, {"framework": "vllm", "framework_version": "0.13.0"}], "fp8"),
        ([MINIMAX, B200, {"framework_version": "0.17.0"}], "bf16"),
        ([MINIMAX, B200, {"framework_version": "0.19.0"}], "fp8"),
        ([MINIMAX, H200, {"framework_version": "0.18.0"}], "bf16"),
        ([QWEN, H200, {"precision": "fp8"}], "fp8"),
        ([SGLANG, H200], "bf16"),  # DeepSeek-R1
    ],
)
def test_formats_of_the_cache(row: Row, changes: list[Row], kv: str) -> None:
    assert said({**row, "framework_version": ""}, *changes).kv == kv


def test_memory_flags(row: Row) -> None:
    flags = [
        said(row, MINIMAX, H100, framework_version="0.18.0").fraction,  # 0.90: vLLM's default
        said(row, MINIMAX, H200, framework_version="0.18.0").fraction,
        said(row, MINIMAX, B200, framework_version="0.17.0").fraction,
        said(row, MINIMAX, B200, framework_version="0.19.0").fraction,
        said(row, QWEN, H200, precision="fp8").fraction,
        said(row, QWEN, B200, precision="bf16").fraction,
        said(row, SGLANG, tp_size="8").fraction,
        said(row, SGLANG, tp_size="4").fraction,
        said(row, OSS).fraction,
        said(row, precision="fp8", isl="8192").fraction,
    ]
    assert flags == [0, 0.95, 0.95, 0, 0.8, 0.82, 0.82, 0.95, 0.85, 0.75]


def test_tokens_of_a_step(row: Row) -> None:
    old = {"framework_version": ""}
    fp8 = {"precision": "fp8"}
    budgets = [
        said(row, LLAMA, old, fp8, isl="8192").budget,
        said(row, LLAMA, old, isl="8192").budget,  # the longest sequence
        said(row, LLAMA, old, H200, fp8).budget,
        said(row, MINIMAX, framework_version="0.19.0").budget,
        said(row, MINIMAX, framework_version="0.19.0", isl="8192").budget,
        said(row, MINIMAX, framework_version="0.17.0", isl="8192").budget,
        said(row, QWEN, fp8).budget,
        said(row, QWEN, fp8, H200).budget,
        said(row, SGLANG, tp_size="4", isl="8192").budget,
        said(row, SGLANG, tp_size="8", model="deepseek-ai/DeepSeek-V3").budget,
        said(row, SGLANG, tp_size="8").budget,  # with drafts
    ]
    assert budgets == [16384, 9216, 2048, 2048, 16384, 8192, 32768, 16384, 8192, 32768, 16384]


def test_steps_between_two_looks_at_the_queue(row: Row) -> None:
    few, many = {"concurrency": "8"}, {"concurrency": "16"}
    nvfp4, four = {"precision": "fp4"}, {"tp_size": "4", "isl": "8192"}
    fp8 = {"precision": "fp8"}
    changes = [(QWEN, few, fp8), (QWEN, many, fp8), (QWEN, few, nvfp4), (SGLANG, many, four)]
    assert [said(row, *each).polled for each in changes] == [10, 30, 30, 10]
    assert said(row, QWEN, H200, many).polled == 0
    assert said(row, SGLANG, many, model="zai-org/GLM-5").polled == 0


def test_experts_that_lie_whole_whatever_the_label(row: Row) -> None:
    """EP_SIZE -ge 1 in the scripts of March 2026; FP8 blocks of 128 cannot be cut in eight."""
    four = {"tp_size": "4", "moe_tp_size": "4", "moe_ep_size": "1"}
    eight = {"tp_size": "8", "moe_tp_size": "8", "moe_ep_size": "1"}
    layouts = []
    for change in (
        {**four, "framework_version": "0.17.0"},
        {**four, "framework_version": "0.19.0"},
        {**four, **H200, "framework_version": "0.16.0"},
        {**eight, **H200, "framework_version": "0.18.0"},
        {**eight, "framework_version": "0.19.0", "precision": "fp4"},
    ):
        read = sheet.measurement({**row, **MINIMAX, **change})
        assert read.serve is not None
        layouts.append(read.serve.layout)
    assert layouts == [
        Layout(tensor=4, expert=4),
        Layout(tensor=4, expert_tensor=4),
        Layout(tensor=4, expert_tensor=4),
        Layout(tensor=8, expert=8),
        Layout(tensor=8, expert_tensor=8),
    ]


def test_vllm_with_attention_data_parallelism(row: Row) -> None:
    """nvidia-master.yaml of April 2026: nvfp4 at 1024/1024 from 256 clients, not at 8192/1024."""
    two = {"tp_size": "2", "attention_dp_size": "2", "moe_tp_size": "1", "moe_ep_size": "4"}
    change = {**MINIMAX, **two, "precision": "fp4", "framework_version": "0.19.0"}
    found = []
    for isl, clients in (("1024", "128"), ("1024", "256"), ("8192", "256")):
        read = sheet.measurement({**row, **change, "isl": isl, "concurrency": clients})
        assert read.serve is not None
        found.append(read.serve.layout)
    assert found == [
        Layout(tensor=2, expert=2),
        Layout(attention_data=2, expert=2),
        Layout(tensor=2, expert=2),
    ]


def test_attention_data_balance_waits(row: Row) -> None:
    ranks = {"tp_size": "1", "attention_dp_size": "4", "moe_tp_size": "1", "moe_ep_size": "4"}
    assert said(row, ranks).held == 60
    assert said(row, ranks, OSS).held == 50  # TensorRT-LLM's default
    assert said(row, precision="fp8", tp_size="8", concurrency="64").held == 40
    drafts = said(row, precision="fp8", tp_size="8", framework_version="1.2.0rc6.post3")
    assert (drafts.held, drafts.drafts) == (0, 3)


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({**SGLANG, "framework_version": "", "measured_on": "2025-11-10"}, "sglang-0.5.4"),
        ({**SGLANG, "framework_version": "", "measured_on": "2025-11-18"}, "sglang-0.5.6"),
        ({**SGLANG, "framework_version": "", "measured_on": "2025-10-20"}, "sglang-0.5.4"),
        ({"framework_version": "", "measured_on": "2025-10-20"}, "trtllm-1.1"),
        ({**LLAMA, "framework": "vllm"}, "vllm-0.11"),
    ],
)
def test_releases_by_their_day(row: Row, changes: Row, engine: str) -> None:
    assert sheet.measurement({**row, **changes}).engine == engine


def test_later_releases_and_other_models(row: Row) -> None:
    """Scripts of spring 2026, of series that are not in the published table."""
    b300 = {"gpu_system": "b300_sxm", "framework_version": "0.5.10.post1"}
    kimi = {"model": "moonshotai/Kimi-K2.5", "framework": "vllm", "framework_version": "0.17.0"}
    glm = {"model": "zai-org/GLM-5-FP8", "framework": "sglang", "precision": "fp8"}
    found = [
        said(row, QWEN, b300, precision="fp8"),
        said(row, QWEN, b300, precision="fp4"),
        said(row, QWEN, framework_version="0.5.12", precision="fp8"),
        said(row, QWEN, H100, precision="fp8"),
        said(row, kimi, measured_on="2026-03-08"),
        said(row, kimi, measured_on="2026-04-18", isl="8192"),
        said(row, kimi, H200, precision="int4"),
        said(row, glm),
        said(row, glm, H200),
    ]
    assert [(each.kv, each.budget, each.fraction, each.polled) for each in found] == [
        ("fp8", 16384, 0.8, 10),
        ("fp8", 32768, 0.8, 30),
        ("fp8", 16384, 0.8, 30),
        ("fp8", 8192, 0.75, 0),
        ("bf16", 0, 0, 0),
        ("fp8", 16384, 0, 0),
        ("bf16", 0, 0.95, 0),
        ("fp8", 32768, 0, 0),
        ("bf16", 8192, 0, 0),
    ]


def test_llama_8b_under_tensorrt_llm_1_0_had_a_place_less_than_clients(row: Row) -> None:
    llama = {"model": "meta-llama/Llama-3.1-8B-Instruct", "framework_version": "1.0.0rc3"}
    assert said(row, llama, H100).crowded
    assert not said(row, llama, H100, model="Qwen/Qwen3-32B").crowded
    assert not said(row, llama, H100, framework_version="1.1.0").crowded


def test_batches_of_attention_data_ranks_are_no_replicas(row: Row) -> None:
    """Such a label counts the sequences of a rank, also where vLLM's mean TP beside EP."""
    label = {"tp_size": "4", "attention_dp_size": "4", "moe_tp_size": "1", "moe_ep_size": "16"}
    load = {"concurrency": "64", "batch_size": "16"}
    one = sheet.measurement({**row, **MINIMAX, **H100, **label, **load, "framework_version": ""})
    assert one.serve is not None
    assert one.serve.layout == Layout(tensor=4, expert=4)
    assert one.serve.replicas == 1
    whole = {**label, "attention_dp_size": "1", "moe_ep_size": "4"}
    two = sheet.measurement({**row, **MINIMAX, **H100, **whole, **load, "framework_version": ""})
    assert two.serve is not None
    assert two.serve.replicas == 4

"""Formats of weights as public tables call them; what nobody knows is refused."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from racktwin.evidence import completion, data, naming, sheet
from racktwin.evidence.measurement import weights
from racktwin.finding import BadInput, Finding
from racktwin.models.formats import FORMATS


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("int4", "int4_wo", "w4a16_awq", "AWQ", "gptq", "w4a16", "int4_awq"), "int4"),
        (("mxfp4", "w4a16_mxfp4", "w4a8_mxfp4_mxfp8"), "mxfp4"),
        (("int8", "int8_wo", "W8A16", "sq", "w8a8"), "int8"),
        (("FP8", "fp8_static", "fp8_ootb", "fp8-per-tensor", "e4m3"), "fp8"),
        (("fp8_block", "FP8 block", "fp8_pb_wo"), "fp8_block"),
        (("bf16", "bfloat16", "float16", "FP16", "half"), "bf16"),
        (("nvfp4", "fp4", "nvfp4_wo", "w4a16_nvfp4"), "nvfp4"),
    ],
)
def test_words_of_public_tools(
    published_row: dict[str, str], words: tuple[str, ...], meant: str
) -> None:
    row = published_row | {"model": "meta-llama/Llama-3.1-70B", "moe_tp_size": ""}
    for word in words:
        read = sheet.measurement(row | {"precision": word})
        assert (word, read.precision, weights(read).dense) == (word, meant, meant)


@pytest.mark.parametrize("column", naming.FORMATS)
@pytest.mark.parametrize(("word", "near"), [("int3", "int"), ("nvfp5", "nvfp4"), ("?", "known:")])
def test_an_unknown_format_is_refused(
    published_row: dict[str, str], column: str, word: str, near: str
) -> None:
    with pytest.raises(BadInput) as fault:
        sheet.measurement(published_row | {column: word})
    assert [each.key for each in fault.value.findings] == [column]
    assert near in fault.value.findings[0].message


NOTHING = dict.fromkeys(naming.FORMATS, "")


@pytest.mark.parametrize(
    ("model", "stored"),
    [
        ("deepseek-ai/DeepSeek-R1", "fp8_block"),
        ("DeepSeek R1 0528", "fp8_block"),
        ("DeepSeek-R1-0528-FP4-v2", "nvfp4"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "nvfp4"),
        ("moonshotai/Kimi-K2.5", "int4_g32"),
        ("MiniMaxAI/MiniMax-M2.5", "fp8_block"),
        ("openai/gpt-oss-120b", "mxfp4"),
        ("GPT OSS 120B", "mxfp4"),
        ("Qwen/Qwen3-32B", "bf16"),
        ("Qwen3 32B FP8", "fp8"),
        ("meta-llama/Llama-3.1-70B", "bf16"),
    ],
)
def test_with_no_format_said_it_is_the_checkpoints(
    published_row: dict[str, str], model: str, stored: str
) -> None:
    read = sheet.measurement(published_row | NOTHING | {"model": model})
    assert read.precision == stored
    own = weights(read)
    assert stored in {own.experts, own.dense} | {own.dense.partition("_")[0]}
    said = [each for each in read.inferred if each.startswith("precision empty")]
    written = model.endswith("NVFP4") or model.startswith(("openai", "GPT"))
    assert said == ([] if written else [f"precision empty: {stored}, as its checkpoint is"])


def test_experts_alone_in_fp8_are_no_bf16(published_row: dict[str, str]) -> None:
    row = published_row | NOTHING | {"model": "zai-org/GLM-4.5", "moe_quant_mode": "fp8"}
    assert sheet.measurement(row).precision == "fp8"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("NVIDIA GB300", "azure-nd-gb300-v6"),
        ("nvidia gb200 nvl72", "azure-nd-gb200-v6"),
        ("NVIDIA H200", "azure-nd-h200-v5"),
        ("NVIDIA B200", "hgx-b200"),
        ("B300 SXM", "hgx-b300"),
        ("H100 SXM5", "azure-nd-h100-v5"),
        ("NVIDIA H100 80GB HBM3", "azure-nd-h100-v5"),
        ("NVIDIA B300 SXM6 AC", "hgx-b300"),
        ("NVIDIA-H200_SXM", "azure-nd-h200-v5"),
        ("DGX B200", "hgx-b200"),
    ],
)
def test_spellings_of_a_system(published_row: dict[str, str], text: str, where: str) -> None:
    read = completion.measurement(published_row | {"gpu_system": text})
    assert read.cluster == where
    assert any(each.startswith(f"gpu_system {text!r} read as") for each in read.inferred)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("H20O", "did you mean 'h200'?"),
        ("NVIDIA B300 PCI", "did you mean 'b300"),
        ("NVIDIA H200 NVL", "did you mean 'h200"),
        ("MI300X", "known: h100_sxm"),
        ("NVIDIA L40S", "known: h100_sxm"),
    ],
)
def test_a_system_nobody_knows_gets_a_plausible_name(text: str, hint: str) -> None:
    found = naming.system(text)
    assert isinstance(found, Finding)
    assert hint in found.message


@pytest.mark.parametrize("text", ["aggregated", "Aggregate", "AGG", "agg", ""])
def test_modes_in_any_case(published_row: dict[str, str], text: str) -> None:
    assert completion.measurement(published_row | {"mode": text}).aggregated


@pytest.mark.parametrize("text", ["disaggregated", "Disaggregate", "DISAGG"])
def test_pools_of_their_own_in_any_case(published_row: dict[str, str], text: str) -> None:
    pool = {"num_workers": "1", "tp_size": "4", "moe_tp_size": "4"}
    pools = {f"{role}_{k}": v for role in ("prefill", "decode") for k, v in pool.items()}
    read = completion.measurement(published_row | pools | {"mode": text})
    assert not read.aggregated


def test_another_mode_gets_the_words_that_are_allowed(published_row: dict[str, str]) -> None:
    with pytest.raises(BadInput) as fault:
        completion.measurement(published_row | {"mode": "split"})
    (found,) = fault.value.findings
    assert found.key == "mode"
    words = ("agg", "aggregated", "aggregate", "disagg", "disaggregated", "disaggregate")
    assert all(each in found.message for each in words)


def test_a_word_means_one_format_that_has_a_size() -> None:
    formats = data.load("names")["formats"]
    words = Counter(word for listed in formats.values() for word in listed)
    assert set(formats) <= set(FORMATS)
    assert words.most_common(1)[0][1] == 1
    assert all(name in listed for name, listed in formats.items())


@pytest.mark.parametrize(
    ("precision", "gemm", "moe", "expected"),
    [
        ("", "int4_wo", "int4_wo", ("int4", "int4", "int4")),
        ("", "bfloat16", "w4a16_mxfp4", ("bf16", "bf16", "mxfp4")),
        ("bf16", "", "int4_wo", ("int4", "bf16", "int4")),
        ("", "", "int4_wo", ("int4", "bf16", "int4")),
        ("fp8", "fp8", "w4afp8", ("fp8_block", "fp8_block", "int4")),
        ("fp8", "fp8", "fp8_block", ("fp8_block", "fp8_block", "fp8_block")),
    ],
)
def test_experts_may_be_stored_otherwise(
    published_row: dict[str, str],
    precision: str,
    gemm: str,
    moe: str,
    expected: tuple[str, str, str],
) -> None:
    """precision, and what attention and experts of a checkpoint are in."""
    row = published_row | {"model": "Qwen/Qwen3-235B-A22B-FP8", "precision": precision}
    read = sheet.measurement(row | {"gemm_quant_mode": gemm, "moe_quant_mode": moe})
    stored = weights(read)
    assert (read.precision, stored.attention, stored.experts) == expected


def test_a_dense_model_has_no_experts_apart(published_row: dict[str, str]) -> None:
    row = published_row | {"model": "meta-llama/Llama-3.1-70B", "moe_tp_size": ""}
    read = sheet.measurement(row | {"gemm_quant_mode": "nvfp4", "moe_quant_mode": "int4_wo"})
    assert read.parts == ()


def test_the_published_table_reads_as_ever(shared: Path) -> None:
    """Rows by format of the weights; no row names experts apart."""
    with (shared / "truth" / "serving_measured.csv").open() as file:
        rows = list(csv.DictReader(file))
    read = Counter(naming.precision(row)[0] for row in rows)
    assert read == {"fp8_block": 968, "nvfp4": 503, "bf16": 296, "fp8": 365, "mxfp4": 249}
    assert not any(naming.parts(row, moe=True) for row in rows)

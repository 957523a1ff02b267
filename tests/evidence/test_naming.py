"""Formats of weights as public tables call them; what nobody knows is refused."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from racktwin.evidence import data, naming, sheet
from racktwin.evidence.measurement import weights
from racktwin.finding import BadInput
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

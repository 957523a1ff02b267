"""Formats side by side, and what they do to the answers of a small real model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.checkpoints.made import llama, write_folder

from racktwin.checkpoints import Wish, open_checkpoint, quantize_checkpoint
from racktwin.checkpoints.answer import compared
from racktwin.checkpoints.comparison import by_layer, compare, whole
from racktwin.checkpoints.encoder import is_encoder, sentence, similarities
from racktwin.checkpoints.wordpiece import tokens
from racktwin.finding import BadInput
from racktwin.numerics import quantize
from racktwin.numerics.recipe import RECIPES


def test_errors_are_those_of_the_values(tmp_path: Path) -> None:
    tensors = llama()
    with open_checkpoint(write_folder(tmp_path / "in", tensors)) as found:
        answer = compare(found, sorted(RECIPES))
    name = "model.layers.1.self_attn.o_proj"
    plain = tensors[f"{name}.weight"].astype(np.float64)
    for form, seen in answer.deviations.items():
        off = quantize(tensors[f"{name}.weight"], form).dequantize() - plain
        right = np.sqrt((off**2).sum() / (plain**2).sum())
        assert seen[name].error == pytest.approx(right)
        assert seen[name].snr == pytest.approx(-20 * np.log10(right))
        assert list(by_layer(seen)) == ["0", "1"]
        assert whole(seen).count == sum(each.count for each in seen.values())
        weights = [tensors[f"{module}.weight"] for module in seen]
        assert answer.bytes[form] == sum(quantize(each, form).nbytes for each in weights)


def test_worst_blocks_of_a_sum_say_whose_they_are(tmp_path: Path) -> None:
    with open_checkpoint(write_folder(tmp_path / "in", llama())) as found:
        answer = compared(compare(found, ["nvfp4"]), {})
    (errors,) = answer["errors"]
    every = [block for weight in errors["weights"] for block in weight["worst"]]
    for weight in errors["weights"]:
        assert {block["module"] for block in weight["worst"]} == {weight["module"]}
    every.sort(key=lambda block: -block["error"])
    assert errors["all"]["worst"] == every[:3]
    for layer in errors["layers"]:
        own = [block for block in every if f".layers.{layer['layer']}." in block["module"]]
        assert layer["worst"] == own[:3]


def test_wrong_formats_are_refused_together(tmp_path: Path) -> None:
    with open_checkpoint(write_folder(tmp_path / "in", llama())) as found:
        with pytest.raises(BadInput, match="did you mean 'nvfp4'") as caught:
            compare(found, ["nvfp", "fp9", "fp8", "fp8"], calibration="least")  # type: ignore[arg-type]
        assert len(caught.value.findings) == 4
        assert not is_encoder(found)


def test_word_pieces(tmp_path: Path) -> None:
    words = ["[UNK]", "[CLS]", "[SEP]", "cafe", "bi", "##cycle", "!", "bicycles"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    assert tokens("Café bicycle!", tmp_path / "vocab.txt") == [1, 3, 4, 5, 6, 2]
    assert tokens("bicycles bike", tmp_path / "vocab.txt") == [1, 7, 0, 2]


def test_a_real_model_answers_and_formats_order_as_their_errors(minilm: Path) -> None:
    """Sentences of like meaning lie closer; eight bits change less than four."""
    with open_checkpoint(minilm) as found:
        assert is_encoder(found)
        weights = {name: found.rows(name) for name in found.at}
        texts = ("A man plays a guitar.", "Someone is playing an instrument.", "Rain is wet.")
        vectors = [
            sentence(weights, found.config, tokens(text, minilm / "vocab.txt")) for text in texts
        ]
        answer = compare(found, ("nvfp4", "mxfp4", "fp8_block"))
        cosines = similarities(found, list(answer.selection.chosen), list(answer.deviations), "max")
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2] + 0.2
    means = {name: float(each.mean()) for name, each in cosines.items()}
    assert 0.95 < means["mxfp4"] < means["nvfp4"] < means["fp8_block"] < 1
    errors = {name: whole(seen).error for name, seen in answer.deviations.items()}
    assert errors["mxfp4"] > errors["nvfp4"] > errors["fp8_block"]


def test_a_real_model_as_written(minilm: Path, tmp_path: Path) -> None:
    done = quantize_checkpoint(Wish(source=str(minilm), target=str(tmp_path / "out")))
    assert len(done.selection.chosen) == 37  # 6 layers of 6, and the pooler
    assert 0.09 < whole(done.deviations).error < 0.1
    with open_checkpoint(minilm) as found, open_checkpoint(tmp_path / "out") as own:
        name = "encoder.layer.5.output.dense.weight"
        right = quantize(found.rows(name))
        assert np.array_equal(own.rows(name), right.packed)
    assert (tmp_path / "out/1_Pooling/config.json").is_file()

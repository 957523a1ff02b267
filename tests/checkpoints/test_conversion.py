"""Checkpoints written for real: bits, names, configs, resumption, and what is refused."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.checkpoints.made import blob, llama, normal, write_file, write_folder

from racktwin.checkpoints import Wish, conversion, inspect, open_checkpoint, quantize_checkpoint
from racktwin.checkpoints import pieces as pieces_module
from racktwin.checkpoints.recognition import recognise
from racktwin.checkpoints.record import NAME
from racktwin.checkpoints.weight import values
from racktwin.finding import BadInput
from racktwin.models import model
from racktwin.numerics import quantize

MLP = "model.layers.0.mlp.down_proj"
QUERY = "model.layers.1.self_attn.q_proj"


def convert(source: Path, target: Path, **more: Any) -> conversion.Conversion:
    return quantize_checkpoint(Wish(source=str(source), target=str(target), **more))


def stored(folder: Path) -> dict[str, np.ndarray]:
    with open_checkpoint(folder) as found:
        return {name: found.rows(name) for name in found.at}


def digest(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(e.relative_to(folder)): (e.read_bytes(), e.stat().st_mtime_ns) for e in files}


def test_modelopt_layout(tmp_path: Path) -> None:
    tensors = llama()
    source = write_folder(tmp_path / "in", tensors)
    before = digest(source)
    done = convert(source, tmp_path / "out")
    assert digest(source) == before
    found = stored(tmp_path / "out")
    right = quantize(tensors[f"{MLP}.weight"])
    assert np.array_equal(found[f"{MLP}.weight"], right.packed)
    assert found[f"{MLP}.weight_scale"].dtype == ml_dtypes.float8_e4m3fn
    assert np.array_equal(found[f"{MLP}.weight_scale"].view(np.uint8), right.scales.view(np.uint8))
    assert found[f"{MLP}.weight_scale_2"].shape == ()
    assert found[f"{MLP}.weight_scale_2"] == right.tensor_scale
    assert f"{MLP}.input_scale" not in found
    for name in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"):
        assert np.array_equal(found[name], tensors[name])
    assert len(done.selection.chosen) == 14
    assert sorted(done.selection.kept.values()) == ["embedding", "output head"]
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["model_type"] == "llama"
    assert config["quantization_config"]["quant_algo"] == "W4A16_NVFP4"
    beside = json.loads((tmp_path / "out/hf_quant_config.json").read_text())["quantization"]
    assert beside["exclude_modules"] == ["lm_head", "model.embed_tokens"]
    assert beside["group_size"] == 16
    assert (tmp_path / "out/tokenizer.json").read_text() == "{}"
    assert not list((tmp_path / "out").glob("*.part"))
    assert not (tmp_path / "out" / NAME).exists()


def test_compressed_tensors_layout(tmp_path: Path) -> None:
    """One over the tensor scale, in an array of one; the other bits are those of modelopt's."""
    tensors = llama()
    source = write_folder(tmp_path / "in", tensors)
    convert(source, tmp_path / "out", layout="compressed-tensors")
    found = stored(tmp_path / "out")
    right = quantize(tensors[f"{MLP}.weight"])
    assert np.array_equal(found[f"{MLP}.weight_packed"], right.packed)
    whole = found[f"{MLP}.weight_global_scale"]
    assert whole.shape == (1,)
    assert whole[0] == np.float32(1) / right.tensor_scale
    settings = json.loads((tmp_path / "out/config.json").read_text())["quantization_config"]
    assert settings["format"] == "nvfp4-pack-quantized"
    assert settings["config_groups"]["group_0"]["input_activations"] is None
    assert settings["ignore"] == ["lm_head", "model.embed_tokens"]
    assert not (tmp_path / "out/hf_quant_config.json").exists()


def test_layers_multiplied_as_one_share_a_tensor_scale(tmp_path: Path) -> None:
    """Of the largest of q, k and v; gate and up; the largest stands in one of them only."""
    tensors = llama()
    name = "model.layers.1.self_attn.k_proj.weight"
    tensors[name][3, 4] = 40.0
    convert(write_folder(tmp_path / "in", tensors, shards=5), tmp_path / "out")
    found = stored(tmp_path / "out")
    scales = [
        float(found[f"model.layers.1.self_attn.{part}.weight_scale_2"]) for part in
        ("q_proj", "k_proj", "v_proj")
    ]  # fmt: skip
    assert scales == [float(np.float32(40) / np.float32(2688))] * 3
    assert found["model.layers.1.self_attn.o_proj.weight_scale_2"] < 0.01
    right = quantize(tensors[f"{QUERY}.weight"], tensor_scale=scales[0])
    assert np.array_equal(found[f"{QUERY}.weight"], right.packed)


@pytest.mark.parametrize("layout", ["modelopt", "compressed-tensors"])
def test_the_twin_reads_what_was_written(tmp_path: Path, layout: str) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 100, "max_position_embeddings": 128, "torch_dtype": "bfloat16",
    }  # fmt: skip
    convert(write_folder(tmp_path / "in", llama(), config=config), tmp_path / "out", layout=layout)
    precision = model(str(tmp_path / "out/config.json")).precision
    assert (precision.name, precision.attention, precision.head) == ("nvfp4", "nvfp4", "bf16")


def test_shards_keep_their_names_and_an_index(tmp_path: Path) -> None:
    tensors = llama()
    source = write_folder(tmp_path / "in", tensors, shards=3)
    done = convert(source, tmp_path / "out")
    assert done.shards == 3
    index = json.loads((tmp_path / "out/model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(stored(tmp_path / "out"))
    assert index["metadata"]["total_size"] == done.written
    sizes = sum(each.nbytes for each in stored(tmp_path / "out").values())
    assert done.written == sizes


def test_block_scaled_fp8_as_deepseek_ships_it(tmp_path: Path) -> None:
    """300 rows, 3 x 1 scales: the last block is 44 rows. What is excluded becomes bfloat16."""
    codes = normal(300, 64, seed=5).astype(ml_dtypes.float8_e4m3fn)
    scales = np.array([[0.5], [2.0], [0.125]], np.float32)
    plain = codes.astype(np.float32) * np.repeat(scales, 128, 0)[:300]
    other = normal(128, 64, seed=6).astype(ml_dtypes.float8_e4m3fn)
    tensors = {
        "a.down_proj.weight": codes, "a.down_proj.weight_scale_inv": scales,
        "a.o_proj.weight": other, "a.o_proj.weight_scale_inv": np.full((1, 1), 3.0, np.float32),
    }  # fmt: skip
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    source = write_folder(tmp_path / "in", tensors, shards=2, config=config)
    done = convert(source, tmp_path / "out", exclude=("*.o_proj",))
    found = stored(tmp_path / "out")
    assert np.array_equal(found["a.down_proj.weight"], quantize(plain).packed)
    wide = (other.astype(np.float32) * 3).astype(ml_dtypes.bfloat16)
    assert np.array_equal(found["a.o_proj.weight"], wide)
    assert not [name for name in found if name.endswith("scale_inv")]
    assert done.widened == 1
    config = json.loads((tmp_path / "out/config.json").read_text())["quantization_config"]
    assert config["quant_method"] == "modelopt"


def test_fp8_blocks_come_from_the_config_not_from_shapes(tmp_path: Path) -> None:
    """1,000 rows and 8 scale rows: blocks of 128, the last of 104; 1,000 / 8 = 125 is wrong."""
    tensors = {
        "a.weight": normal(1000, 128).astype(ml_dtypes.float8_e4m3fn),
        "a.weight_scale_inv": np.arange(1, 9, dtype=np.float32)[:, None],
    }
    config = {"quantization_config": {"weight_block_size": [128, 128]}}
    with open_checkpoint(write_folder(tmp_path / "in", tensors, config=config)) as found:
        weight = recognise(found).weights["a"]
        got = values(found, weight, 896, 1000)
        assert weight.block == (128, 128)
    assert np.array_equal(got, tensors["a.weight"][896:].astype(np.float32) * 8)
    config["quantization_config"]["weight_block_size"] = [64, 128]
    with pytest.raises(BadInput, match=r"8 x 1 scales; blocks of 64 x 128 .* need 16 x 1"):
        convert(write_folder(tmp_path / "in", tensors, config=config), tmp_path / "out")


def test_a_fused_tensor_has_one_scale_for_all_its_parts(tmp_path: Path) -> None:
    """Rows of q, k and v of a fused qkv_proj come back by its scalar, the last as the first."""
    fused = normal(96, 64)
    fused[80, 5] = 30.0
    source = write_folder(tmp_path / "in", {"a.qkv_proj.weight": fused})
    convert(source, tmp_path / "out")
    right = quantize(fused).dequantize()
    with open_checkpoint(tmp_path / "out") as found:
        weight = recognise(found).weights["a.qkv_proj"]
        for begin in (0, 32, 64):
            part = values(found, weight, begin, begin + 32)
            assert np.array_equal(part, right[begin : begin + 32])


def test_activation_scales_come_from_the_file(tmp_path: Path) -> None:
    tensors = {f"a.{part}_proj.weight": normal(32, 32) for part in ("o", "down")}
    source = write_folder(tmp_path / "in", tensors)
    given = tmp_path / "scales.json"
    given.write_text(json.dumps({"a.o_proj.input_scale": 0.25, "a.down_proj.input_scale": 4}))
    convert(source, tmp_path / "out", input_scales=str(given))
    found = stored(tmp_path / "out")
    assert found["a.o_proj.input_scale"] == np.float32(0.25)
    config = json.loads((tmp_path / "out/config.json").read_text())["quantization_config"]
    assert config["quant_algo"] == "NVFP4"
    scalars = {name.removesuffix(".weight") + ".input_scale": np.float32([0.5]) for name in tensors}
    convert(source, tmp_path / "two", layout="compressed-tensors",
            input_scales=str(write_file(tmp_path / "s.safetensors", scalars)))  # fmt: skip
    assert stored(tmp_path / "two")["a.o_proj.input_global_scale"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a.o_proj.input_scale": 1}', "a.down_proj.input_scale: is missing"),
        ('{"a.o_proj.input_scale": -1, "a.down_proj.input_scale": "x"}', "expected a positive"),
        ('{"a.o_proj.input_scale": 1e300, "a.down_proj.input_scale": 1}', "expected a positive"),
        ('{"a.o_proj": 1, "a.down_proj": 1, "a.up": 1}', "a.up: is no quantized module"),
        ("[]", "is no JSON object"),
        ("{", "is no JSON"),
    ],
)
def test_wrong_activation_scales(tmp_path: Path, text: str, message: str) -> None:
    tensors = {f"a.{part}_proj.weight": normal(32, 32) for part in ("o", "down")}
    given = tmp_path / "scales.json"
    given.write_text(text)
    with pytest.raises(BadInput, match=message):
        convert(write_folder(tmp_path / "in", tensors), tmp_path / "out", input_scales=str(given))
    assert not (tmp_path / "out").exists()


def test_pieces_and_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights in many pieces are the same bits; least error is what quantize gives."""
    monkeypatch.setattr(pieces_module, "PIECE", 512)
    tensors = llama(1)
    source = write_folder(tmp_path / "in", tensors)
    done = convert(source, tmp_path / "out", calibration="mse")
    found = stored(tmp_path / "out")
    weight = tensors[f"{MLP}.weight"]
    right = quantize(weight, calibration="mse")
    assert np.array_equal(found[f"{MLP}.weight"], right.packed)
    off = right.dequantize() - weight.astype(np.float32)
    error = (off.astype(float) ** 2).sum() / (weight.astype(float) ** 2).sum()
    assert done.deviations[MLP].error == pytest.approx(error**0.5)
    assert done.deviations[MLP].count == weight.size


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a full disk: no part file, whole shards kept, and the same bits in the end."""
    source = write_folder(tmp_path / "in", llama(), shards=3)
    convert(source, tmp_path / "right")
    write, calls = os.pwrite, [0]

    def full(file: int, data: Any, place: int) -> int:
        calls[0] += 1
        if calls[0] == 30:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data, place)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(BadInput, match=r"No space left on device; .* run the same command again"):
        convert(source, tmp_path / "out")
    monkeypatch.undo()
    names = {each.name for each in (tmp_path / "out").iterdir()}
    shards = {each for each in names if each.endswith("safetensors")}
    assert 0 < len(shards) < 3
    assert names == shards | {NAME}
    with pytest.raises(BadInput, match="holds shards of another input or other flags"):
        convert(source, tmp_path / "out", calibration="mse")
    done = convert(source, tmp_path / "out")
    assert done.resumed == len(shards)
    assert len(done.deviations) == 14
    left, right = digest(tmp_path / "out"), digest(tmp_path / "right")
    assert {k: v[0] for k, v in left.items()} == {k: v[0] for k, v in right.items()}


def test_an_interrupted_shard_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "quantize_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        convert(write_folder(tmp_path / "in", llama()), tmp_path / "out")
    assert [each.name for each in (tmp_path / "out").iterdir()] == [NAME]


def test_what_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_folder(tmp_path / "in", llama())
    out = tmp_path / "out"
    for target in (source, source / "deep", tmp_path):
        with pytest.raises(BadInput, match="the input is never written to"):
            convert(source, target)
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("mine")
    finished = tmp_path / "finished"
    convert(source, finished)
    with pytest.raises(BadInput, match="exists and holds a checkpoint that is finished"):
        convert(source, finished)
    with pytest.raises(BadInput, match="exists and holds other files"):
        convert(source, other)
    with pytest.raises(BadInput, match="is a file"):
        convert(source, other / "file")
    with pytest.raises(BadInput, match="did you mean 'modelopt'") as caught:
        convert(source, out, layout="modelop", format="mxfp4", calibration="least")
    assert len(caught.value.findings) == 3
    with pytest.raises(BadInput, match=r"'\*.qproj' matches no module"):
        convert(source, out, exclude=("*.qproj",))
    with pytest.raises(BadInput, match="no such file or folder"):
        convert(tmp_path / "nothing", out)
    monkeypatch.setattr(
        conversion.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 1000})
    )
    with pytest.raises(BadInput, match=r"needs .* kB on .*, where 1.* kB are free"):
        convert(source, out)
    assert not out.exists()


def test_shapes_and_values_that_do_not_fit(tmp_path: Path) -> None:
    tensors = {"a.o_proj.weight": normal(8, 40), "a.up_proj.weight": normal(8, 32)}
    source = write_folder(tmp_path / "in", tensors)
    with pytest.raises(BadInput, match=r"a\.o_proj: 40 columns are no multiple of 16; --exclude"):
        convert(source, tmp_path / "out")
    done = convert(source, tmp_path / "out", exclude=("a.o_proj",))
    assert done.selection.kept == {"a.o_proj": "excluded"}
    tensors["a.up_proj.weight"][2, 3] = np.nan
    source = write_folder(tmp_path / "nan", tensors)
    with pytest.raises(BadInput, match=r"a\.up_proj\.weight: 1 values are NaN"):
        convert(source, tmp_path / "two", exclude=("a.o_proj",))


@pytest.mark.parametrize("layout", ["modelopt", "compressed-tensors"])
def test_quantized_input_is_refused(tmp_path: Path, layout: str) -> None:
    source = write_folder(tmp_path / "in", llama())
    convert(source, tmp_path / "once", layout=layout)
    said = r"config.json: says it is quantized already"
    for expected in (said, r"is quantized already \(nvfp4\) and 13 more"):
        with pytest.raises(BadInput, match=expected):
            convert(tmp_path / "once", tmp_path / "twice")
        for name in ("config.json", "hf_quant_config.json"):
            (tmp_path / "once" / name).unlink(missing_ok=True)
    assert not (tmp_path / "twice").exists()


def test_a_single_file_and_tensors_of_zeros(tmp_path: Path) -> None:
    tensors = {"o_proj.weight": np.zeros((4, 32), np.float32), "bias": np.ones(3, np.float32)}
    done = convert(write_file(tmp_path / "w.safetensors", tensors), tmp_path / "out")
    assert done.deviations["o_proj"].error == 0
    found = stored(tmp_path / "out")
    assert found["o_proj.weight_scale_2"] == 1
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "w.safetensors", "config.json", "hf_quant_config.json"
    }  # fmt: skip


def test_weights_of_more_axes_are_kept_and_said(tmp_path: Path) -> None:
    tensors = {
        "experts.gate_up_proj": normal(2, 32, 32), "a.o_proj.weight": normal(32, 32),
        "mlp.gate.weight": normal(4, 32), "conv.weight": normal(4, 1, 32),
    }  # fmt: skip
    done = convert(write_folder(tmp_path / "in", tensors), tmp_path / "out")
    assert done.selection.kept == {
        "experts.gate_up_proj": "3 axes, not 2", "mlp.gate": "router", "conv": "3 axes, not 2"
    }  # fmt: skip
    assert np.array_equal(
        stored(tmp_path / "out")["experts.gate_up_proj"], tensors["experts.gate_up_proj"]
    )


@pytest.mark.parametrize("layout", ["modelopt", "compressed-tensors"])
def test_a_tensor_that_has_the_name_of_a_new_one(tmp_path: Path, layout: str) -> None:
    tensors = {"a.o_proj.weight": normal(32, 32), "a.o_proj.weight_scale": normal(2)}
    source = write_folder(tmp_path / "in", tensors, shards=2)
    with pytest.raises(BadInput, match=r"a\.o_proj\.weight_scale: would be written twice"):
        convert(source, tmp_path / "out", layout=layout)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quant_method": "mxfp4"}, r"config.json: says it is quantized already \(mxfp4\)"),
        ({"quant_method": "fp8"}, r"says it is quantized already \(fp8\)"),
        ({"quant_method": "gptq", "weight_block_size": [128, 128]}, "already"),
    ],
)
def test_what_the_config_says_is_quantized(tmp_path: Path, settings: Any, message: str) -> None:
    """As gpt-oss: its experts are tensors of other names, which alone would only be copied."""
    config = {"quantization_config": settings}
    source = write_folder(tmp_path / "in", llama(1), config=config)
    with pytest.raises(BadInput, match=message):
        convert(source, tmp_path / "out")
    source = write_folder(tmp_path / "two", llama(1))
    quant = {"quantization": {"quant_algo": "FP8"}}
    (source / "hf_quant_config.json").write_text(json.dumps(quant))
    with pytest.raises(BadInput, match=r"hf_quant_config.json: says it is .* \(FP8\)"):
        convert(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_without_a_module_and_whole_numbers(tmp_path: Path) -> None:
    tensors = {
        "weight": normal(32, 32),
        ".weight": normal(32, 32),
        "a.o_proj.weight": normal(4, 16),
    }
    done = convert(write_folder(tmp_path / "in", tensors), tmp_path / "out")
    assert list(done.selection.chosen) == ["a.o_proj"]
    tensors["b.weight"] = np.zeros((4, 16), np.int64)
    source = write_folder(tmp_path / "two", tensors)
    with pytest.raises(BadInput, match=r"b: holds whole numbers \(i64\)"):
        convert(source, tmp_path / "out2")


def test_scales_of_block_scaled_fp8_that_are_none(tmp_path: Path) -> None:
    tensors = {
        "a.weight": normal(16, 32).astype(ml_dtypes.float8_e4m3fn),
        "a.weight_scale_inv": np.zeros((1, 1), np.int64),
    }
    with pytest.raises(BadInput, match=r"a\.weight_scale_inv: scales of I64 are not read"):
        convert(write_folder(tmp_path / "in", tensors), tmp_path / "out")
    tensors["a.weight_scale_inv"] = np.full((1, 1), np.nan, np.float32)
    with pytest.raises(BadInput, match=r"a\.weight_scale_inv: holds NaN"):
        convert(write_folder(tmp_path / "nan", tensors), tmp_path / "out")


@pytest.mark.parametrize("key", ["quantization_config", "compression_config"])
def test_what_a_part_of_the_config_says_is_quantized(tmp_path: Path, key: str) -> None:
    """As Kimi-K2.5: the settings stand in the part for text, and count as those of the whole."""
    config = {"text_config": {key: {"quant_method": "compressed-tensors"}}}
    source = write_folder(tmp_path / "in", llama(1), config=config)
    with pytest.raises(BadInput, match=r"says it is quantized already \(compressed-tensors\)"):
        convert(source, tmp_path / "out")


def test_blocks_named_in_a_part_of_the_config(tmp_path: Path) -> None:
    """The block is taken from there, and what is no longer so is not said any more."""
    values = normal(64, 64).astype(ml_dtypes.float8_e4m3fn)
    tensors = {"a.o_proj.weight": values, "a.o_proj.weight_scale_inv": normal(2, 2) ** 2 + 1}
    said = {"quant_method": "fp8", "weight_block_size": [32, 32]}
    config = {"text_config": {"quantization_config": said, "hidden_size": 64}}
    convert(write_folder(tmp_path / "in", tensors, config=config), tmp_path / "out")
    written = json.loads((tmp_path / "out/config.json").read_text())
    assert written["text_config"] == {"hidden_size": 64}
    assert written["quantization_config"]["quant_method"] == "modelopt"


@pytest.mark.parametrize(
    ("config", "ignored"),
    [
        ({"architectures": ["LlamaForCausalLM"]}, ["lm_head", "model.embed_tokens"]),
        ({"tie_word_embeddings": True}, ["lm_head", "model.embed_tokens"]),
        ({"architectures": ["BertModel"]}, ["model.embed_tokens"]),
    ],
)
def test_a_head_that_is_the_embedding_is_ignored(
    tmp_path: Path, config: Any, ignored: list[str]
) -> None:
    """It is not stored, and engines would look for its codes: 'Linear' means it too."""
    tensors = llama(1)
    del tensors["lm_head.weight"]
    source = write_folder(tmp_path / "in", tensors, config=config)
    for layout in ("modelopt", "compressed-tensors"):
        convert(source, tmp_path / layout, layout=layout)
        written = json.loads((tmp_path / layout / "config.json").read_text())
        assert written["quantization_config"]["ignore"] == ignored


def test_shapes_of_no_values_take_no_time(tmp_path: Path) -> None:
    """A header may give no columns to 2^60 rows; they are not walked."""
    header = {
        "a.weight": {"dtype": "F32", "shape": [1 << 60, 0], "data_offsets": [0, 0]},
        "b.weight": {"dtype": "F32", "shape": [16, 16], "data_offsets": [0, 1024]},
    }
    source = tmp_path / "model.safetensors"
    source.write_bytes(blob(header, np.ones(256, np.float32).tobytes()))
    done = convert(source, tmp_path / "out")
    assert {name: each.count for name, each in done.deviations.items()} == {"a": 0, "b": 256}


def test_a_name_with_brackets_is_excluded_by_itself(tmp_path: Path) -> None:
    names = ("a[1].weight", "a1.weight", "b.weight")
    tensors = {name: normal(16, 16) for name in names}
    source = write_folder(tmp_path / "in", tensors)
    done = convert(source, tmp_path / "out", exclude=("a[1]",))
    assert done.selection.kept == {"a[1]": "excluded", "a1": "excluded"}  # also a pattern


def test_one_over_a_tensor_scale_may_be_too_large(tmp_path: Path) -> None:
    convert(write_folder(tmp_path / "in", llama(1)), tmp_path / "q", layout="compressed-tensors")
    tensors = stored(tmp_path / "q")
    tensors[f"{MLP}.weight_global_scale"] = np.array([1e-40], np.float32)
    source = write_folder(tmp_path / "small", tensors)
    with (
        open_checkpoint(source) as found,
        open_checkpoint(tmp_path / "in") as right,
        pytest.raises(BadInput, match="one over 1e-40 is beyond float32"),
    ):
        inspect(found, right)

"""What is said of checkpoints as others write them, sound and unsound."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.checkpoints.made import Tensors, llama, normal, write_file, write_folder

from racktwin.checkpoints import Wish, inspect, open_checkpoint, quantize_checkpoint
from racktwin.checkpoints.inspection import Inspection
from racktwin.checkpoints.recognition import recognise
from racktwin.checkpoints.weight import values
from racktwin.finding import BadInput
from racktwin.numerics import quantize


def nvfp4(name: str, weight: np.ndarray) -> Tensors:
    """As modelopt has it."""
    made = quantize(weight)
    return {
        f"{name}.weight_scale_2": np.asarray(made.tensor_scale, np.float32),
        f"{name}.weight": made.packed,
        f"{name}.weight_scale": made.scales,
    }


def seen(path: Path, tensors: Tensors) -> Inspection:
    with open_checkpoint(write_file(path / "x.safetensors", tensors)) as found:
        return inspect(found)


def test_what_a_checkpoint_holds(tmp_path: Path) -> None:
    found = seen(tmp_path, nvfp4("o_proj", normal(32, 64)) | {"norm.weight": np.ones(4, "f4")})
    assert found.formats == {"nvfp4": 1}
    kinds = {(each.use, each.format): (each.values, each.bytes) for each in found.kinds}
    assert kinds["linear", "nvfp4"] == (2048, 1024)
    assert kinds["scales", "F8_E4M3"] == (128, 128)
    assert kinds["other", "F32"] == (4, 16)
    assert found.faults == ()


@pytest.mark.parametrize("byte", [0x7F, 0xFF])
def test_nan_scales_are_counted(tmp_path: Path, byte: int) -> None:
    """A plain cast of more than 448 to E4M3 can write NaN; quantize clamps to 448 (0x7E)."""
    tensors = nvfp4("o_proj", normal(32, 64))
    assert quantize(np.full((1, 16), 1e4, np.float32), tensor_scale=1.0).scales.view("u1") == 0x7E
    tensors["o_proj.weight_scale"].view(np.uint8)[3, 1:3] = byte
    (fault,) = seen(tmp_path, tensors).faults
    assert str(fault) == "o_proj.weight_scale: 2 of 128 scales are NaN or infinite"


@pytest.mark.parametrize("shape", [(64, 64), (64, 128), (32, 64), (256, 512)])
def test_transposed_bytes_are_told_by_the_scales(tmp_path: Path, shape: tuple[int, int]) -> None:
    """(in/2, out) instead of (out, in/2), by the tensor's name; (64, 128) packs into a square."""
    weight = normal(*shape, seed=3)
    tensors = nvfp4("a.o_proj", weight)
    with open_checkpoint(write_file(tmp_path / "s.safetensors", tensors)) as found:
        assert not recognise(found).weights["a.o_proj"].transposed
        assert inspect(found).faults == ()
    tensors["a.o_proj.weight"] = np.ascontiguousarray(tensors["a.o_proj.weight"].T)
    with open_checkpoint(write_file(tmp_path / "t.safetensors", tensors)) as found:
        (fault,) = inspect(found).faults
        assert str(fault).startswith("a.o_proj.weight: is packed along its rows")
        own = recognise(found).weights["a.o_proj"]
        assert own.shape == shape
        right = quantize(weight).dequantize()
        assert np.array_equal(values(found, own, 16, 48), right[16:48])


def test_a_square_that_does_not_tell_is_not_guessed(tmp_path: Path) -> None:
    tensors = nvfp4("o_proj", normal(64, 128))
    tensors["o_proj.weight"] = np.full((64, 64), 0x77, np.uint8)
    (fault,) = seen(tmp_path, tensors).faults
    assert "rows and columns cannot be told apart" in str(fault)


def test_scales_that_do_not_fit(tmp_path: Path) -> None:
    tensors = nvfp4("o_proj", normal(32, 64))
    tensors["o_proj.weight_scale"] = tensors["o_proj.weight_scale"][:, :3].copy()
    (fault,) = seen(tmp_path, tensors).faults
    assert "32 x 32 bytes, and 32 x 3 scales of 16 need 32 x 24" in str(fault)


@pytest.mark.parametrize("wrong", [[0.0], [np.nan], [-1.0], [1.0, 2.0]])
def test_a_tensor_scale_is_one_positive_number(tmp_path: Path, wrong: list[float]) -> None:
    tensors = nvfp4("o_proj", normal(32, 64)) | {"o_proj.weight_scale_2": np.float32(wrong)}
    reference = write_file(tmp_path / "r.safetensors", {"o_proj.weight": normal(32, 64)})
    path = write_file(tmp_path / "x.safetensors", tensors)
    with (
        open_checkpoint(path) as found,
        open_checkpoint(reference) as right,
        pytest.raises(BadInput, match="weight_scale_2: expected one positive number"),
    ):
        inspect(found, right)


@pytest.mark.parametrize("layout", ["modelopt", "compressed-tensors"])
def test_errors_against_the_reference_are_those_of_writing(tmp_path: Path, layout: str) -> None:
    source = write_folder(tmp_path / "in", llama(), shards=2)
    done = quantize_checkpoint(
        Wish(source=str(source), target=str(tmp_path / "out"), layout=layout)
    )
    with open_checkpoint(tmp_path / "out") as found, open_checkpoint(source) as right:
        answer = inspect(found, right)
    assert answer.deviations is not None
    assert answer.deviations.keys() == done.deviations.keys()
    for name, each in answer.deviations.items():
        assert each.error == pytest.approx(done.deviations[name].error, rel=1e-5)
        assert 0.07 < each.error < 0.12


def test_a_reference_of_another_model(tmp_path: Path) -> None:
    source = write_file(tmp_path / "a.safetensors", nvfp4("o_proj", normal(32, 64)))
    for tensors, text in (
        ({"up.weight": normal(4, 32)}, "no weight of the same name"),
        ({"o_proj.weight": normal(32, 32)}, r"has shape \(32, 64\), the reference \(32, 32\)"),
    ):
        other = write_file(tmp_path / "b.safetensors", tensors)
        with (
            open_checkpoint(source) as found,
            open_checkpoint(other) as right,
            pytest.raises(BadInput, match=text),
        ):
            inspect(found, right)


def test_other_formats_are_named(tmp_path: Path) -> None:
    tensors = {
        "a.qweight": np.zeros((8, 8), np.int64),
        "b.weight": np.zeros((8, 8), ml_dtypes.float8_e4m3fn),
        "b.weight_scale": np.float32(1),
    }
    assert seen(tmp_path, tensors).formats == {"int4": 1, "fp8": 1}

"""Checkpoints of a real model, read back by the loaders of those whose layout they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.parity.installed import have

from racktwin.checkpoints import Wish, open_checkpoint, quantize_checkpoint
from racktwin.checkpoints.recognition import modules, recognise
from racktwin.checkpoints.weight import values
from racktwin.numerics import quantize

torch = pytest.importorskip("torch", reason="no torch: make test-parity installs it")
pytestmark = pytest.mark.filterwarnings("ignore")


def written(minilm: Path, folder: Path, layout: str, scales: str | None = None) -> Path:
    quantize_checkpoint(
        Wish(source=str(minilm), target=str(folder), layout=layout, input_scales=scales)
    )
    return folder


def loaded(folder: Path) -> dict[str, Any]:
    """All tensors, by the safetensors library."""
    load = have("safetensors.torch").load_file
    return dict(load(folder / "model.safetensors"))


def right(minilm: Path) -> dict[str, np.ndarray]:
    with open_checkpoint(minilm) as found:
        return {name: found.rows(name) for name in found.at}


@pytest.fixture(scope="module")
def input_scales(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Some scale for every linear weight; what it is does not matter here."""
    with open_checkpoint(minilm) as found:
        names = [each.module for each in modules(recognise(found), "fp32")]
    given = {f"{name}.input_scale": 0.125 for name in names if "embeddings" not in name}
    path = tmp_path_factory.mktemp("scales") / "scales.json"
    path.write_text(json.dumps(given))
    return str(path)


def test_modelopt_reads_its_layout(minilm: Path, tmp_path: Path) -> None:
    tensor = have("modelopt.torch.quantization.qtensor.nvfp4_tensor").NVFP4QTensor
    found, plain = loaded(written(minilm, tmp_path / "out", "modelopt")), right(minilm)
    names = [name.removesuffix("_2") for name in found if name.endswith("weight_scale_2")]
    assert len(names) == 37
    for name in names:
        weight = name.removesuffix("_scale")
        made = tensor(torch.Size(plain[weight].shape), torch.float32, found[weight])
        back = made.dequantize(
            dtype=torch.float32, scale=found[name], double_scale=found[f"{name}_2"],
            block_sizes={-1: 16},
        )  # fmt: skip
        whole = float(found[f"{name}_2"])
        assert np.array_equal(
            back.numpy(), quantize(plain[weight], tensor_scale=whole).dequantize()
        )


def test_modelopt_writes_the_same_settings(minilm: Path, tmp_path: Path, input_scales: str) -> None:
    """config.json is what its own converter makes of hf_quant_config.json."""
    convert = have("modelopt.torch.export.convert_hf_config").convert_hf_quant_config_format
    for name, scales in (("weights", None), ("both", input_scales)):
        folder = written(minilm, tmp_path / name, "modelopt", scales)
        settings = json.loads((folder / "hf_quant_config.json").read_text())
        own = json.loads((folder / "config.json").read_text())["quantization_config"]
        assert own == convert(settings)


def _linear_model(names: dict[str, tuple[int, int]]) -> Any:
    """Modules of Linear layers under these names."""
    model = torch.nn.Module()
    for name, (rows, columns) in names.items():
        at = model
        *parents, last = name.split(".")
        for parent in parents:
            if not hasattr(at, parent):
                at.add_module(parent, torch.nn.Module())
            at = getattr(at, parent)
        at.add_module(last, torch.nn.Linear(columns, rows, bias=False))
    return model


@pytest.mark.parametrize("with_input", [False, True])
def test_compressed_tensors_reads_its_layout(
    minilm: Path, tmp_path: Path, input_scales: str, with_input: bool
) -> None:
    """A model of its Linear modules under our config and tensors, decompressed by it."""
    have("compressed_tensors")
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config

    scales = input_scales if with_input else None
    folder = written(minilm, tmp_path / "out", "compressed-tensors", scales)
    found, plain = loaded(folder), right(minilm)
    ending = ".weight_packed"
    names = [name.removesuffix(ending) for name in found if name.endswith(ending)]
    model = _linear_model({name: plain[f"{name}.weight"].shape for name in names})
    settings = json.loads((folder / "config.json").read_text())["quantization_config"]
    config = QuantizationConfig.model_validate(settings)
    assert config.format == "nvfp4-pack-quantized"
    apply_quantization_config(model, config)
    compressor = ModelCompressor(quantization_config=config)
    compressor.compress_model(model)
    own = {name: each for name, each in found.items() if name.rpartition(".")[0] in names}
    missing, unexpected = model.load_state_dict(own, strict=False)
    assert missing == []
    assert all(name.endswith(".bias") for name in unexpected)
    compressor.decompress_model(model)
    with open_checkpoint(folder) as read:
        for each in modules(recognise(read), "nvfp4"):
            back = model.get_submodule(each.module).weight.detach().float().numpy()
            ours = values(read, each, 0, each.shape[0])
            assert np.abs(back - ours).max() <= 2.0**-8 * np.abs(ours).max()  # it gives bfloat16
            assert (np.abs(back - ours) <= 2.0**-7 * np.abs(ours)).all()


def test_its_converter_makes_one_layout_of_the_other(
    minilm: Path, tmp_path: Path, input_scales: str
) -> None:
    """compressed-tensors' own conversion of our modelopt layout is our layout of its own."""
    module = have("compressed_tensors.entrypoints.convert.converters.modelopt_nvfp4")
    one = loaded(written(minilm, tmp_path / "a", "modelopt", input_scales))
    two = loaded(written(minilm, tmp_path / "b", "compressed-tensors", input_scales))
    convert = module.ModelOptNvfp4Converter(
        targets=["re:.*"], ignore=["re:.*LayerNorm.*", "re:embeddings.*"]
    )
    made = convert.validate(one)
    assert made.keys() == two.keys()
    for name, each in made.items():
        left = each.reshape(two[name].shape)
        assert torch.equal(left.contiguous().view(torch.uint8), two[name].view(torch.uint8)), name

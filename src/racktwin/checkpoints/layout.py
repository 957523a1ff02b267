"""The two layouts of NVFP4 checkpoints: names and types of tensors, and what configs say.

modelopt: nvidia-modelopt's unified Hugging Face export. compressed-tensors: vllm-project/
compressed-tensors, which keeps one over the tensor scale, and writes scalars as arrays of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from racktwin import __version__

Tensors = dict[str, tuple[str, tuple[int, ...]]]  # name -> dtype, shape
BLOCK = 16
# Engines take this layout by this name (vLLM and SGLang, get_quant_config).
PRODUCER = {"name": "modelopt", "version": f"racktwin-{__version__}"}


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Roles -> what they are called behind the module's name; scalars: their shape."""

    name: str
    weight: str
    scale: str
    tensor_scale: str
    input_scale: str
    inverse: bool
    scalars: tuple[int, ...]

    def tensors(self, module: str, shape: tuple[int, ...], with_input: bool) -> Tensors:
        """The tensors of a weight of `shape`."""
        rows, columns = shape
        found: Tensors = {
            f"{module}.{self.tensor_scale}": ("F32", self.scalars),
            f"{module}.{self.weight}": ("U8", (rows, columns // 2)),
            f"{module}.{self.scale}": ("F8_E4M3", (rows, columns // BLOCK)),
        }
        if with_input:
            found[f"{module}.{self.input_scale}"] = ("F32", self.scalars)
        return found

    def scalar(self, scale: np.float32 | float) -> npt.NDArray[np.float32]:
        """A scale (any unit) as it is stored."""
        value = np.float32(scale)
        with np.errstate(over="ignore"):
            return np.array(np.float32(1) / value if self.inverse else value, np.float32)


LAYOUTS = {
    "modelopt": Layout(
        name="modelopt", weight="weight", scale="weight_scale", tensor_scale="weight_scale_2",
        input_scale="input_scale", inverse=False, scalars=(),
    ),
    "compressed-tensors": Layout(
        name="compressed-tensors", weight="weight_packed", scale="weight_scale",
        tensor_scale="weight_global_scale", input_scale="input_global_scale", inverse=True,
        scalars=(1,),
    ),
}  # fmt: skip


def quantization_config(layout: Layout, kept: Sequence[str], with_input: bool) -> dict[str, Any]:
    """What stands in config.json. kept: modules of matrices that were not quantized."""
    if layout.name == "modelopt":
        return {
            "config_groups": {"group_0": {**_plain(with_input), "targets": ["Linear"]}},
            "ignore": list(kept),
            "quant_algo": _algorithm(with_input),
            "producer": PRODUCER,
            "quant_method": "modelopt",
        }
    group = {
        "targets": ["Linear"],
        "weights": _arguments(False),
        "input_activations": _arguments("local") if with_input else None,
        "output_activations": None,
        "format": "nvfp4-pack-quantized",
    }
    return {
        "config_groups": {"group_0": group},
        "format": "nvfp4-pack-quantized",
        "ignore": list(kept),
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
    }


def hf_quant_config(kept: Sequence[str], with_input: bool) -> dict[str, Any]:
    """The file of the modelopt layout beside config.json."""
    return {
        "producer": PRODUCER,
        "quantization": {
            "quant_algo": _algorithm(with_input),
            "kv_cache_quant_algo": None,
            "group_size": BLOCK,
            "exclude_modules": list(kept),
        },
    }


def _algorithm(with_input: bool) -> str:
    """Weight-only checkpoints must say so: NVFP4 alone promises scales of activations."""
    return "NVFP4" if with_input else "W4A16_NVFP4"


def _plain(with_input: bool) -> dict[str, Any]:
    one = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": BLOCK}
    return {"input_activations": one, "weights": one} if with_input else {"weights": one}


def _arguments(dynamic: bool | str) -> dict[str, Any]:
    return {
        "num_bits": 4,
        "type": "float",
        "strategy": "tensor_group",
        "group_size": BLOCK,
        "symmetric": True,
        "dynamic": dynamic,
        "scale_dtype": "torch.float8_e4m3fn",
        "zp_dtype": "torch.float8_e4m3fn",
    }

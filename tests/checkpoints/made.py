"""Checkpoints written by hand for tests, independently of the package's own writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

NAMES = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "uint8": "U8",
    "int64": "I64", "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
Tensors = dict[str, np.ndarray]


def blob(header: dict[str, Any] | bytes, body: bytes = b"") -> bytes:
    """A file of this header and these bytes behind it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def write_file(path: Path, tensors: Tensors) -> Path:
    """A safetensors file of arrays."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, array in tensors.items():
        ends = [place, place + array.nbytes]
        shape = list(array.shape)
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": shape, "data_offsets": ends}
        place = ends[1]
    path.write_bytes(blob(header, b"".join(each.tobytes() for each in tensors.values())))
    return path


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32).astype(dtype)


def llama(layers: int = 2, hidden: int = 64, inner: int = 128) -> Tensors:
    """Tensors of a small Llama in bfloat16."""
    brain = ml_dtypes.bfloat16
    made = {"model.embed_tokens.weight": normal(100, hidden, seed=1, dtype=brain)}
    for layer in range(layers):
        name = f"model.layers.{layer}."
        for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            rows = hidden if part in ("q_proj", "o_proj") else hidden // 2
            made[f"{name}self_attn.{part}.weight"] = normal(
                rows, hidden, seed=len(made), dtype=brain
            )
        for part in ("gate_proj", "up_proj"):
            made[f"{name}mlp.{part}.weight"] = normal(inner, hidden, seed=len(made), dtype=brain)
        made[f"{name}mlp.down_proj.weight"] = normal(hidden, inner, seed=len(made), dtype=brain)
        made[f"{name}input_layernorm.weight"] = np.ones(hidden, brain)
    made["model.norm.weight"] = np.ones(hidden, brain)
    made["lm_head.weight"] = normal(100, hidden, seed=99, dtype=brain)
    return made


def write_folder(folder: Path, tensors: Tensors, shards: int = 1, config: Any = None) -> Path:
    """A checkpoint folder, in several files with an index where `shards` is more than one."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(tensors)
    if shards == 1:
        write_file(folder / "model.safetensors", tensors)
    else:
        index: dict[str, str] = {}
        for place in range(shards):
            file = f"model-{place + 1:05}-of-{shards:05}.safetensors"
            part = {name: tensors[name] for name in names[place::shards]}
            write_file(folder / file, part)
            index |= dict.fromkeys(part, file)
        whole = {"metadata": {}, "weight_map": index}
        (folder / "model.safetensors.index.json").write_text(json.dumps(whole))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"} | (config or {})))
    (folder / "tokenizer.json").write_text("{}")
    return folder

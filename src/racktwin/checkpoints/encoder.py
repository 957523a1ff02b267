"""A `BERT` encoder run for real, in numpy: what a format does to the answer, not to the weights.

Layers as in Devlin et al. (2018), mean over tokens and unit length as sentence-transformers does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.wordpiece import tokens
from racktwin.finding import BadInput, Finding
from racktwin.numerics.quantization import Calibration, quantize

Floats = npt.NDArray[np.float32]
Weights = Mapping[str, Floats]
SENTENCES = (
    "A rack of seventy-two GPUs draws more than a hundred kilowatts.",
    "The cat sat on the mat and watched the rain.",
    "Four-bit numbers keep most of what a model knows.",
    "How many tokens per second does the cluster serve?",
    "She sold her bicycle to pay for the train ticket.",
    "Water boils at a lower temperature on a mountain.",
    "The bank raised interest rates for the third time this year.",
    "Il pleut sur la ville comme il pleure dans mon coeur.",
)
_erf = np.vectorize(math.erf, otypes=[np.float32])


def is_encoder(found: Checkpoint) -> bool:
    """Whether `sentences` can run it: a `BERT` with its vocabulary beside it."""
    own = found.config
    vocabulary = found.folder is not None and (found.folder / "vocab.txt").is_file()
    return own.get("model_type") == "bert" and own.get("hidden_act") == "gelu" and vocabulary


def similarities(
    found: Checkpoint, modules: Sequence[str], formats: Sequence[str], calibration: Calibration
) -> dict[str, Floats]:
    """Cosine, a ratio, of each sentence's vector in a format with that of the stored weights.

    modules: whose weights take the format; activations stay float32.
    """
    weights = {name: found.rows(name).astype(np.float32) for name in found.at
               if found.entry(name).dtype in ("F32", "F16", "BF16")}  # fmt: skip
    assert found.folder is not None
    ids = [tokens(text, found.folder / "vocab.txt") for text in SENTENCES]
    plain = [sentence(weights, found.config, each) for each in ids]
    seen = {}
    for name in formats:
        changed = dict(weights)
        for module in modules:
            key = f"{module}.weight"
            changed[key] = quantize(weights[key], name, calibration=calibration).dequantize()
        vectors = [sentence(changed, found.config, each) for each in ids]
        cosines = [float(a @ b) for a, b in zip(plain, vectors, strict=True)]
        seen[name] = np.array(cosines, np.float32)
    return seen


def sentence(weights: Weights, config: Mapping[str, Any], ids: Sequence[int]) -> Floats:
    """The unit vector (a ratio in each place) of the tokens `ids`."""
    epsilon = float(config.get("layer_norm_eps", 1e-12))
    heads = int(config["num_attention_heads"])
    try:
        state = _embedded(weights, ids, epsilon)
        for layer in range(int(config["num_hidden_layers"])):
            state = _layer(weights, f"encoder.layer.{layer}.", state, heads, epsilon)
    except KeyError as fault:
        raise BadInput([Finding(str(fault), "is missing; this is no BERT encoder")]) from None
    mean = state.mean(0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def _embedded(weights: Weights, ids: Sequence[int], epsilon: float) -> Floats:
    state = (
        weights["embeddings.word_embeddings.weight"][np.asarray(ids)]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    return _normed(weights, "embeddings.LayerNorm", state, epsilon)


def _normed(weights: Weights, name: str, state: Floats, epsilon: float) -> Floats:
    centred = state - state.mean(-1, keepdims=True)
    scale = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(epsilon))
    return np.asarray(centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"])


def _linear(weights: Weights, name: str) -> Callable[[Floats], Floats]:
    matrix, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return lambda state: np.asarray(state @ matrix.T + bias)


def _layer(weights: Weights, name: str, state: Floats, heads: int, epsilon: float) -> Floats:
    mixed = _attention(weights, f"{name}attention.self.", state, heads)
    mixed = _linear(weights, f"{name}attention.output.dense")(mixed)
    state = _normed(weights, f"{name}attention.output.LayerNorm", state + mixed, epsilon)
    wide = _linear(weights, f"{name}intermediate.dense")(state)
    wide = np.asarray(wide * 0.5 * (1 + _erf(wide / np.float32(math.sqrt(2)))), np.float32)
    narrow = _linear(weights, f"{name}output.dense")(wide)
    return _normed(weights, f"{name}output.LayerNorm", state + narrow, epsilon)


def _attention(weights: Weights, name: str, state: Floats, heads: int) -> Floats:
    parts = [_linear(weights, name + part)(state) for part in ("query", "key", "value")]
    query, key, value = (each.reshape(len(state), heads, -1).swapaxes(0, 1) for each in parts)
    scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(query.shape[-1]))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = shares / shares.sum(-1, keepdims=True)
    return np.asarray((shares @ value).swapaxes(0, 1).reshape(len(state), -1), np.float32)

"""Usual recipes: what a checkpoint of some architecture stores when it is quantized to a format."""

from __future__ import annotations

from racktwin.finding import BadInput, unknown
from racktwin.models.architecture import Architecture, Experts, LatentAttention
from racktwin.models.precision import Precision

NAMES = ("bf16", "fp16", "fp8", "fp8_block", "mxfp8", "nvfp4", "mxfp4", "int8", "int4")


def preset(architecture: Architecture, name: str, like: Precision | None = None) -> Precision:
    """The usual precision called `name` for `architecture`; `like` is its own checkpoint's.

    bf16, fp16: everything. fp8: all linear layers; block-scaled where the model's own checkpoint
    is. nvfp4 (NVIDIA's ModelOpt checkpoints): dense models all linear layers; with latent attention
    (DeepSeek) all but queries, keys and values; other MoE models the feed-forwards. mxfp4: routed
    experts only (gpt-oss). int4: routed experts, or all linear layers of a dense model.
    int8, mxfp8: all linear layers.
    """
    if name not in NAMES:
        raise BadInput([unknown("precision", name, NAMES)])
    state = like.state if like else "fp32"
    moe = any(isinstance(layer.feedforward, Experts) for layer in architecture.kinds)
    latent = any(isinstance(layer.mixer, LatentAttention) for layer in architecture.kinds)
    if name == "bf16":
        return Precision(state=state)
    if name == "fp16":
        return _all_linear(name, "fp16", state, head="fp16", embedding="fp16", kv="fp16")
    if name == "fp8" and like is not None and like.of("experts" if moe else "dense") == "fp8_block":
        return _all_linear("fp8", "fp8_block", state)
    if name in ("fp8", "fp8_block"):
        return _all_linear(name, name, state)
    if moe and name in ("mxfp4", "int4"):
        return Precision(name=name, experts=name, state=state)
    if moe and name == "nvfp4":
        output = name if latent else "bf16"
        return Precision(
            name=name, experts=name, shared=name, dense=name, output=output, kv="fp8", state=state
        )
    return _all_linear(name, name, state, kv="fp8" if name == "nvfp4" else "bf16")


def _all_linear(
    name: str,
    dtype: str,
    state: str,
    *,
    head: str = "bf16",
    embedding: str = "bf16",
    kv: str = "bf16",
) -> Precision:
    return Precision(
        name=name,
        attention=dtype,
        output=dtype,
        recurrent=dtype,
        indexer=dtype,
        dense=dtype,
        experts=dtype,
        shared=dtype,
        head=head,
        embedding=embedding,
        kv=kv,
        state=state,
    )

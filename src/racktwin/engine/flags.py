"""The words a question about fit is put in: flags of the command line, keywords in Python."""

from __future__ import annotations

from dataclasses import dataclass

DEGREES = ("tensor", "pipeline", "attention_data", "expert", "expert_tensor")


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What a user may say, as typed; None means nothing was said.

    Parameters
    ----------
    engine
        Whose accounting and log lines: vllm, sglang, trtllm.
    precision
        Of the weights: bf16, fp8, nvfp4, mxfp4, int8, int4; the checkpoint's own by default.
    kv_dtype
        Of the cache: bf16, fp8.
    gpus
        Use exactly so many GPUs; as few as will do by default.
    tensor
        GPUs that share each layer. Where one degree is named the others are 1.
    pipeline
        Stages the layers are spread over.
    attention_data
        Groups that keep their own sequences and cache.
    expert
        Ranks the experts of a layer are spread over.
    expert_tensor
        Ranks that share each expert.
    split
        Layers of each pipeline stage: 16,32.
    memory_fraction
        Fraction of memory, as the engine counts it; its own default otherwise.
    max_len
        Tokens of the longest request; the model's context by default.
    max_batch
        Sequences of a step; the engine's own default otherwise.
    max_batch_tokens
        Tokens of a step; the engine's own default otherwise.
    hbm
        Memory the engine sees on a GPU: 23.6GiB; per pipeline stage: 16GiB,32GiB.
    kv_room
        Memory for the cache, from an engine's log; per stage likewise.
    weights
        Memory of the weights on a GPU, from an engine's log.
    activations
        Peak memory of activations, from an engine's log.
    reserved
        Memory outside weights, activations and cache, from an engine's log.
    """

    engine: str = "vllm"
    precision: str | None = None
    kv_dtype: str | None = None
    gpus: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    attention_data: int | None = None
    expert: int | None = None
    expert_tensor: int | None = None
    split: str | None = None
    memory_fraction: str | None = None
    max_len: int | None = None
    max_batch: int | None = None
    max_batch_tokens: int | None = None
    hbm: str | None = None
    kv_room: str | None = None
    weights: str | None = None
    activations: str | None = None
    reserved: str | None = None

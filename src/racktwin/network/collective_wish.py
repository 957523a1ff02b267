"""A question about a collective as it is typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Wish:
    """How a collective is to be run, as typed; None means nothing was said.

    Parameters
    ----------
    gpus
        Ranks, one GPU each, side by side; the whole cluster by default.
    stride
        Ranks sit on every n-th GPU: 72 puts one into each NVL72 rack.
    bytes
        Size as nccl-tests counts it: 1GB, 256MiB.
    algorithm
        Hold NCCL to one: ring, tree, nvls, nvls-tree, collnet-direct, collnet-chain, pat.
    sharp
        Reduction in the switches between NVLink domains: on or off; by default as the cluster's
        file says.
    routing
        Between switches: adaptive, static (hashed flows), spray, rail (adaptive, PXN).
    fail
        What is broken: spine:3,plane:leaf7/12/2,slow:rack0/host3/1@50%; '' for nothing.
    dtype
        Of the values, for what switches can add: float32 (the default), bfloat16, fp8.
    model
        Whose experts dispatch and combine exchange tokens between; deepseek-r1 by default.
    tokens
        Of a rank, for dispatch and combine; a table without.
    payload
        Of a value on the wire, for dispatch and combine: bf16 (the default), fp8, nvfp4.
    framework
        Whose library exchanges the tokens: trtllm (the default), sglang, vllm.
    """

    gpus: int | None = None
    stride: int = 1
    bytes: str | None = None
    algorithm: str | None = None
    sharp: str | None = None
    routing: str = "adaptive"
    fail: str | None = None
    dtype: str | None = None
    model: str | None = None
    tokens: int | None = None
    payload: str | None = None
    framework: str | None = None

"""Kernels of constant rates, for right values by hand: every price is a plain product.

Energy is always three times the time, so that joules can be told from seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine.epoch import Epoch
from racktwin.estimate import Evidence
from racktwin.kernels import Kernels, Priced
from racktwin.models import Architecture, Attention, Dense
from racktwin.models.architecture import Experts, Layer

GEMM, STREAM, DECODE, PREFILL, EXPERTS = 1e-13, 1e-12, 1e-9, 1e-12, 1e-6
WATTS = 3.0


def priced(seconds: ArrayLike, name: str) -> Priced:
    time = np.asarray(seconds, dtype=float)
    return Priced(time, 0 * time, 0 * time, WATTS * time, Evidence("assumed", name))


class FakeKernels(Kernels):
    """m n k s per GEMM, bytes per stream, sequences x context x heads, and so on."""

    def __init__(self) -> None:
        self.chip, self.framework = None, "trtllm"  # type: ignore[assignment]

    def gemm(self, m: Any, n: Any, k: Any, dtype: str, *, quantised: bool = False) -> Priced:
        return priced(GEMM * np.asarray(m) * n * k, f"gemm {dtype}")

    def stream(self, moved: Any) -> Priced:
        return priced(STREAM * np.asarray(moved), "stream")

    def attention_decode(self, batch: Any, context: Any, **shape: Any) -> Priced:
        return priced(DECODE * batch * context * shape["heads"], "decode")

    def attention_prefill(
        self, batch: Any, tokens: Any, context: Any = 0.0, **shape: Any
    ) -> Priced:
        pairs = batch * (tokens * context + tokens**2 / 2)
        return priced(PREFILL * pairs * shape["heads"], "prefill")

    def experts(self, tokens: Any, **shape: Any) -> Priced:
        return priced(EXPERTS * (1 + np.asarray(tokens)) / shape["expert"], "experts")


def tiny(layers: int = 2) -> Architecture:
    """`layers` dense and as many MoE layers of one small attention."""
    mixer = Attention(heads=4, kv_heads=2, head_dim=16)
    dense = Layer(mixer, Dense(intermediate=256))
    sparse = Layer(mixer, Experts(experts=8, top_k=2, intermediate=32, shared=48))
    return Architecture(
        name="tiny",
        hidden=64,
        vocab=1000,
        context=1 << 20,
        layers=(dense,) * layers + (sparse,) * layers,
        mtp=(sparse,),
    )


def plain(**changes: Any) -> Epoch:
    """An epoch that adds nothing to the operators, but for `changes`."""
    values: dict[str, Any] = {
        "name": "plain",
        "engine": "trtllm",
        "version": "0",
        "gap": 0.0,
        "step_overhead": 0.0,
        "gemm": 1.0,
        "experts": 1.0,
        "attention": 1.0,
        "communication": 1.0,
        "prefill_wait": 0.0,
        "first_token": 0.0,
        "balanced": True,
        "mixed": True,
        "memory_fraction": 0.9,
        "max_batch_tokens": 8192,
    }
    return Epoch(**{**values, **changes})

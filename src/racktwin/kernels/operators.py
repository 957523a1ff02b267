"""`Kernels`: every operator of one chip under one serving framework, priced over many states.

What varies from step to step (rows, tokens, batch, context) may be arrays that broadcast; the
shapes of weights and heads are plain numbers of one GPU's share, and what was looked up for them
is kept for the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from racktwin.kernels import attention, gemm, latent, recurrent, sparse, stream
from racktwin.kernels import dtype as formats
from racktwin.kernels import experts as _experts
from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.grouped import Grouped
from racktwin.kernels.priced import Priced
from racktwin.kernels.roofline import Sizes, work
from racktwin.kernels.tables import tables

if TYPE_CHECKING:
    from racktwin.hardware.chip import Chip

FRAMEWORKS = ("trtllm", "sglang", "vllm")


class Kernels:
    """Prices of operators on `chip`, with the kernels `framework` would launch.

    GEMM and experts take the fastest kernel of any framework (one framework's table often holds a
    variant nobody would run); attention takes the framework's own and says so when it lacks one.
    own_experts: whether the framework has no kernels for experts but those measured under its name.
    """

    def __init__(self, chip: Chip, framework: str, *, own_experts: bool = False) -> None:
        self.chip, self.framework = chip, framework
        self._own = framework if own_experts else ""
        self.frameworks = [framework, *(each for each in FRAMEWORKS if each != framework)]
        self._tables = tables(chip.tables)
        self._kept: dict[tuple[object, ...], Efficiency] = {}

    def _found(self, key: tuple[object, ...], look: Callable[[], Efficiency]) -> Efficiency:
        if key not in self._kept:
            self._kept[key] = look()
        return self._kept[key]

    def gemm(self, m: Sizes, n: float, k: float, dtype: str, *, quantised: bool = False) -> Priced:
        """M x k activations times a k x n weight in `dtype`, quantising them where it must.

        quantised: they arrive in fp8 with a static scale, as the layer in front wrote them.
        """
        peaks, sources = self.chip.peak, self.frameworks
        found = self._found(
            ("gemm", n, k, dtype, quantised),
            lambda: gemm.gemm_efficiency(
                self._tables, n, k, dtype, peaks, sources, quantised=quantised
            ),
        )
        return found.price(gemm.gemm_work(m, n, k, dtype, peaks), self.chip, m)

    def attention_decode(
        self,
        batch: Sizes,
        context: Sizes,
        *,
        heads: int,
        kv_heads: int,
        head_dim: int,
        value_dim: int = 0,
        window: int = 0,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """One query token of `batch` sequences over `context` cached tokens each."""
        shape = attention.Heads(heads, kv_heads, head_dim, value_dim or head_dim, window, kv_dtype)
        found = self._attention("decode", shape)
        task = attention.decode_work(batch, context, shape, self._cache_compute(kv_dtype))
        return found.price(task, self.chip, batch, context)

    def attention_prefill(
        self,
        batch: Sizes,
        tokens: Sizes,
        context: Sizes = 0,
        *,
        heads: int,
        kv_heads: int,
        head_dim: int,
        value_dim: int = 0,
        window: int = 0,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """`tokens` new queries of `batch` sequences, each behind `context` cached tokens.

        Prompts were measured without a cached prefix: one takes the efficiency of the prompt
        with as many query-key pairs.
        """
        shape = attention.Heads(heads, kv_heads, head_dim, value_dim or head_dim, window, kv_dtype)
        found = self._attention("prefill", shape)
        compute = self._cache_compute(kv_dtype)
        task = attention.prefill_work(batch, tokens, context, shape, compute)
        length = attention.equal_length(tokens, context, window)
        return found.price(task, self.chip, batch, length)

    def _attention(self, phase: attention.Phase, shape: attention.Heads) -> Efficiency:
        return self._found(
            (phase, shape),
            lambda: attention.attention_efficiency(self._tables, phase, shape, self.frameworks),
        )

    def _cache_compute(self, kv_dtype: str) -> str:
        return formats.compute(formats.cache_dtype(kv_dtype), self.chip.peak)

    def mla_decode(
        self,
        batch: Sizes,
        context: Sizes,
        *,
        heads: int,
        kv_rank: int,
        rope_dim: int,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """Absorbed latent attention: one query of `batch` sequences over `context` latents."""
        shape = latent.Latent(heads, kv_rank, rope_dim, 0, 0, kv_dtype)
        task = latent.decode_work(batch, context, shape, self._cache_compute(kv_dtype))
        return self._latent("decode", shape).price(task, self.chip, batch, context)

    def mla_prefill(
        self,
        batch: Sizes,
        tokens: Sizes,
        context: Sizes = 0,
        *,
        heads: int,
        kv_rank: int,
        rope_dim: int,
        nope_dim: int,
        value_dim: int,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """Latent attention of prompts with keys and values expanded (that GEMM not included)."""
        shape = latent.Latent(heads, kv_rank, rope_dim, nope_dim, value_dim, kv_dtype)
        compute = self._cache_compute(kv_dtype)
        task = latent.prefill_work(batch, tokens, context, shape, compute)
        length = attention.equal_length(tokens, context)
        return self._latent("prefill", shape).price(task, self.chip, batch, length)

    def _latent(self, phase: str, shape: latent.Latent) -> Efficiency:
        return self._found(
            ("mla", phase, shape),
            lambda: latent.latent_efficiency(self._tables, phase, shape, self.frameworks),
        )

    def mla_absorb(
        self,
        tokens: Sizes,
        *,
        heads: int,
        nope_dim: int,
        value_dim: int,
        kv_rank: int,
        dtype: str = "bf16",
    ) -> Priced:
        """The two batched products around absorbed decode of `tokens` query tokens."""
        shape = latent.Latent(heads, kv_rank, 0, nope_dim, value_dim, "bf16")
        found = self._found(
            ("absorb", heads, dtype),
            lambda: latent.absorb_efficiency(self._tables, heads, dtype, self.frameworks),
        )
        compute = formats.compute(dtype, self.chip.peak)
        return found.price(latent.absorb_work(tokens, shape, dtype, compute), self.chip, tokens)

    def experts(
        self,
        tokens: Sizes,
        *,
        hidden: int,
        intermediate: int,
        top_k: int,
        experts: int,
        expert: int = 1,
        expert_tensor: int = 1,
        dtype: str = "bf16",
        gated: bool = True,
        imbalance: str = "power_law_1.01",
    ) -> Priced:
        """The routed experts on the slowest rank, for `tokens` tokens of the whole group."""
        shape = Grouped(hidden, intermediate, top_k, experts, expert_tensor, expert, gated)
        peaks = self.chip.peak
        found = self._found(
            ("experts", shape, dtype, imbalance),
            lambda: _experts.experts_efficiency(
                self._tables, shape, dtype, imbalance, peaks, self._own
            ),
        )
        return found.price(
            _experts.experts_work(tokens, shape, dtype, peaks, imbalance), self.chip, tokens
        )

    def stream(self, moved: Sizes) -> Priced:
        """Elementwise work (norms, residuals, activations) that moves `moved` bytes."""
        found = self._found(("stream",), lambda: stream.stream_efficiency(self._tables))
        return found.price(work(0.0, np.asarray(moved, float), "bf16"), self.chip, moved)

    def sparse_decode(
        self,
        batch: Sizes,
        context: Sizes,
        *,
        heads: int,
        kv_rank: int,
        rope_dim: int,
        top_k: int,
        index_heads: int,
        index_dim: int,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """Index, select and attend: one query of `batch` sequences over `context` latents."""
        shape = latent.Latent(heads, kv_rank, rope_dim, 0, 0, kv_dtype)
        index = sparse.Index(index_heads, index_dim, top_k)
        compute, peaks = self._cache_compute(kv_dtype), self.chip.peak
        tasks = sparse.decode_work(batch, context, shape, index, compute, peaks)
        return self._sparse("decode", shape, index).price(tasks, self.chip, batch, context)

    def sparse_prefill(
        self,
        batch: Sizes,
        tokens: Sizes,
        context: Sizes = 0,
        *,
        heads: int,
        kv_rank: int,
        rope_dim: int,
        nope_dim: int,
        value_dim: int,
        top_k: int,
        index_heads: int,
        index_dim: int,
        kv_dtype: str = "bf16",
    ) -> Priced:
        """Index, select and attend: `tokens` new queries of `batch` sequences behind `context`."""
        shape = latent.Latent(heads, kv_rank, rope_dim, nope_dim, value_dim, kv_dtype)
        index = sparse.Index(index_heads, index_dim, top_k)
        compute, peaks = self._cache_compute(kv_dtype), self.chip.peak
        tasks = sparse.prefill_work(batch, tokens, context, shape, index, compute, peaks)
        length = attention.equal_length(tokens, context)
        return self._sparse("prefill", shape, index).price(tasks, self.chip, batch, length)

    def _sparse(self, phase: str, shape: latent.Latent, index: sparse.Index) -> Efficiency:
        return self._found(
            ("sparse", phase, shape, index),
            lambda: sparse.sparse_efficiency(self._tables, phase, shape, index, self.frameworks),
        )

    def encoder_attention(
        self, batch: Sizes, tokens: Sizes, *, heads: int, head_dim: int
    ) -> Priced:
        """Attention of an image encoder: `tokens` patches of each of `batch` images."""
        found = self._found(
            ("encoder", heads, head_dim),
            lambda: attention.encoder_efficiency(self._tables, heads, head_dim, self.frameworks),
        )
        task = attention.encoder_work(batch, tokens, heads, head_dim)
        return found.price(task, self.chip, batch, tokens)

    def recurrent_decode(
        self,
        batch: Sizes,
        *,
        kind: str,
        key_heads: int,
        value_heads: int,
        key_dim: int,
        value_dim: int,
        conv: int = 4,
        hidden: int = 0,
    ) -> Priced:
        """One token of `batch` sequences through a recurrent layer's convolution and scan.

        `hidden` plays no part: the projections are GEMM.
        """
        shape = recurrent.Scan(kind, key_heads, value_heads, key_dim, value_dim, conv)
        task = recurrent.scan_work(batch, 1.0, shape)
        return self._scan("decode", shape).price(task, self.chip, batch)

    def recurrent_prefill(
        self,
        batch: Sizes,
        tokens: Sizes,
        *,
        kind: str,
        key_heads: int,
        value_heads: int,
        key_dim: int,
        value_dim: int,
        conv: int = 4,
        hidden: int = 0,
    ) -> Priced:
        """`tokens` tokens of `batch` sequences through a recurrent layer's convolution and scan."""
        shape = recurrent.Scan(kind, key_heads, value_heads, key_dim, value_dim, conv)
        task = recurrent.scan_work(batch, tokens, shape)
        return self._scan("prefill", shape).price(task, self.chip, batch, tokens)

    def _scan(self, phase: str, shape: recurrent.Scan) -> Efficiency:
        return self._found(
            ("scan", phase, shape),
            lambda: recurrent.scan_efficiency(self._tables, phase, shape, self.frameworks),
        )

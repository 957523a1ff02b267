"""The step of one replica: time and energy as the sum of its operators.

A step splits exactly into three: work that depends on the tokens in it (GEMM, experts,
collectives), attention of the decoding sequences, and attention of the prompts being prefilled.
All methods take arrays of states of one attention-data rank and price them in one call.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine import cost
from racktwin.engine.cost import Array, Cost
from racktwin.engine.epoch import Epoch
from racktwin.hardware import Cluster
from racktwin.kernels import Kernels, Priced
from racktwin.models.architecture import Architecture
from racktwin.models.forward import draft_operators, step_operators
from racktwin.models.layout import Layout
from racktwin.models.operators import (
    ACTIVATION,
    AllReduce,
    Attend,
    AttendLatent,
    Exchange,
    Gather,
    Gemm,
    Grouped,
    Operator,
    Recur,
    Stream,
)
from racktwin.models.precision import Precision
from racktwin.network import collective, experts
from racktwin.network.transfer import point_to_point


class Step:
    """Prices the steps of one replica of `architecture` under `layout` on `cluster`."""

    def __init__(
        self,
        architecture: Architecture,
        layout: Layout,
        precision: Precision,
        cluster: Cluster,
        epoch: Epoch,
        kernels: Kernels | None = None,
    ) -> None:
        self.architecture, self.layout, self.precision = architecture, layout, precision
        self.cluster, self.epoch = cluster, epoch.on(cluster.chip.family, precision.experts)
        self.kernels = kernels or epoch.kernels(cluster.chip)
        self.operators = step_operators(architecture, layout, precision)

    @cached_property
    def drafts(self) -> Counter[Operator]:
        """Operators of one multi-token-prediction draft."""
        return draft_operators(self.architecture, self.layout, self.precision)

    def tokens(self, tokens: ArrayLike, operators: Counter[Operator] | None = None) -> Cost:
        """Work that depends on the tokens of the step only, head and attention left out.

        tokens: tokens per attention-data rank, array of any shape.
        """
        count = np.asarray(tokens, dtype=float)
        whole = self.work(count, self.operators if operators is None else operators)
        return whole + self._between_stages(count) if self.layout.pipeline > 1 else whole

    def work(self, rows: ArrayLike, operators: Counter[Operator]) -> Cost:
        """The operators among these that run on `rows` tokens, or patches of an image."""
        count = np.asarray(rows, dtype=float)
        costs = [
            self._on_tokens(operator, count).scaled(times)
            for operator, times in operators.items()
            if _driven_by_tokens(operator)
        ]
        return cost.total([_nothing(count), *costs])

    def _between_stages(self, tokens: Array) -> Cost:
        """Activations handed from pipeline stage to stage, once through all of them."""
        size = tokens * self.architecture.hidden * ACTIVATION / self.layout.tensor
        place = self.cluster.place(2, self.layout.stage)
        sent = point_to_point(size, place, self.cluster)
        times = self.layout.pipeline - 1
        return self._calibrated(sent).scaled(times)

    @property
    def imbalance(self) -> float:
        """Layers of the fullest pipeline stage over the mean, 1 or more."""
        layers, pipeline = len(self.architecture.layers), self.layout.pipeline
        return pipeline * -(-layers // pipeline) / layers

    def _on_tokens(self, operator: Operator, tokens: Array) -> Cost:
        match operator:
            case Gemm():
                return self._gemm(operator, tokens)
            case Stream():
                return cost.of("elementwise", self.kernels.stream(tokens * operator.width))
            case Grouped():
                return self._grouped(operator, tokens)
            case AllReduce() | Gather() | Exchange():
                return self._communicate(operator, tokens)
            case _:
                raise TypeError(f"{operator} does not run on tokens")

    def _gemm(self, op: Gemm, rows: Array) -> Cost:
        """Norms and activations write fp8 with the static scales of the checkpoint (fused)."""
        priced = self.kernels.gemm(rows, op.n, op.k, op.dtype, quantised=op.dtype == "fp8")
        return cost.of(op.part, priced, self.epoch.gemm)

    def _grouped(self, op: Grouped, tokens: Array) -> Cost:
        priced = self.kernels.experts(
            tokens * op.fan,
            hidden=op.hidden,
            intermediate=op.intermediate,
            top_k=op.top_k,
            experts=op.experts,
            expert=op.expert,
            expert_tensor=op.expert_tensor,
            dtype=op.dtype,
            gated=op.gated,
        )
        return cost.of("experts", priced, self.epoch.experts)

    def _communicate(self, op: AllReduce | Gather | Exchange, tokens: Array) -> Cost:
        place, engine = self.cluster.place(op.ranks), self.epoch.engine
        match op:
            case AllReduce():
                priced = collective.all_reduce(
                    tokens * op.width, place, self.cluster, framework=engine
                )
            case Gather():
                priced = self._gather(tokens * op.width, op.ranks)
            case Exchange():
                priced = self._exchange(op, tokens * op.share)
        line = priced.bytes / self.cluster.nvlink if place.domains == 1 else 0.0
        least = np.minimum(priced.seconds, line)  # reduction in the switch may be below the line
        return self._calibrated(priced, least)

    def _calibrated(self, priced: Priced, least: ArrayLike = 0.0) -> Cost:
        """A collective as the engine runs it; least: s that no calibration goes below."""
        epoch = self.epoch
        return cost.collective(priced, epoch.communication * epoch.hopper, epoch.brief, least)

    def _gather(self, size: Array, ranks: int) -> Priced:
        """All-gather and reduce-scatter of `size` bytes from each of `ranks` GPUs."""
        place, whole = self.cluster.place(ranks), size * ranks
        there = collective.all_gather(whole, place, self.cluster)
        return there + collective.reduce_scatter(whole, place, self.cluster)

    def _exchange(self, op: Exchange, tokens: Array) -> Priced:
        """Tokens to their experts and back; inside a host all to all where that is quicker.

        vLLM's default there is to gather (allgather_reducescatter); TensorRT-LLM chooses.
        """
        place = self.cluster.place(op.ranks)
        there = experts.dispatch(
            tokens,
            hidden=op.hidden,
            bytes_per_value=op.dispatch,
            top_k=op.top_k,
            place=place,
            cluster=self.cluster,
            framework=self.epoch.engine,
            experts=op.experts,
        )
        back = experts.combine(
            tokens,
            hidden=op.hidden,
            bytes_per_value=op.combine,
            top_k=op.top_k,
            place=place,
            cluster=self.cluster,
            framework=self.epoch.engine,
            experts=op.experts,
        )
        if op.ranks > place.per_host:
            return there + back
        return self._gather(tokens * op.hidden * op.combine, op.ranks).quicker(there + back)

    def decode(
        self,
        batch: ArrayLike,
        context: ArrayLike,
        queries: int = 1,
        operators: Counter[Operator] | None = None,
    ) -> Cost:
        """Attention, scans and head of decoding sequences.

        batch: sequences per rank; context: mean tokens in each one's cache; queries: tokens each
        sequence computes in the step (1 + drafts).
        """
        sequences, cached = np.asarray(batch, dtype=float), np.asarray(context, dtype=float)
        host = self.epoch.per_sequence * sequences if operators is None else 0 * sequences
        operators = self.operators if operators is None else operators
        costs = [
            self._on_decode(operator, sequences, cached, queries).scaled(times)
            for operator, times in operators.items()
            if not _driven_by_tokens(operator)
        ]
        nothing = _nothing(sequences + cached)
        return cost.total([nothing, Cost({"host": host}, nothing.joules, {}), *costs])

    def _on_decode(self, operator: Operator, batch: Array, context: Array, queries: int) -> Cost:
        kernels = self.kernels
        match operator:
            case Gemm(rows="samples"):
                return self._gemm(operator, batch * queries)
            case Attend():
                priced = kernels.attention_decode(
                    batch,
                    context,
                    heads=operator.heads * queries,
                    kv_heads=operator.kv_heads,
                    head_dim=operator.head_dim,
                    value_dim=operator.value_dim,
                    window=_seen(operator),
                    kv_dtype=operator.kv_dtype,
                )
            case AttendLatent():
                priced = self._latent_decode(operator, batch, context, queries)
            case Recur():
                priced = kernels.recurrent_decode(batch * queries, **_scan(operator))
            case _:
                return _nothing(batch)
        return cost.of("attention", priced, self.epoch.attention)

    def _latent_decode(
        self, op: AttendLatent, batch: Array, context: Array, queries: int
    ) -> Priced:
        heads, index = op.heads * queries, op.indexer
        shape: dict[str, Any] = {
            "kv_rank": op.kv_rank,
            "rope_dim": op.rope_dim,
            "kv_dtype": op.kv_dtype,
        }
        entries = _entries(op, context)
        if index and not index.shared:
            attended = self.kernels.sparse_decode(
                batch,
                entries,
                heads=heads,
                top_k=index.top_k,
                index_heads=index.heads * queries,
                index_dim=index.head_dim,
                **shape,
            )
        else:
            read = np.minimum(entries, index.top_k) if index else entries
            attended = self.kernels.mla_decode(batch, read, heads=heads, **shape)
        if not op.absorbed:
            return attended
        return attended + self.kernels.mla_absorb(
            batch * queries,
            heads=op.heads,
            nope_dim=op.nope_dim,
            value_dim=op.value_dim,
            kv_rank=op.kv_rank,
        )

    def prefill(self, batch: ArrayLike, tokens: ArrayLike, context: ArrayLike = 0.0) -> Cost:
        """Attention and scans of prompts: `tokens` new ones each of `batch`, behind `context`."""
        sequences, new, cached = (np.asarray(each, float) for each in (batch, tokens, context))
        costs = [
            self._on_prefill(operator, sequences, new, cached).scaled(times)
            for operator, times in self.operators.items()
            if not _driven_by_tokens(operator)
        ]
        return cost.total([_nothing(sequences + new + cached), *costs])

    def _on_prefill(self, operator: Operator, batch: Array, new: Array, cached: Array) -> Cost:
        kernels = self.kernels
        match operator:
            case Gemm(rows="prefill"):
                return self._gemm(operator, batch * (new + cached))
            case Gemm(rows="samples"):
                return self._gemm(operator, batch)
            case Attend():
                priced = kernels.attention_prefill(
                    batch,
                    new,
                    cached,
                    heads=operator.heads,
                    kv_heads=operator.kv_heads,
                    head_dim=operator.head_dim,
                    value_dim=operator.value_dim,
                    window=_seen(operator),
                    kv_dtype=operator.kv_dtype,
                )
            case AttendLatent():
                priced = self._latent_prefill(operator, batch, new, cached)
            case Recur():
                priced = kernels.recurrent_prefill(batch, new, **_scan(operator))
            case _:
                return _nothing(batch)
        return cost.of("attention", priced, self.epoch.attention)

    def _latent_prefill(self, op: AttendLatent, batch: Array, new: Array, cached: Array) -> Priced:
        index = op.indexer
        shape: dict[str, Any] = {
            "heads": op.heads,
            "kv_rank": op.kv_rank,
            "rope_dim": op.rope_dim,
            "nope_dim": op.nope_dim,
            "value_dim": op.value_dim,
            "kv_dtype": op.kv_dtype,
        }
        behind = _entries(op, cached)
        if index is None:
            return self.kernels.mla_prefill(batch, new, behind, **shape)
        if index.shared:
            return self.kernels.mla_prefill(batch, new, np.minimum(behind, index.top_k), **shape)
        return self.kernels.sparse_prefill(
            batch,
            new,
            behind,
            top_k=index.top_k,
            index_heads=index.heads,
            index_dim=index.head_dim,
            **shape,
        )

    def host(self, states: ArrayLike) -> Cost:
        """Launch gaps of all layers and the engine's own work per step."""
        one = np.ones_like(np.asarray(states, dtype=float))
        return Cost({"host": self.epoch.host(self.architecture) * one}, np.zeros_like(one), {})


def _seen(op: Attend) -> int:
    """Tokens a query reads at most, 0 for all: its window, or the indexer's choice of blocks."""
    bounds = [each for each in (op.window, op.indexer.top_k if op.indexer else 0) if each]
    return min(bounds, default=0)


def _entries(op: AttendLatent, tokens: Array) -> Array:
    """Cache entries a query sees of `tokens` tokens: the window, and compressed ones behind it."""
    if op.compress > 1:
        return np.minimum(tokens, op.window) + tokens / op.compress
    return np.minimum(tokens, op.window) if op.window else tokens


def _driven_by_tokens(operator: Operator) -> bool:
    if isinstance(operator, Gemm):
        return operator.rows == "tokens"
    return isinstance(operator, Stream | AllReduce | Gather | Exchange | Grouped)


def _scan(operator: Recur) -> dict[str, Any]:
    return {name: getattr(operator, name) for name in operator.__struct_fields__}


def _nothing(like: Array) -> Cost:
    return Cost({}, np.zeros_like(like), {})

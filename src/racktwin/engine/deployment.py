"""A deployment: which model runs how, on which GPUs, under which engine."""

from __future__ import annotations

import msgspec

from racktwin.engine.autoscale import Autoscale
from racktwin.engine.epoch import Epoch
from racktwin.engine.offload import Offload
from racktwin.hardware import Cluster
from racktwin.models import Model
from racktwin.models.layout import Layout
from racktwin.models.precision import Precision

ROUTERS = ("least_outstanding", "round_robin", "cache_aware")
# How an engine admits requests where there is a choice, the default first; and whose choice.
SCHEDULERS = {"guaranteed_no_evict": "trtllm", "max_utilization": "trtllm"}
SCOPES = ("deployment", "copy")


class Speculation(msgspec.Struct, frozen=True):
    """Multi-token prediction: `tokens` drafts a step.

    acceptance: probability of a draft given that the one before was taken, 0..1; one for all, or
    one for each.
    """

    tokens: int = 0
    acceptance: float | tuple[float, ...] = 0.0

    @property
    def chances(self) -> tuple[float, ...]:
        """The probability of each draft given that the one before was taken, 0..1."""
        each = self.acceptance
        return each if isinstance(each, tuple) else (each,) * self.tokens

    @property
    def tokens_per_step(self) -> float:
        """Mean tokens a sequence gains per decode step: 1 + a1 + a1 a2 + a1 a2 a3 + ..."""
        total = taken = 1.0
        for chance in self.chances:
            taken *= chance
            total += taken
        return total


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Equal replicas with one role.

    max_batch: decoding sequences per attention-data rank.
    max_batch_tokens: token budget of one step per attention-data rank.
    spare_experts: redundant expert slots of every MoE layer.
    autoscale: how replicas follow the load; `replicas` are those at first.
    """

    layout: Layout
    replicas: int = 1
    max_batch: int = 256
    max_batch_tokens: int = 8192
    speculation: Speculation = Speculation()
    spare_experts: int = 0
    autoscale: Autoscale | None = None

    @property
    def most(self) -> int:
        """Replicas there may be."""
        return max(self.replicas, self.autoscale.most) if self.autoscale else self.replicas

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.replicas * self.layout.gpus


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """One copy of a served model: either `serve` (aggregated) or `prefill` and `decode` pools.

    memory_fraction: share of memory by the engine's own rule, 0..1; None is the epoch's.
    scheduler: one of `SCHEDULERS` of the engine, '' for its default.
    router_scope: whether a router sees the replicas of all copies, or each copy has its own.
    offload: where cached prefixes lie beyond a GPU's own memory.
    """

    model: Model
    cluster: Cluster
    engine: Epoch
    precision: Precision
    serve: Pool | None = None
    prefill: Pool | None = None
    decode: Pool | None = None
    router: str = "least_outstanding"
    router_scope: str = SCOPES[0]
    copies: int = 1
    memory_fraction: float | None = None
    scheduler: str = ""
    offload: Offload = Offload()

    @property
    def pools(self) -> dict[str, Pool]:
        """The pools by role, in the order a request meets them."""
        roles = {"serve": self.serve, "prefill": self.prefill, "decode": self.decode}
        return {role: pool for role, pool in roles.items() if pool is not None}

    @property
    def gpus(self) -> int:
        """GPUs of one copy."""
        return sum(pool.gpus for pool in self.pools.values())

    @property
    def most_gpus(self) -> int:
        """GPUs of one copy with all the replicas it may have."""
        return sum(pool.most * pool.layout.gpus for pool in self.pools.values())

    @property
    def fraction(self) -> float:
        """The engine's memory flag, 0..1."""
        return self.memory_fraction or self.engine.memory_fraction

    @property
    def reserved(self) -> float:
        """Share of the answer still to come whose cache must be free to admit a request, 0..1."""
        return 0.0 if self.scheduler == "max_utilization" else self.engine.reserved

    @property
    def title(self) -> str:
        """In one line: '10 x prefill TP2 + 1 x decode DP16/EP16'."""
        return " + ".join(self.titles)

    @property
    def titles(self) -> tuple[str, ...]:
        """One line per pool."""
        if self.serve is not None:
            count = f"{self.serve.replicas} x " if self.serve.replicas > 1 else ""
            chunk = f", chunks of {self.serve.max_batch_tokens:,}"
            return (f"{count}aggregated {self.serve.layout.title}{chunk}",)
        return tuple(
            f"{pool.replicas} x {role} {pool.layout.title}" for role, pool in self.pools.items()
        )

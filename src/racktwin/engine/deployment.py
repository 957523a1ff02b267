"""A deployment: which model runs how, on which GPUs, under which engine."""

from __future__ import annotations

import msgspec

from racktwin.engine.epoch import Epoch
from racktwin.hardware import Cluster
from racktwin.models import Model
from racktwin.models.layout import Layout
from racktwin.models.precision import Precision

ROUTERS = ("least_outstanding", "round_robin", "cache_aware")


class Speculation(msgspec.Struct, frozen=True):
    """Multi-token prediction: `tokens` drafts a step, each accepted with probability `acceptance`
    given that the one before was.
    """

    tokens: int = 0
    acceptance: float = 0.0

    @property
    def tokens_per_step(self) -> float:
        """Mean tokens a sequence gains per decode step: 1 + a + a^2 + ... + a^tokens."""
        return sum(self.acceptance**position for position in range(self.tokens + 1))


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Equal replicas with one role.

    max_batch: decoding sequences per attention-data rank.
    max_batch_tokens: token budget of one step per attention-data rank.
    spare_experts: redundant expert slots of every MoE layer.
    """

    layout: Layout
    replicas: int = 1
    max_batch: int = 256
    max_batch_tokens: int = 8192
    speculation: Speculation = Speculation()
    spare_experts: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of all replicas."""
        return self.replicas * self.layout.gpus


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """One copy of a served model: either `serve` (aggregated) or `prefill` and `decode` pools.

    memory_fraction: share of memory by the engine's own rule, 0..1; None is the epoch's.
    """

    model: Model
    cluster: Cluster
    engine: Epoch
    precision: Precision
    serve: Pool | None = None
    prefill: Pool | None = None
    decode: Pool | None = None
    router: str = "least_outstanding"
    copies: int = 1
    memory_fraction: float | None = None

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
    def fraction(self) -> float:
        """The engine's memory flag, 0..1."""
        return self.memory_fraction or self.engine.memory_fraction

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

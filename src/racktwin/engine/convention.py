"""How a serving engine accounts for GPU memory; the values stand in catalog/engines/*.yaml."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.engine.epoch import Epoch
from racktwin.engine.graphs import Graphs
from racktwin.units import Bandwidth, Bytes, Fraction, Seconds


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of an engine on GPUs with at least `memory` bytes: sequences and tokens a step."""

    memory: Bytes
    batch: int
    tokens: int


class Headroom(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine leaves free when no fraction is given, bytes.

    base, and per token of the budget, and per GPU; at least `least` bytes on GPUs above 60 GiB.
    """

    base: Bytes
    per_token: Bytes
    per_gpu: Bytes
    least: Bytes

    def fraction(self, visible: float, tokens: int, gpus: int) -> float:
        """The memory fraction it comes to on a GPU with `visible` bytes, 0 or more."""
        rest = self.base + self.per_token * tokens + self.per_gpu * gpus
        if visible > 60 << 30:
            rest = max(rest, self.least)
        return max(0.0, round(1 - rest / visible, 3))


class Convention(msgspec.Struct, frozen=True, kw_only=True):
    """The memory accounting of one engine.

    basis: what the fraction is a share of. 'total': all memory, for everything; 'static': memory
    free before loading, for weights and cache; 'free': what weights and activations leave free.
    fraction: the default; without one `headroom` decides.
    driver: bytes that the driver keeps. alone, group: bytes outside weights, activations and
    cache on a single GPU, and on each of several; per_rank: more bytes for every rank, up to
    `ranks` of them.
    sampling: bytes per sequence and vocabulary entry at the end of a step.
    block: tokens of a cache block. graphs: batches whose decode steps are recorded.
    windows: how a windowed layer counts in the logged size: 'full' like any other, 'share' with
    `window_share` of the tokens, 'window' with its window of every sequence.
    state_share: fraction of the room set aside for recurrent states; None when they share it.
    start: s of a start but for the weights, which come at `loading` bytes/s on each GPU.
    running: sequences a rank holds by default; None where that is the batch of the budget.
    """

    name: str
    title: str
    basis: Literal["total", "static", "free"]
    fraction: Fraction | None = None
    headroom: Headroom | None = None
    driver: Bytes
    alone: Bytes
    group: Bytes
    per_rank: Bytes
    ranks: int = 1
    sampling: Bytes
    block: int
    graphs: tuple[Graphs, ...]
    windows: Literal["full", "share", "window"]
    window_share: Fraction = Fraction(1.0)
    state_share: Fraction | None = None
    start: Seconds
    loading: Bandwidth
    budgets: tuple[Budget, ...]
    running: int | None = None

    @property
    def most(self) -> int:
        """Sequences that a rank of the largest GPUs holds unless told otherwise."""
        return self.running or self.budgets[-1].batch

    def outside(self, gpus: int) -> tuple[float, float]:
        """Bytes of context and graphs, and of communication buffers, on each of `gpus` GPUs."""
        if gpus == 1:
            return float(self.alone), 0.0
        return float(self.group), self.per_rank * min(gpus, self.ranks)

    def budget(self, visible: float) -> Budget:
        """Default sequences and tokens of a step on GPUs with `visible` bytes."""
        return [each for each in self.budgets if each.memory <= visible][-1]

    def default_fraction(self, visible: float, tokens: int, gpus: int) -> float:
        """The memory fraction this engine takes by itself on a GPU with `visible` bytes."""
        if self.headroom is not None:
            return self.headroom.fraction(visible, tokens, gpus)
        return float(self.fraction or 1.0)


@lru_cache
def convention(engine: str) -> Convention:
    """The convention of an engine by name: 'vllm', 'sglang' or 'trtllm'."""
    return catalog.load("engines", engine).build(Convention)


@lru_cache
def of_epoch(epoch: Epoch) -> Convention:
    """The convention of an epoch's engine, with the fraction that public launch scripts set.

    Under each engine's own basis the loads at which queues begin agree with measured ones.
    """
    return msgspec.structs.replace(
        convention(epoch.engine),
        name=epoch.name,
        fraction=Fraction(epoch.memory_fraction),
        headroom=None,
    )

"""Memory of one GPU under a deployment: weights, activations, buffers, and room for the cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from racktwin.engine.activations import BYTES, exchanged, widths
from racktwin.engine.cache import Cache, caches
from racktwin.engine.convention import Convention, of_epoch
from racktwin.engine.epoch import Epoch
from racktwin.models.architecture import Architecture
from racktwin.models.layout import Layout
from racktwin.models.parameters import stage_parts
from racktwin.models.precision import Precision

PerStage = float | Sequence[float]


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine's own log says, instead of our figure; bytes per GPU, None: not said.

    weights, activations: bytes; reserved: bytes outside them, buffers included; room: bytes left
    for the cache, one value or one per pipeline stage.
    """

    weights: float | None = None
    activations: float | None = None
    reserved: float | None = None
    room: PerStage | None = None

    def over(self, need: Need) -> Need:
        """`need` with what the log says in its place."""
        if self.weights is None and self.activations is None and self.reserved is None:
            return need
        said = self.reserved is not None
        return Need(
            need.weights if self.weights is None else self.weights,
            need.activations if self.activations is None else self.activations,
            0.0 if said else need.communication,
            need.reserved if self.reserved is None else self.reserved,
        )


class Stage(msgspec.Struct, frozen=True):
    """One GPU of a pipeline stage.

    weights: bytes; parts: bytes by part; cache: of its layers; width: elements per token alive at
    the peak of a step; last: whether the head is here.
    """

    weights: float
    parts: dict[str, float]
    cache: Cache
    width: float
    last: bool


class Need(msgspec.Struct, frozen=True):
    """What a GPU holds besides the cache: weights, activations, communication, reserved; bytes."""

    weights: float
    activations: float
    communication: float
    reserved: float


class MemoryFit(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of a GPU of the pipeline stage that holds the fewest tokens.

    visible: bytes an engine sees; fraction: the share it may use by its own rule (`Convention`).
    weights, parts: bytes of the model, and by part.
    activations: bytes at the peak of a step with its token budget.
    communication, reserved: bytes of collective and exchange buffers; of context and graphs.
    kv_room: bytes left for the cache; negative when that much is missing.
    kv_bytes_per_token: bytes as the engine counts its size.
    kv_tokens, kv_blocks: tokens and whole blocks in the room, per attention-data rank.
    state_bytes_per_sequence: bytes of recurrent state.
    state_room: bytes of the room set aside for states; 0 where they share it.
    margin: tokens a window keeps beyond itself. pooled: `kv_tokens` bind whatever windows save.
    stage: index of the pipeline stage.
    """

    stage: int
    visible: float
    fraction: float
    weights: float
    parts: dict[str, float]
    activations: float
    communication: float
    reserved: float
    kv_room: float
    kv_bytes_per_token: float
    kv_tokens: int
    kv_blocks: int
    block: int
    state_bytes_per_sequence: float
    state_room: float
    cache: Cache
    margin: int
    pooled: bool

    @property
    def loads(self) -> bool:
        """Whether weights and buffers leave any room."""
        return self.kv_room > 0

    def sequences(self, context: float) -> float:
        """Sequences of `context` tokens that fit into the room at once, per attention-data rank."""
        if self.pooled:
            states = (
                self.state_room / self.state_bytes_per_sequence if self.state_room else math.inf
            )
            return min(self.kv_tokens / context, states)
        size = self.cache.sequence(math.ceil(context / self.block) * self.block, self.margin)
        return max(0.0, self.kv_room) / size if size else math.inf

    @property
    def longest(self) -> float:
        """Tokens of the longest single sequence, whole blocks; inf when length costs nothing."""
        if self.pooled:
            return float(self.kv_tokens)
        tokens = self.cache.longest(max(0.0, self.kv_room), self.margin)
        return tokens if math.isinf(tokens) else tokens // self.block * self.block


@lru_cache(maxsize=16384)
def pipeline_stages(
    architecture: Architecture,
    precision: Precision,
    layout: Layout,
    mtp: bool = False,
    split: tuple[int, ...] | None = None,
) -> tuple[Stage, ...]:
    """One GPU of every pipeline stage of a replica."""
    parts = stage_parts(architecture, precision, layout, mtp, split)
    held = caches(architecture, precision.kv, precision.state, layout, split)
    wide = widths(architecture, layout, split)
    last = len(parts) - 1
    return tuple(
        Stage(sum(part.values()), part, held[index], wide[index], index == last)
        for index, part in enumerate(parts)
    )


def memory(
    architecture: Architecture,
    precision: Precision,
    layout: Layout,
    *,
    visible: PerStage,
    convention: Convention | Epoch,
    max_batch_tokens: int,
    max_batch: int,
    context: int = 0,
    fraction: float | None = None,
    mtp: bool = False,
    split: tuple[int, ...] | None = None,
    stated: Stated | None = None,
) -> MemoryFit:
    """Memory of one GPU of a replica under an engine's accounting.

    visible: bytes an engine sees per GPU, one value or one per pipeline stage.
    max_batch_tokens, max_batch: tokens and sequences of a step on one attention-data rank.
    context: longest sequence to be served, tokens; 0 means what the model allows.
    fraction: replaces the engine's default. mtp: load the multi-token-prediction layers.
    """
    rule = of_epoch(convention) if isinstance(convention, Epoch) else convention
    stated = stated or Stated()
    logits = rule.sampling * max_batch * architecture.vocab
    fixed, buffers = rule.outside(layout.gpus)
    buffers += BYTES * exchanged(architecture, layout) * max_batch_tokens
    margin = max_batch_tokens - 1 if rule.windows == "full" else 0
    tightest = None
    for index, stage in enumerate(pipeline_stages(architecture, precision, layout, mtp, split)):
        active = BYTES * stage.width * max_batch_tokens
        need = Need(stage.weights, max(active, logits) if stage.last else active, buffers, fixed)
        seen = _at(visible, index)
        share = fraction
        if share is None:
            share = rule.default_fraction(seen, max_batch_tokens, layout.gpus)
        longest = context or architecture.context
        fit = _fit(rule, stage, index, stated, stated.over(need), seen, share, longest, margin)
        if tightest is None or _holds(fit) < _holds(tightest):
            tightest = fit
    assert tightest is not None  # a pipeline has a stage
    return tightest


def _at(values: PerStage, index: int) -> float:
    return values if isinstance(values, int | float) else values[index]


def _holds(fit: MemoryFit) -> float:
    """Tokens before rounding; negative where memory is missing."""
    room = fit.kv_room - fit.state_room
    return room / fit.kv_bytes_per_token if fit.kv_bytes_per_token else room


def _fit(
    rule: Convention,
    stage: Stage,
    index: int,
    stated: Stated,
    need: Need,
    visible: float,
    fraction: float,
    context: int,
    margin: int,
) -> MemoryFit:
    cache = stage.cache
    room = kv_room(rule.basis, fraction, visible - rule.driver, need)
    states = max(0.0, room) * rule.state_share if cache.state and rule.state_share else 0.0
    if stated.room is not None:  # an engine logs it without the pool of states
        room, states = _at(stated.room, index), 0.0
    charged = charge(rule, cache, context)
    blocks = max(0, math.floor((room - states) / (charged * rule.block))) if charged else 0
    return MemoryFit(
        stage=index,
        visible=visible,
        fraction=fraction,
        weights=need.weights,
        parts=stage.parts,
        activations=need.activations,
        communication=need.communication,
        reserved=need.reserved,
        kv_room=room,
        kv_bytes_per_token=charged,
        kv_tokens=blocks * rule.block,
        kv_blocks=blocks,
        block=rule.block,
        state_bytes_per_sequence=cache.state,
        state_room=states,
        cache=cache,
        margin=margin,
        pooled=rule.windows == "share" and bool(cache.shared or states),
    )


def kv_room(basis: str, fraction: float, offered: float, need: Need) -> float:
    """Bytes left for the cache; negative when that much is missing.

    basis: see `Convention`; fraction: share of it; offered: bytes the driver offers.
    """
    fixed = need.communication + need.reserved
    match basis:
        case "total":
            return fraction * offered - need.weights - need.activations - fixed
        case "static":
            return fraction * (offered - fixed) - need.weights
    free = offered - need.weights - need.activations - fixed
    return fraction * free if free > 0 else free


def charge(rule: Convention, cache: Cache, context: int) -> float:
    """Bytes per token by which an engine turns room into the size it logs.

    context: tokens of the longest sequence. vLLM pages recurrent states in blocks of the
    attention layers, one group of layers after another, and counts every group.
    """
    match rule.windows:
        case "full":
            groups = 1 + math.ceil(cache.recurrent / cache.growing) if cache.growing else 1
            return cache.charged * groups
        case "share":
            return cache.growth + rule.window_share * cache.shared
    held = sum(size * min(context, window) for window, size in cache.windows)
    return cache.growth + held / context

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


class Stage(msgspec.Struct, frozen=True):
    """One GPU of a pipeline stage: bytes of weights and by part, its cache, elements per token."""

    weights: float
    parts: dict[str, float]
    cache: Cache
    width: float


class MemoryFit(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on a GPU of the pipeline stage that holds the fewest tokens.

    visible: memory an engine sees; fraction: the share it may use by its own rule (`Convention`).
    weights, parts: of the model, and by part. activations: peak of a step at its token budget.
    communication: buffers of collectives and expert exchange; reserved: context, graphs.
    kv_room: what is left for the cache; negative when that much is missing.
    kv_bytes_per_token: as the engine counts its size; kv_tokens, kv_blocks: whole blocks in the
    room, per attention-data rank. state_bytes_per_sequence: recurrent state, bytes.
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
    return tuple(
        Stage(sum(part.values()), part, cache, width)
        for part, cache, width in zip(parts, held, widths(architecture, layout, split), strict=True)
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
    fixed, buffers = rule.outside(layout.gpus)
    buffers += BYTES * exchanged(architecture, layout) * max_batch_tokens
    if stated.reserved is not None:
        buffers, fixed = 0.0, stated.reserved
    stages = pipeline_stages(architecture, precision, layout, mtp, split)
    logits = rule.sampling * max_batch * architecture.vocab
    fits = []
    for index, stage in enumerate(stages):
        seen = _at(visible, index)
        share = rule.default_fraction(seen, max_batch_tokens, layout.gpus)
        active = BYTES * stage.width * max_batch_tokens
        if index == len(stages) - 1:
            active = max(active, logits)
        need = Need(
            stage.weights if stated.weights is None else stated.weights,
            active if stated.activations is None else stated.activations,
            buffers,
            fixed,
        )
        share = share if fraction is None else fraction
        room = kv_room(rule.basis, share, seen - rule.driver, need)
        if stated.room is not None:
            room = _at(stated.room, index)
        size = _size(rule, stage.cache, room, context or architecture.context, stated.room is None)
        fits.append((size.tightness, index, seen, share, need, room, size))
    _, index, seen, share, need, room, size = min(fits, key=lambda fit: fit[0])
    return MemoryFit(
        stage=index,
        visible=seen,
        fraction=share,
        weights=need.weights,
        parts=stages[index].parts,
        activations=need.activations,
        communication=need.communication,
        reserved=need.reserved,
        kv_room=room,
        kv_bytes_per_token=size.charged,
        kv_tokens=size.blocks * rule.block,
        kv_blocks=size.blocks,
        block=rule.block,
        state_bytes_per_sequence=stages[index].cache.state,
        state_room=max(0.0, room) - size.room if size.room >= 0 else 0.0,
        cache=stages[index].cache,
        margin=max_batch_tokens - 1 if rule.windows == "full" else 0,
        pooled=rule.windows == "share",
    )


class Need(msgspec.Struct, frozen=True):
    """Bytes a GPU holds besides the cache."""

    weights: float
    activations: float
    communication: float
    reserved: float


class Size(msgspec.Struct, frozen=True):
    """The cache as an engine logs it.

    charged: bytes per token; room: bytes for tokens, states taken off; blocks: whole ones.
    tightness: tokens before rounding, negative where memory is missing.
    """

    charged: float
    room: float
    blocks: int
    tightness: float


def _at(values: PerStage, index: int) -> float:
    return values if isinstance(values, int | float) else values[index]


def _size(rule: Convention, cache: Cache, room: float, context: int, shared: bool) -> Size:
    """shared: the room holds recurrent states too."""
    charged = charge(rule, cache, context)
    if shared and cache.state and rule.state_share:
        room *= 1 - rule.state_share
    if not charged:
        return Size(0.0, room, 0, room)
    return Size(charged, room, max(0, math.floor(room / (charged * rule.block))), room / charged)


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
    kept = sum(size for _, size in cache.windows)
    match rule.windows:
        case "full":
            groups = 1 + math.ceil(cache.recurrent / cache.growing) if cache.growing else 1
            return cache.charged * groups
        case "share":
            return cache.growth + rule.window_share * kept
    held = sum(size * min(context, window) for window, size in cache.windows)
    return cache.growth + held / context

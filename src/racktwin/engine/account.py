"""Where the memory of one GPU goes, line by line, and where every figure is from."""

from __future__ import annotations

from collections import Counter

import msgspec

from racktwin import catalog
from racktwin.engine.fit import Answer
from racktwin.models import Attention, LatentAttention, Recurrent, kv, parameters
from racktwin.models.architecture import Mixer


class Line(msgspec.Struct, frozen=True):
    """One figure: bytes, and its origin.

    kind: 'datasheet', 'measured', 'derived', 'assumed' (see the catalog), 'formula' (arithmetic on
    the model and the layout) or 'given' (by the user).
    """

    part: str
    bytes: float
    kind: str
    source: str


def account(answer: Answer) -> tuple[Line, ...]:
    """The lines of the account, from what a GPU offers down to the room for the cache."""
    fit, rule = answer.memory, answer.question.rule
    offer = _offer(answer)
    weights = _weights(answer)
    active = _activations(answer)
    outside = _outside(answer)
    share = f"{fit.fraction:g}"
    if answer.question.stated.room is not None:
        room = Line("room for the cache", fit.kv_room, "given", "--kv-room")
        return (*offer, weights, active, *outside, room)
    match rule.basis:
        case "total":
            usable = fit.fraction * (fit.visible - rule.driver)
            used = _share(answer, f"usable, x {share}", usable)
            room = _room(fit.kv_room, "usable - weights - activations - engine")
            return (*offer, used, weights, active, *outside, room)
        case "static":
            held = fit.reserved + fit.communication
            usable = fit.fraction * (fit.visible - rule.driver - held)
            used = _share(answer, f"usable, x {share}", usable)
            room = _room(fit.kv_room, "usable - weights")
            beside = Line("activations, outside", active.bytes, active.kind, active.source)
            return (*offer, *outside, used, weights, room, beside)
    room = _share(answer, f"room for the cache, x {share}", fit.kv_room)
    return (*offer, weights, active, *outside, room)


def _offer(answer: Answer) -> tuple[Line, ...]:
    question = answer.question
    if question.flags.hbm is not None:
        return (Line("memory the engine sees", answer.memory.visible, "given", "--hbm"),)
    fact = catalog.load("chips", question.place.chip.name).fact("memory_visible")
    seen = Line("memory of a GPU", answer.memory.visible, fact.kind, fact.source)
    return seen, _fact(answer, "driver", "kept by the driver", question.rule.driver)


def _fact(answer: Answer, key: str, part: str, size: float) -> Line:
    fact = catalog.load("engines", answer.question.rule.name).fact(key)
    return Line(part, size, fact.kind, fact.source)


def _share(answer: Answer, part: str, size: float) -> Line:
    question = answer.question
    if question.fraction is not None:
        return Line(part, size, "given", "--memory-fraction")
    if question.rule.headroom is not None:
        return _fact(answer, "headroom.least", part, size)
    return _fact(answer, "fraction", part, size)


def _room(size: float, how: str) -> Line:
    return Line("room for the cache", size, "formula", how)


def _weights(answer: Answer) -> Line:
    size, question = answer.memory.weights, answer.question
    if question.stated.weights is not None:
        return Line("weights", size, "given", "--weights")
    count = parameters(question.model.architecture).total
    how = f"{count / 1e9:,.1f} B parameters, {question.precision.name}, {degrees(answer)}"
    return Line("weights", size, "formula", how)


def _activations(answer: Answer) -> Line:
    size, question = answer.memory.activations, answer.question
    if question.stated.activations is not None:
        return Line("activations", size, "given", "--activations")
    logits = question.rule.sampling * answer.max_batch * question.model.architecture.vocab
    if size == logits:
        fact = catalog.load("engines", question.rule.name).fact("sampling")
        vocab = question.model.architecture.vocab
        how = f"{question.rule.sampling:g} B x {answer.max_batch:,} sequences x {vocab:,} words"
        return Line("activations", size, fact.kind, f"{how}; {fact.source}")
    how = f"tensors alive in a step of {answer.max_batch_tokens:,} tokens"
    return Line("activations", size, "formula", how)


def _outside(answer: Answer) -> tuple[Line, ...]:
    fit = answer.memory
    if answer.question.stated.reserved is not None:
        return (Line("engine", fit.reserved, "given", "--reserved"),)
    if answer.layout.gpus == 1:
        return (_fact(answer, "alone", "engine", fit.reserved),)
    engine = _fact(answer, "group", "engine", fit.reserved)
    if not fit.communication:
        return (engine,)
    return engine, _fact(answer, "per_rank", "communication", fit.communication)


class Layers(msgspec.Struct, frozen=True):
    """Layers that keep the same: what and how many.

    per_token, state: bytes a layer keeps per token, and per sequence.
    """

    what: str
    layers: int
    per_token: float
    state: float


def layers(answer: Answer) -> tuple[Layers, ...]:
    """What one layer of each kind keeps on a GPU, the whole model counted."""
    question, tensor = answer.question, answer.layout.tensor
    counts = Counter(layer.mixer for layer in question.model.architecture.layers)
    return tuple(
        Layers(
            _named(mixer),
            count,
            kv.entry_bytes(mixer, question.precision.kv, tensor) + kv.index_bytes(mixer),
            sum(kv.recurrent_bytes(mixer, question.precision.state, tensor)),
        )
        for mixer, count in counts.items()
    )


def _named(mixer: Mixer | None) -> str:
    match mixer:
        case Attention():
            heads = f"{mixer.kv_heads} KV heads x {mixer.head_dim}"
            return f"attention, {heads}" + (f", window {mixer.window:,}" if mixer.window else "")
        case LatentAttention():
            return f"latent attention, {mixer.kv_rank} + {mixer.rope_dim}"
        case Recurrent():
            return f"recurrent, {mixer.value_heads} heads x {mixer.key_dim} x {mixer.value_dim}"
    return "no mixer"


def degrees(answer: Answer) -> str:
    """The layout in the usual letters: 'TP8', 'TP4 EP4 DP2'."""
    layout = answer.layout
    named = {
        "TP": layout.tensor,
        "PP": layout.pipeline,
        "DP": layout.attention_data,
        "EP": layout.expert,
    }
    return " ".join(f"{name}{count}" for name, count in named.items() if count > 1) or "TP1"

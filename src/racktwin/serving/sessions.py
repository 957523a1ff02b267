"""Sessions: what a user or a program asks for, once or in several turns with growing context."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.serving.columns import Columns
from racktwin.serving.lengths import Figure, Lengths, draw, spread
from racktwin.serving.ragged import ends
from racktwin.units import Fraction

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Images(msgspec.Struct, frozen=True, kw_only=True):
    """Images in every prompt: how many, and the tokens the encoder makes of one."""

    count: Lengths
    tokens: Lengths


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """How a session goes on after its first request.

    count: requests of a session. added: new input tokens of a later turn, a user's words or a
    tool's result; the rest of its input is the context so far. output: its answer, tokens.
    kept: share of an answer that stays in the context. pause: s of thinking or of a tool,
    counted from the completion of the turn before, or from its arrival where only arrivals
    were recorded (the turn still waits for the completion).
    """

    count: Lengths
    added: Lengths
    output: Lengths
    pause: Lengths
    pause_from: Literal["completion", "arrival"] = "completion"
    kept: Fraction = Fraction(1.0)


class Class(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of session: its share of all, and the lengths of its first request, tokens."""

    share: Figure = 1.0
    input: Lengths
    output: Lengths
    turns: Turns | None = None
    images: Images | None = None


class Calls(Columns, frozen=True, eq=False):
    """Requests of some sessions, session by session, turn by turn.

    session: from 0; turn: from 0; input, output, encoder: tokens; images: how many; offset: s after
    the session's start at which the request comes at the earliest; pause: s after the turn before.
    """

    session: Ints
    turn: Ints
    input: Ints
    output: Ints
    encoder: Ints
    images: Ints
    offset: Floats
    pause: Floats


def calls(classes: tuple[Class, ...], rng: np.random.Generator, count: int, context: int) -> Calls:
    """The requests of `count` sessions drawn from `classes`.

    A first prompt is cut so that it and its answer fit into `context` tokens (0: any length);
    a session ends before the turn that does not fit.
    """
    kind = _kinds(classes, rng, count)
    turns = np.ones(count, np.int64)
    for index, each in enumerate(classes):
        if each.turns:
            mine = kind == index
            turns[mine] = np.maximum(draw(each.turns.count, rng, int(mine.sum())), 1)
    session = np.arange(count)
    opening = ends(turns)[:-1]
    if turns.max() > 1:
        session = np.repeat(session, turns)
        opening = opening[session]
    turn = np.arange(len(session)) - opening
    tokens, seconds = np.zeros((4, len(session)), np.int64), np.zeros((2, len(session)))
    drawn = Calls(session, turn, *tokens, *seconds)
    kinds = kind[session] if len(classes) > 1 else None
    for index, each in enumerate(classes):
        mine = np.arange(len(turn)) if kinds is None else np.flatnonzero(kinds == index)
        _draw(drawn, mine, each, rng)
    if len(session) > count:  # later turns repeat what was said before
        for column in (drawn.input, drawn.offset):
            total = np.cumsum(column)
            column[:] = total - (total - column)[opening]
    return _fitting(drawn, opening, context) if context else drawn


def _kinds(classes: tuple[Class, ...], rng: np.random.Generator, count: int) -> Ints:
    if len(classes) == 1:
        return np.zeros(count, np.int64)
    reached = np.cumsum([each.share for each in classes])
    return np.searchsorted(reached / reached[-1], rng.random(count), side="right")


def _draw(into: Calls, rows: Ints, of: Class, rng: np.random.Generator) -> None:
    """Fill in the requests at `rows`: answers, and what each adds to the input and to the time."""
    late = into.turn[rows] > 0 if of.turns else np.zeros(len(rows), np.bool_)
    first, later = (rows[~late], rows[late]) if of.turns else (rows, rows[:0])
    into.input[first] = np.maximum(draw(of.input, rng, len(first)), 1)
    into.output[first] = np.maximum(draw(of.output, rng, len(first)), 1)
    if of.turns and len(later):
        into.output[later] = np.maximum(draw(of.turns.output, rng, len(later)), 1)
        kept = np.rint(of.turns.kept * into.output[later - 1]).astype(np.int64)
        into.input[later] = draw(of.turns.added, rng, len(later)) + kept
        into.offset[later] = spread(of.turns.pause, rng, len(later))
        if of.turns.pause_from == "completion":
            into.pause[later] = into.offset[later]
    if of.images:
        count = draw(of.images.count, rng, len(rows))
        into.images[rows] = count
        into.encoder[rows] = count * draw(of.images.tokens, rng, len(rows))
        into.input[rows] += into.encoder[rows]


def _fitting(drawn: Calls, opening: Ints, context: int) -> Calls:
    first = drawn.turn == 0
    room = np.maximum(context - drawn.output, 1)
    drawn.input[first] = np.minimum(drawn.input, room)[first]
    drawn.encoder[:] = np.minimum(drawn.encoder, drawn.input)
    over = ends((drawn.input > room).astype(np.int64))
    keep = over[1:] == over[opening]
    return drawn if keep.all() else drawn.take(keep)

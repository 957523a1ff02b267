"""Step tables: the three parts of a step priced once over a grid, then looked up.

A step's time splits exactly into work on its tokens, attention of its decoding sequences and
attention of its prompts, so three small tables hold every state of a replica.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine.cost import Array, Cost, total
from racktwin.engine.step import Step
from racktwin.estimate import Evidence

TOKENS: Array = np.exp2(np.arange(-6, 18.01, 0.125))
SEQUENCES: Array = np.exp2(np.arange(0, 12.01, 0.5))
CACHED: Array = np.exp2(np.arange(4.0, 20.01, 0.5))
PROMPTS: Array = np.exp2(np.arange(0.0, 9, 2))
NEW: Array = np.exp2(np.arange(0.0, 17.01, 0.5))
BEHIND: Array = np.concatenate([np.zeros(1), np.exp2(np.arange(7.0, 20.01))])


class Grid(msgspec.Struct, frozen=True):
    """Values on a product of increasing axes, read by linear interpolation between grid points.

    Outside the axes the value goes on along the last segment (time grows with the work).
    """

    axes: tuple[Array, ...]
    values: Array

    def __call__(self, *points: ArrayLike) -> Array:
        broadcast = np.broadcast_arrays(*[np.asarray(each, dtype=float) for each in points])
        result = self.values
        cells = []
        for axis, point in zip(self.axes, broadcast, strict=True):
            low = np.clip(np.searchsorted(axis, point, side="right") - 1, 0, len(axis) - 2)
            cells.append((low, (point - axis[low]) / (axis[low + 1] - axis[low])))
        corners: Array = np.zeros(broadcast[0].shape)
        for corner in np.ndindex(*(2,) * len(cells)):
            weight: Array = np.ones(broadcast[0].shape)
            index = []
            for high, (low, share) in zip(corner, cells, strict=True):
                weight = weight * (share if high else 1 - share)
                index.append(low + high)
            corners = corners + weight * result[tuple(index)]
        return corners


class Part(msgspec.Struct, frozen=True):
    """One of the three tables: seconds by part of the breakdown, their sum, and joules."""

    seconds: Grid
    joules: Grid
    parts: Mapping[str, Grid]
    evidence: Mapping[str, frozenset[Evidence]]


def _part(axes: tuple[Array, ...], cost: Cost) -> Part:
    shape = tuple(len(axis) for axis in axes)

    def grid(values: Array) -> Grid:
        return Grid(axes, np.broadcast_to(values, shape))

    parts = {name: grid(seconds) for name, seconds in cost.parts.items()}
    return Part(grid(cost.seconds), grid(cost.joules), parts, cost.evidence)


class StepTable:
    """All states of one attention-data rank of a replica; times in s, energy in J per GPU.

    Work on tokens is read twice: what a rank does alone at the tokens of the fullest rank, the
    routed experts at the mean over ranks, since they see the tokens of all.
    """

    def __init__(self, step: Step, drafts: int = 0) -> None:
        self.step, self.queries = step, 1 + drafts
        self.pipeline = step.layout.pipeline
        self.ranks = step.layout.attention_data
        self.tokens = _part((TOKENS,), step.tokens(TOKENS))
        decode = step.decode(SEQUENCES[:, None], CACHED[None, :], self.queries)
        self.decode = _part((SEQUENCES, CACHED), decode)
        prompts = PROMPTS[:, None, None], NEW[None, :, None], BEHIND[None, None, :]
        self.prefill = _part((PROMPTS, NEW, BEHIND), step.prefill(*prompts))
        self.host = float(step.host(1.0).seconds)
        self.draft = self._drafts(drafts)

    def _drafts(self, drafts: int) -> Part | None:
        if not drafts:
            return None
        operators = self.step.drafts
        cost = self.step.tokens(SEQUENCES[:, None], operators) + self.step.decode(
            SEQUENCES[:, None], CACHED[None, :], 1, operators
        )
        return _part((SEQUENCES, CACHED), cost.scaled(drafts))

    def on_tokens(self, tokens: ArrayLike, mean: ArrayLike | None = None) -> Array:
        """Seconds of work on `tokens` of the fullest rank, `mean` over the ranks of the stage."""
        seconds = self.tokens.seconds(tokens)
        if mean is None or "experts" not in self.tokens.parts:
            return seconds
        shared = self.tokens.parts["experts"]
        return seconds - shared(tokens) + shared(mean)

    def decode_step(self, batch: ArrayLike, context: ArrayLike) -> Array:
        """Seconds of a step of `batch` decoding sequences per rank at a mean `context`."""
        return self.mixed_step(batch, context, 0.0, 0.0, 0.0)

    def mixed_step(
        self,
        batch: ArrayLike,
        context: ArrayLike,
        prompts: ArrayLike,
        new: ArrayLike,
        behind: ArrayLike,
        mean: ArrayLike | None = None,
        aside: bool = False,
    ) -> Array:
        """Seconds of a step with `batch` decoding and `prompts` x `new` prefilled tokens.

        behind: cached tokens before each prompt; mean: tokens per rank over the whole stage when
        the ranks differ. A mean batch below one leaves ranks idle: the busy ones hold one each.
        aside: no rank does both, and the step is that of the slower one.
        """
        batch, context = np.asarray(batch, float), np.asarray(context, float)
        prompts, new = np.asarray(prompts, float), np.asarray(new, float)
        fullest = np.where(batch > 0, np.maximum(batch, 1.0), 0.0)
        if mean is None:
            mean = np.maximum(batch * self.queries + prompts * new, 1 / self.ranks)
        decoding, reading = fullest * self.queries, prompts * new
        tokens = np.maximum(decoding, reading) if aside else decoding + reading
        attended: Array = np.zeros(())
        if np.any(reading > 0):
            attended = self.prefill.seconds(np.maximum(prompts, 1.0), new, behind)
            attended = np.where(reading > 0, attended * np.minimum(prompts, 1.0), 0.0)
        seconds = self.host + self.on_tokens(tokens, mean)
        grown = np.where(batch > 0, self.decode.seconds(fullest, context), 0.0)
        if self.draft is not None:
            grown = grown + np.where(batch > 0, self.draft.seconds(fullest, context), 0.0)
        seconds = seconds + (np.maximum(grown, attended) if aside else grown + attended)
        return seconds * self.step.imbalance

    def joules(
        self,
        batch: ArrayLike,
        context: ArrayLike,
        prompts: ArrayLike,
        new: ArrayLike,
        behind: ArrayLike,
        seconds: ArrayLike,
    ) -> Array:
        """Energy of one GPU over a step of `seconds`: idle floor plus work, at most TDP, J.

        A GPU of a pipeline does its part of as many such steps at once as there are stages.
        """
        chip = self.step.cluster.chip
        batch, prompts, new = (np.asarray(each, float) for each in (batch, prompts, new))
        work = self.tokens.joules(batch * self.queries + prompts * new)
        work = work + np.where(batch > 0, self.decode.joules(batch, context), 0.0)
        if self.draft is not None:
            work = work + np.where(batch > 0, self.draft.joules(batch, context), 0.0)
        attended = self.prefill.joules(np.maximum(prompts, 1.0), new, behind)
        attended = attended * np.minimum(prompts, 1.0)
        work = work + np.where(prompts * new > 0, attended, 0.0)
        seconds = np.asarray(seconds, float)
        return np.minimum(chip.idle_power * seconds + work, chip.tdp * seconds)

    def breakdown(self, batch: float, context: float) -> dict[str, float]:
        """Seconds of a `decode_step` by part."""
        fullest = max(batch, 1.0)
        parts = {"host": self.host}
        shares = [(self.tokens, (fullest * self.queries,)), (self.decode, (fullest, context))]
        if self.draft is not None:
            shares.append((self.draft, (fullest, context)))
        for table, point in shares:
            for name, grid in table.parts.items():
                shown = "communication" if name == "transfer" else name
                parts[shown] = parts.get(shown, 0.0) + float(grid(*point))
        if shared := self.tokens.parts.get("experts"):
            mean = max(batch * self.queries, 1 / self.ranks)
            parts["experts"] += float(shared(mean) - shared(fullest * self.queries))
        return {name: seconds * self.step.imbalance for name, seconds in parts.items()}

    def evidence(
        self, batch: float, context: float, new: float = 0.0, behind: float = 0.0
    ) -> dict[str, frozenset[Evidence]]:
        """What each part of a step rests on, at one state: decoding, and `new` prefilled tokens."""
        costs = []
        if batch > 0:
            costs += [
                self.step.tokens(batch * self.queries),
                self.step.decode(max(1.0, batch), context, self.queries),
            ]
            if self.draft is not None:
                drafts = self.step.drafts
                costs += [self.step.tokens(batch, drafts)]
                costs += [self.step.decode(max(1.0, batch), context, 1, drafts)]
        if new > 0:
            costs += [self.step.tokens(new), self.step.prefill(1.0, new, behind)]
        return dict(total(costs).evidence)

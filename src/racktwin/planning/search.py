"""The search: every deployment in the space priced at once, as columns.

A candidate is one complete deployment (layouts, replicas, batch limit, token budgets) with its
memory, TTFT, TPOT and tokens/s at its best load: its batch limit reached on average.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.engine.cost import Array
from racktwin.engine.epoch import Epoch
from racktwin.planning.rank import Rank
from racktwin.serving import aggregated, disaggregated
from racktwin.serving.traffic import Traffic

# Sequences per rank: steps of at most a quarter, so the best load is met within a few percent.
BATCHES = np.unique(np.round(np.geomspace(1, 2048, 45)).astype(np.int64))
REPLICAS = np.array([1, 2, 3, 4, 6])
BUSY = 0.9  # highest share of time a prefill replica is planned to work
LARGEST = 144  # GPUs of one copy: two NVL72 racks; more of the same is more copies


class Candidates(msgspec.Struct, frozen=True):
    """Columns over candidates; -1 in `prefill` marks an aggregated deployment.

    prefill, decode: index of the layout; prefill_budget, budget: tokens per step and rank;
    prefills, decodes: replicas; batch: sequences per rank; gpus: of one copy.
    ttft, tpot: s; rate: requests/s of a copy; watts: mean GPU power, W per GPU.
    busy: share of time prefill work takes (prefill replicas, or steps that carry prompts).
    """

    prefill: NDArray[np.int64]
    decode: NDArray[np.int64]
    prefill_budget: Array
    budget: Array
    prefills: NDArray[np.int64]
    decodes: NDArray[np.int64]
    batch: Array
    gpus: Array
    ttft: Array
    tpot: Array
    rate: Array
    watts: Array
    busy: Array

    def __len__(self) -> int:
        return len(self.rate)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Candidates:
        """The candidates at `index`."""
        return Candidates(*(getattr(self, name)[index] for name in self.__struct_fields__))


def join(parts: Sequence[Candidates]) -> Candidates:
    """All candidates of several sets, in order."""
    columns = zip(*(msgspec.structs.astuple(part) for part in parts), strict=True)
    return Candidates(*(np.concatenate(column) for column in columns))


def aggregated_candidates(
    ranks: Sequence[Rank], epoch: Epoch, traffic: Traffic, gain: float
) -> Candidates:
    """Aggregated deployments of one replica each: layouts x token budgets x batch limits."""
    return join(
        [_aggregated(index, rank, epoch, traffic, gain) for index, rank in enumerate(ranks)]
    )


def _aggregated(index: int, rank: Rank, epoch: Epoch, traffic: Traffic, gain: float) -> Candidates:
    grid = np.meshgrid(BATCHES.astype(float), rank.budgets)
    batch, budget = grid[0].ravel(), grid[1].ravel()
    room = np.repeat(rank.capacity, len(BATCHES))
    at = aggregated.point(rank.table, epoch, traffic, batch, budget, gain)
    layout = rank.layout
    held = at.concurrency <= room
    good = held & (at.stalls < 1) & (budget > batch * rank.table.queries)
    behind = traffic.cached + traffic.new / 2
    prompts = batch / traffic.steps * gain  # prompts prefilled per step, on average
    joules = rank.table.joules(
        batch / layout.pipeline, traffic.decode_context, prompts, traffic.new, behind, at.step
    )
    full = np.full(len(batch), index)
    one = np.ones(len(batch), dtype=np.int64)
    return Candidates(
        prefill=-one,
        decode=full,
        prefill_budget=budget,
        budget=budget,
        prefills=0 * one,
        decodes=one,
        batch=batch,
        gpus=np.full(len(batch), float(layout.gpus)),
        ttft=at.ttft,
        tpot=at.tpot,
        rate=at.rate * layout.attention_data,
        watts=joules / at.step,
        busy=at.stalls,
    ).take(good)


class _Side(msgspec.Struct, frozen=True):
    """One side of a disaggregated pair, flat over its own choices (layout x budget or batch)."""

    layout: NDArray[np.int64]
    choice: Array
    gpus: Array
    latency: Array
    rate: Array
    watts: Array


def _prefill_side(ranks: Sequence[Rank], traffic: Traffic) -> _Side:
    columns = []
    for index, rank in enumerate(ranks):
        budget = rank.budgets
        at = disaggregated.prefill(rank.table, traffic, budget)
        good = rank.capacity >= at.prompts
        behind = traffic.cached + traffic.new / 2
        joules = rank.table.joules(0.0, 1.0, at.prompts, traffic.new, behind, at.service)
        watts = joules / at.service
        layout = np.full(len(budget), index)
        gpus = np.full(len(budget), float(rank.layout.gpus))
        columns.append(
            [each[good] for each in (layout, budget, gpus, at.service, at.capacity, watts)]
        )
    return _Side(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _decode_side(ranks: Sequence[Rank], traffic: Traffic, gain: float) -> _Side:
    columns = []
    for index, rank in enumerate(ranks):
        at = disaggregated.decode(rank.table, traffic, BATCHES, gain)
        good = rank.capacity[0] >= BATCHES
        share = BATCHES / rank.layout.pipeline
        joules = rank.table.joules(share, traffic.decode_context, 0.0, 1.0, 0.0, at.step)
        layout = np.full(len(BATCHES), index)
        gpus = np.full(len(BATCHES), float(rank.layout.gpus))
        watts = joules / at.step
        columns.append([each[good] for each in (layout, at.batch, gpus, at.tpot, at.rate, watts)])
    return _Side(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def disaggregated_candidates(
    prefills: Sequence[Rank],
    decodes: Sequence[Rank],
    epoch: Epoch,
    traffic: Traffic,
    gain: float,
    gpus: int,
) -> Candidates:
    """Pairs of a prefill pool and a decode pool, with replicas that balance them.

    For each pair and number of decode replicas the fewest prefill replicas that keep up are taken.
    """
    first, second = _prefill_side(prefills, traffic), _decode_side(decodes, traffic, gain)
    one, two, count = (
        each.ravel()
        for each in np.meshgrid(
            np.arange(len(first.rate)), np.arange(len(second.rate)), REPLICAS, indexing="ij"
        )
    )
    wanted = count * second.rate[two]
    need = np.maximum(np.ceil(wanted / (BUSY * first.rate[one])), 1.0)
    size = need * first.gpus[one] + count * second.gpus[two]
    keep = (size <= min(gpus, LARGEST)) & (np.gcd(need.astype(np.int64), count) == 1)
    one, two, count, wanted, need, size = (
        each[keep] for each in (one, two, count, wanted, need, size)
    )
    pool = disaggregated.Prefill(first.choice[one], first.latency[one], first.rate[one])
    busy = wanted / (need * first.rate[one])
    spent = need * first.gpus[one] * first.watts[one] * busy
    spent = spent + count * second.gpus[two] * second.watts[two]
    return Candidates(
        prefill=first.layout[one],
        decode=second.layout[two],
        prefill_budget=first.choice[one],
        budget=second.choice[two],
        prefills=need.astype(np.int64),
        decodes=count,
        batch=second.choice[two],
        gpus=size,
        ttft=disaggregated.first_token(pool, epoch, busy, need),
        tpot=second.latency[two],
        rate=wanted,
        watts=spent / size,
        busy=busy,
    )

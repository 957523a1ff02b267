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
    batch, budget = rank.batches, rank.budgets
    at = aggregated.point(rank.table, epoch, traffic, batch, budget, gain)
    layout = rank.layout
    held = at.concurrency <= rank.capacity
    good = held & (at.stalls < 1) & (budget > batch * rank.table.queries)
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
        watts=at.watts,
        busy=at.stalls,
    ).take(good)


class _Side(msgspec.Struct, frozen=True):
    """One side of a disaggregated pair, flat over layouts and their choices.

    budget: tokens per step and rank; batch: sequences or prompts; rate: requests/s; watts: W.
    latency, alone: s of the prefill of full steps and of a lone prompt; s per output token.
    """

    layout: NDArray[np.int64]
    budget: Array
    batch: Array
    gpus: Array
    latency: Array
    alone: Array
    rate: Array
    watts: Array


def _side(columns: Sequence[Sequence[Array]], good: Sequence[NDArray[np.bool_]]) -> _Side:
    kept = [[each[keep] for each in row] for row, keep in zip(columns, good, strict=True)]
    return _Side(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def _prefill_side(ranks: Sequence[Rank], traffic: Traffic) -> _Side:
    columns, good = [], []
    for index, rank in enumerate(ranks):
        at = disaggregated.prefill(rank.table, traffic, rank.budgets)
        layout = np.full(len(rank.budgets), index)
        gpus = np.full(len(layout), float(rank.layout.gpus))
        one = layout, rank.budgets, at.prompts, gpus, at.service, at.alone, at.capacity, at.watts
        columns.append(one)
        good.append(rank.capacity >= at.prompts)
    return _side(columns, good)


def _decode_side(ranks: Sequence[Rank], traffic: Traffic, gain: float) -> _Side:
    columns, good = [], []
    for index, rank in enumerate(ranks):
        at = disaggregated.decode(rank.table, traffic, rank.batches, gain)
        layout = np.full(len(rank.batches), index)
        gpus = np.full(len(layout), float(rank.layout.gpus))
        one = layout, rank.budgets, rank.batches, gpus, at.tpot, at.tpot, at.rate, at.watts
        columns.append(one)
        good.append(rank.capacity >= rank.batches)
    return _side(columns, good)


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
    idle = prefills[0].table.step.cluster.chip.idle_power
    first, second = _prefill_side(prefills, traffic), _decode_side(decodes, traffic, gain)
    one, two, count = (
        each.ravel()
        for each in np.meshgrid(
            np.arange(len(first.rate)), np.arange(len(second.rate)), REPLICAS, indexing="ij"
        )
    )
    largest = min(gpus, max(LARGEST, 3 * second.gpus.min(initial=gpus)))
    wanted = count * second.rate[two]
    need = np.maximum(np.ceil(wanted / (BUSY * first.rate[one])), 1.0)
    size = need * first.gpus[one] + count * second.gpus[two]
    keep = (size <= largest) & (np.gcd(need.astype(np.int64), count) == 1)
    one, two, count, wanted, need, size = (
        each[keep] for each in (one, two, count, wanted, need, size)
    )
    pool = disaggregated.Prefill(
        first.batch[one], first.latency[one], first.alone[one], first.rate[one], first.watts[one]
    )
    busy = wanted / (need * first.rate[one])
    share = need * first.gpus[one] / size
    return Candidates(
        prefill=first.layout[one],
        decode=second.layout[two],
        prefill_budget=first.budget[one],
        budget=second.budget[two],
        prefills=need.astype(np.int64),
        decodes=count,
        batch=second.batch[two],
        gpus=size,
        ttft=disaggregated.first_token(pool, epoch, busy, need),
        tpot=second.latency[two],
        rate=wanted,
        watts=disaggregated.watts(pool.watts, second.watts[two], busy, share, idle),
        busy=busy,
    )

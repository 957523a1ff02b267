"""Candidates priced one by one in plain Python equal the columns priced at once."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from tests.planning.conftest import Asking

from racktwin.planning.plan import candidates_of
from racktwin.planning.pools import Priced
from racktwin.planning.search import BATCHES, BUSY, LARGEST, Candidates
from racktwin.serving import aggregated, disaggregated

SAMPLE = 60


def sampled(every: Candidates, aggregated: bool) -> list[int]:
    rows = np.flatnonzero((every.prefill < 0) == aggregated).tolist()
    return random.Random(0).sample(rows, min(SAMPLE, len(rows)))


@pytest.fixture(params=["dense", "experts", "drafts"])
def priced(request: pytest.FixtureRequest, small: Asking, experts: Asking) -> Priced:
    if request.param == "dense":
        return Priced(small(engine="vllm", prefix_hit="30%"))
    return Priced(experts(mtp="1:0.8") if request.param == "drafts" else experts(engine="sglang"))


def test_aggregated_candidates_one_by_one(priced: Priced) -> None:
    ask, every = priced.ask, candidates_of(priced)
    gain = ask.speculation.tokens_per_step
    for row in sampled(every, aggregated=True):
        layout = priced.loading[int(every.decode[row])]
        batch, budget = float(every.batch[row]), float(every.budget[row])
        table = priced.tables[layout]
        at = aggregated.point(table, ask.epoch, ask.traffic, batch, budget, gain)
        assert every.ttft[row] == pytest.approx(float(at.ttft))
        assert every.tpot[row] == pytest.approx(float(at.tpot))
        assert every.rate[row] == pytest.approx(float(at.rate) * layout.attention_data)
        assert every.watts[row] == pytest.approx(float(at.watts))
        assert every.gpus[row] == layout.gpus
        fit = priced.fit(layout, budget, batch)
        assert fit.loads
        assert float(at.concurrency) <= fit.sequences(ask.traffic.held(ask.epoch.reserved))
        assert float(at.stalls) < 1


def test_disaggregated_candidates_one_by_one(priced: Priced) -> None:
    ask, every = priced.ask, candidates_of(priced)
    gain, traffic = ask.speculation.tokens_per_step, ask.traffic
    for row in sampled(every, aggregated=False):
        first = priced.loading[int(every.prefill[row])]
        second = priced.loading[int(every.decode[row])]
        prefills, decodes = int(every.prefills[row]), int(every.decodes[row])
        budget = float(every.prefill_budget[row])
        at = disaggregated.decode(priced.tables[second], traffic, float(every.batch[row]), gain)
        pool = disaggregated.prefill(priced.tables[first], traffic, budget)
        rate = decodes * float(at.rate)
        assert prefills == max(1, math.ceil(rate / (BUSY * float(pool.capacity)) - 1e-9))
        busy = rate / (prefills * float(pool.capacity))
        assert math.gcd(prefills, decodes) == 1
        assert every.rate[row] == pytest.approx(rate)
        assert every.busy[row] == pytest.approx(busy)
        assert every.tpot[row] == pytest.approx(float(at.tpot))
        ttft = disaggregated.first_token(pool, ask.epoch, busy, prefills)
        assert every.ttft[row] == pytest.approx(float(ttft))
        gpus = prefills * first.gpus + decodes * second.gpus
        assert every.gpus[row] == gpus <= min(ask.gpus, LARGEST)
        drawn = disaggregated.watts(
            pool.watts, at.watts, busy, prefills * first.gpus / gpus, ask.cluster.chip.idle_power
        )
        assert every.watts[row] == pytest.approx(float(drawn))


def test_batches_grow_by_a_quarter_at_most() -> None:
    assert (BATCHES[0], BATCHES[-1]) == (1, 2048)
    assert np.all(np.diff(BATCHES)[8:] <= 0.25 * BATCHES[8:-1])


def test_the_memory_of_a_candidate_is_that_of_its_own_batch(small: Asking) -> None:
    """vLLM sizes its sampling by the batch limit: a larger one leaves less for the cache."""
    (rank, *_) = Priced(small(engine="vllm")).serving()
    budget = rank.budgets == rank.budgets[0]
    assert np.all(np.diff(rank.capacity[budget]) <= 0)
    assert rank.capacity[budget][-1] < rank.capacity[budget][0]


def test_modes_keep_to_themselves(small: Asking) -> None:
    one = candidates_of(Priced(small(mode="aggregated")))
    two = candidates_of(Priced(small(mode="disaggregated")))
    both = candidates_of(Priced(small()))
    assert np.all(one.prefill == -1)
    assert np.all(two.prefill >= 0)
    assert len(both) == len(one) + len(two)

"""Simulation: conservation, theory, determinism, loads that cannot be carried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.finding import BadInput
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.fleet import DECODED, JOULES, PREFILLED
from racktwin.serving.outcome import outcome, readings
from racktwin.serving.simulation import Order, Simulation, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace, cut
from racktwin.serving.traffic import Traffic

REPLICAS = 4


@cache
def served(engine: str = "vllm") -> Served:
    named = model("llama-3.1-8b")
    pool = Pool(layout=Layout(), replicas=REPLICAS, max_batch=64, max_batch_tokens=2048)
    return Served(
        Deployment(
            model=named,
            cluster=hardware.cluster("hgx-b200", nodes=1),
            engine=epoch(engine),
            precision=named.at("fp8"),
            serve=pool,
        )
    )


def poisson(count: int, rate: float, seed: int = 1, input: int = 600, output: int = 100) -> Trace:
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1 / rate, count))
    lengths = rng.integers(output // 2, output * 3 // 2, count)
    return Trace.of(arrival, rng.integers(input // 2, input * 3 // 2, count), lengths)


def run(trace: Trace, engine: str = "vllm", chunk: int = 4000, **order: Any) -> Simulation:
    return simulate(served(engine), cut([trace], chunk), Order(**order))


def rows(trace: Trace, **given: Any) -> tuple[Simulation, dict[str, Any]]:
    """The run, and its requests in order of the stream."""
    parts: list[dict[str, Any]] = []
    done = run(trace, rows=parts.append, **given)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["request"], kind="stable")
    return done, {name: values[order] for name, values in joined.items()}


def test_one_request_is_the_sum_of_its_steps() -> None:
    done, found = rows(Trace.of([0.5], [600], [50]))
    table = served().tables["serve"]
    prefill = float(table.mixed_step(0.0, 1.0, 1.0, 600.0, 0.0))
    assert found["first"][0] - 0.5 == pytest.approx(prefill, rel=0.01)
    decode = sum(float(table.decode_step(1.0, 600.0 + i)) for i in range(49))
    assert found["finish"][0] - found["first"][0] == pytest.approx(decode, rel=0.01)
    assert outcome(done).span.whole


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm-1.3"])
@pytest.mark.parametrize("router", ["round_robin", "least_outstanding"])
def test_nothing_is_lost(engine: str, router: str) -> None:
    trace = poisson(3000, 60.0)
    done, found = rows(trace, engine=engine, router=router)
    assert (found["request"] == np.arange(3000)).all()
    assert (found["input"] == trace.input).all()
    assert (found["output"] == trace.output).all()
    assert (found["arrival"] == trace.arrival).all()
    assert (found["admitted"] >= found["arrival"]).all()
    assert (found["first"] > found["admitted"]).all()
    assert (found["finish"] >= found["first"]).all()
    assert readings(done, "serve", PREFILLED)[-1] == trace.input.sum()
    assert readings(done, "serve", DECODED)[-1] == (trace.output - 1).sum()
    busy = readings(done, "serve", 0)[-1]
    chip = served(engine).deployment.cluster.chip
    assert chip.idle_power * busy <= readings(done, "serve", JOULES)[-1] <= chip.tdp * busy


def test_requests_in_flight_are_rate_times_time() -> None:
    found = outcome(run(poisson(20_000, 60.0)))
    assert not found.short
    assert found.inside == pytest.approx(found.little, rel=0.03)
    assert found.requests == pytest.approx(60.0, rel=0.03)
    assert found.pools["serve"].busy <= 1.0


def test_little_holds_in_a_closed_loop() -> None:
    done, found = rows(poisson(6000, 1.0), concurrency=48)
    events = np.concatenate([found["arrival"], found["finish"]])
    step = np.concatenate([np.ones(6000), -np.ones(6000)])
    order = np.lexsort((step, events))  # a request ends before the next comes
    assert np.cumsum(step[order]).max() == 48
    answer = outcome(done)
    assert answer.inside == pytest.approx(48)
    assert answer.little == pytest.approx(48, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_the_steady_state_is_what_a_long_run_comes_to(load: float) -> None:
    trace = poisson(20_000, 1.0)
    traffic = Traffic(input=float(trace.input.mean()), output=float(trace.output.mean()))
    capacity = float(served().curve(traffic).requests[-1])
    formula = served().open(traffic, load * capacity)
    found = outcome(run(trace.scaled(load * capacity)))
    assert found.tpot.mean == pytest.approx(formula.tpot, rel=0.1)
    assert found.requests == pytest.approx(load * capacity, rel=0.03)
    assert found.watts == pytest.approx(formula.watts, rel=0.1)


def test_power_of_hardly_any_load_is_what_the_steady_state_says() -> None:
    trace = poisson(2000, 1.0)
    traffic = Traffic(input=float(trace.input.mean()), output=float(trace.output.mean()))
    capacity = float(served().curve(traffic).requests[-1])
    idle = served().deployment.cluster.chip.idle_power
    for load in (1e-4, 3e-3):
        formula = served().open(traffic, load * capacity).watts
        found = outcome(run(trace.scaled(load * capacity))).watts
        assert found - idle == pytest.approx(formula - idle, rel=0.15)


def test_a_closed_loop_saturates_where_the_formula_does() -> None:
    trace = poisson(20_000, 1.0)
    traffic = Traffic(input=float(trace.input.mean()), output=float(trace.output.mean()))
    formula = served().closed(traffic, 240.0)
    found = outcome(run(trace, concurrency=240))
    assert found.requests == pytest.approx(formula.requests, rel=0.1)


def test_same_seed_same_bytes_whatever_the_bins_and_stretches() -> None:
    trace = poisson(3000, 80.0)
    once = rows(trace)[1]
    for given in ({}, {"resolution": 0.37}, {"chunk": 113}):
        again = rows(trace, **given)[1]  # type: ignore[arg-type]
        assert all(once[name].tobytes() == again[name].tobytes() for name in once)


def test_stretches_make_no_difference_to_a_router() -> None:
    trace = poisson(3000, 80.0)
    one, other = (rows(trace, router="least_kv", chunk=chunk)[1] for chunk in (100, 3000))
    assert (one["finish"] == other["finish"]).all()


def test_memory_stays_flat() -> None:
    def endless() -> Iterator[Trace]:
        for part in range(40):
            trace = poisson(1000, 60.0, seed=part)
            first = part * 1000
            yield trace.having(arrival=trace.arrival + 20.0 * part, first=first)

    def chronological() -> Iterator[Trace]:
        whole = list(endless())
        arrival = np.sort(np.concatenate([part.arrival for part in whole]))
        for index, part in enumerate(whole):
            yield part.having(arrival=arrival[index * 1000 : (index + 1) * 1000])

    done = simulate(served(), chronological(), Order())
    assert done.finished == 40_000
    assert len(done.window) < 4000
    assert len(done.timeline.times) < 600
    assert len(done.runner.pools["serve"].state.slots) == 1 << 15


def test_more_than_it_can_carry_ends_and_says_by_how_much() -> None:
    trace = poisson(20_000, 1.0)
    traffic = Traffic(input=float(trace.input.mean()), output=float(trace.output.mean()))
    capacity = float(served().curve(traffic).requests[-1])
    found = outcome(run(trace.scaled(2 * capacity)))
    assert found.overloaded
    assert found.growth == pytest.approx(capacity, rel=0.2)
    assert not outcome(run(poisson(5000, 0.5 * capacity))).overloaded


def test_what_can_never_fit_is_refused_and_counted() -> None:
    trace = Trace.of([0.0, 1.0, 2.0], [500, 200_000, 500], [10, 10, 10])
    done, found = rows(trace)
    assert list(found["request"]) == [0, 2]
    assert done.window.refused == 1
    assert "1 request of up to 200,010 tokens refused" in done.refusal
    with pytest.raises(BadInput, match="refused"):
        run(trace.part(1, 2))
    with pytest.raises(BadInput, match="none in the time asked"):
        run(trace.part(0, 0))


def test_turns_wait_for_answers_and_pauses() -> None:
    after = [-1, 0, 1, -1, 3]
    trace = Trace.of(
        [0.0, 0.0, 0.0, 0.1, 0.2],
        [400, 500, 600, 400, 900_000],
        [40, 40, 40, 40, 40],
        after=after,
        pause=[0.0, 1.5, 0.25, 0.0, 1.0],
        session=[0, 0, 0, 1, 1],
    )
    for chunk in (5, 1):
        done, found = rows(trace, chunk=chunk)
        assert list(found["request"]) == [0, 1, 2, 3]
        assert found["arrival"][1] == pytest.approx(found["finish"][0] + 1.5, abs=1e-12)
        assert found["arrival"][2] == pytest.approx(found["finish"][1] + 0.25, abs=1e-12)
        assert done.window.refused == 1


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("rate", [60.0, 400.0])
def test_gaps_between_tokens_add_up(engine: str, rate: float) -> None:
    done, found = rows(poisson(10_000, rate), engine=engine)
    decoding = found["finish"] - found["first"]
    mean = decoding.sum() / (found["output"] - 1).sum()
    assert outcome(done).itl.mean == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_every_gap_is_in_a_bin(engine: str) -> None:
    trace = poisson(200, 20.0)
    done = run(trace, engine=engine, resolution=0.25)
    bins = done.timeline.gaps
    assert sum(each.counts.sum() for each in bins) == (trace.output - 1).sum()
    alone = run(Trace.of([0.0], [600], [200]), engine=engine)
    times = [each.level(0.5) for each in alone.timeline.gaps if len(each.places)]
    assert np.mean(times) == pytest.approx(outcome(alone).tpot.mean, rel=0.01)


def test_a_run_stopped_by_its_watcher_reports_what_is_done() -> None:
    done = run(poisson(3000, 60.0), watch=lambda seconds, finished: finished < 1000)
    found = outcome(done)
    assert found.stopped
    assert 1000 <= found.finished < 3000


def test_speculation_gains_tokens() -> None:
    plain = served().deployment
    assert plain.serve is not None
    speculation = msgspec.structs.replace(plain.serve.speculation, tokens=1, acceptance=0.5)
    pool = msgspec.structs.replace(plain.serve, speculation=speculation)
    drafted = Served(msgspec.structs.replace(plain, serve=pool))
    trace = Trace.of([0.0], [600], [91])
    slow = outcome(simulate(served(), iter([trace]), Order()))
    fast = outcome(simulate(drafted, iter([trace]), Order()))
    assert 1.2 < slow.tpot.mean / fast.tpot.mean < 1.5


def test_separate_pools_answer_after_the_handover() -> None:
    """A lone request feels what `predict` says: the prompt's step, the reply and the handover."""
    one = served("trtllm-1.3").deployment
    pool = msgspec.structs.replace(one.pools["serve"], replicas=1)
    engine = msgspec.structs.replace(one.engine, handover=0.15, prefill_apart=1.0)
    asked = msgspec.structs.replace(one, engine=engine, serve=None, prefill=pool, decode=pool)
    apart = Served(asked)
    found = outcome(simulate(apart, cut([Trace.of([0.0], [600], [50])], 10), Order()))
    state = apart.closed(Traffic(input=600, output=50), 1.0)
    assert found.ttft.mean == pytest.approx(state.ttft, rel=0.02)
    assert found.e2e.mean == pytest.approx(state.ttft + 49 * state.tpot, rel=0.05)

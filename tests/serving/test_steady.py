"""The steady state of whole deployments: laws that hold whatever the kernels measure."""

from __future__ import annotations

import math
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.epochs import epoch
from racktwin.models import Layout, model
from racktwin.serving.prompting import reading
from racktwin.serving.steady import Served, at_work_closed, at_work_open, rising
from racktwin.serving.traffic import Traffic

CHAT = Traffic(input=2048, output=512)
POOLS: dict[str, tuple[str, str, str, str, dict[str, Pool]]] = {
    "dense": (
        *("llama-3.1-70b", "fp8", "azure-nd-h100-v5", "vllm"),
        {"serve": Pool(layout=Layout(tensor=4), replicas=2, max_batch=256)},
    ),
    "experts": (
        *("deepseek-r1", "nvfp4", "azure-nd-gb300-v6", "trtllm"),
        {"serve": Pool(layout=Layout(attention_data=8, expert=8), max_batch=512)},
    ),
    "pools": (
        *("deepseek-r1", "nvfp4", "azure-nd-gb300-v6", "trtllm"),
        {
            "prefill": Pool(layout=Layout(tensor=4, expert=4), replicas=3),
            "decode": Pool(layout=Layout(attention_data=16, expert=16), max_batch=128),
        },
    ),
    "pipeline": (
        *("llama-3.1-70b", "bf16", "azure-nd-h100-v5", "sglang"),
        {"serve": Pool(layout=Layout(tensor=8, pipeline=2), max_batch=128)},
    ),
}
KINDS = pytest.mark.parametrize("kind", POOLS)


def deployment(kind: str) -> Deployment:
    name, precision, cluster, engine, pools = POOLS[kind]
    found = model(name)
    return Deployment(
        model=found,
        cluster=hardware.cluster(cluster),
        engine=epoch(engine),
        precision=found.at(precision),
        **pools,
    )


@cache
def served(kind: str) -> Served:
    return Served(deployment(kind))


traffics = st.builds(
    Traffic,
    input=st.floats(32, 16_000),
    output=st.floats(16, 4000),
    prefix_hit=st.floats(0, 0.9),
)


@KINDS
@settings(max_examples=12)
@given(traffic=traffics, share=st.floats(0.001, 1.2))
def test_closed_and_open_loads_agree(kind: str, traffic: Traffic, share: float) -> None:
    most = served(kind).curve(traffic).requests.max()
    state = served(kind).open(traffic, share * most)
    if share > 1:
        assert state.ttft == math.inf
        assert state.requests == pytest.approx(most)
        return
    assert state.requests == pytest.approx(share * most)
    back = served(kind).closed(traffic, state.concurrency)
    assert back.requests == pytest.approx(state.requests, rel=0.03)  # between points of a dip
    assert back.ttft == pytest.approx(state.ttft, rel=0.03)
    assert back.tpot == pytest.approx(state.tpot, rel=0.03)


@KINDS
@settings(max_examples=12)
@given(traffic=traffics, load=st.floats(0.01, 10_000))
def test_littles_law_with_and_without_a_queue(kind: str, traffic: Traffic, load: float) -> None:
    state = served(kind).closed(traffic, load)
    inside = state.ttft + traffic.steps * state.tpot
    # columns of the curve are read between its points, their product is not
    assert state.concurrency == pytest.approx(state.requests * inside, rel=0.01)
    assert state.concurrency == pytest.approx(load)
    assert (state.queued > 0) == (state.limit != "the load")


def test_a_dip_does_not_end_the_load() -> None:
    assert rising(np.array([0.0, 1.0, 0.9, 1.0, 2.0, 1.5])).tolist() == [0, 1, 4]
    found = Served(deployment("dense"))
    whole = found.curve(CHAT)
    dip = len(whole.requests) // 2
    requests = whole.requests.copy()
    requests[dip] *= 0.9
    found.curve = lambda traffic: msgspec.structs.replace(whole, requests=requests)  # type: ignore[method-assign]
    assert found.open(CHAT, 1e9).requests == pytest.approx(whole.requests.max())
    assert found.closed(CHAT, whole.concurrency[-1]).batch == pytest.approx(whole.batch[-1])


@KINDS
@settings(max_examples=12)
@given(traffic=traffics)
def test_load_only_raises_times_and_power(kind: str, traffic: Traffic) -> None:
    curve = served(kind).curve(traffic)
    assert np.all(np.diff(curve.batch) > 0)
    assert np.all(np.diff(curve.concurrency) > 0)
    # a kernel that takes a larger tile may cost a few percent of the throughput
    assert np.all(np.diff(curve.requests) > -0.1 * curve.requests[1:])
    assert np.all(np.diff(curve.tpot) > -0.05 * curve.tpot[1:])
    chip = served(kind).deployment.cluster.chip
    assert np.all(curve.watts >= chip.idle_power * (1 - 1e-9))
    assert np.all(curve.watts <= chip.tdp * (1 + 1e-9))


@KINDS
def test_replicas_without_requests_draw_their_idle_power(kind: str) -> None:
    found = served(kind)
    idle = found.deployment.cluster.chip.idle_power
    assert found.open(CHAT, 1e-7).watts == pytest.approx(idle, rel=1e-3)
    assert found.closed(CHAT, 1e-7).watts == pytest.approx(idle, rel=1e-3)
    curve = found.curve(CHAT)
    assert found.closed(CHAT, curve.concurrency[-1]).watts == pytest.approx(curve.watts[-1])


def test_how_often_a_stage_works() -> None:
    assert (at_work_closed(0.25), at_work_closed(3.0)) == (0.25, 1.0)
    assert at_work_open(0.25) == pytest.approx(0.221199)  # 1 - exp(-1/4)
    assert at_work_open(1e-9) == pytest.approx(1e-9)


@KINDS
def test_tokens_are_conserved(kind: str) -> None:
    state = served(kind).closed(CHAT, 20.0)
    gpus = served(kind).deployment.gpus
    assert state.gpus == gpus
    assert state.output_rate == pytest.approx(state.requests * 512)
    assert state.output_rate_per_gpu == pytest.approx(state.requests * 512 / gpus)
    assert state.total_rate_per_gpu == pytest.approx(state.requests * 2560 / gpus)


@KINDS
def test_saturation(kind: str) -> None:
    curve = served(kind).curve(CHAT)
    most = curve.requests[-1]  # with the batch full
    full = served(kind).closed(CHAT, 4 * curve.concurrency[-1])
    assert full.requests == pytest.approx(most)
    assert full.queued == pytest.approx(3 * curve.concurrency[-1] / most)
    assert full.ttft == pytest.approx(curve.ttft[-1] + full.queued)
    assert full.limit == curve.limit


@KINDS
def test_no_load_costs_the_times_of_a_lone_request(kind: str) -> None:
    one, less = served(kind).closed(CHAT, 2e-4), served(kind).closed(CHAT, 1e-4)
    assert less.requests == pytest.approx(one.requests / 2, rel=1e-3)
    assert less.tpot == pytest.approx(one.tpot, rel=1e-3)
    assert less.ttft == pytest.approx(one.ttft, rel=1e-3)


def test_one_request_is_the_sum_of_its_steps() -> None:
    """Prefill, then 511 decode steps at the mean context, and what the engine adds."""
    traffic = Traffic(input=1024, output=512)
    found, engine = served("dense"), served("dense").deployment.engine
    step = found.tables["serve"].step
    first = step.tokens(1024.0).seconds + step.prefill(1.0, 1024.0).seconds + step.host(1.0).seconds
    token = step.tokens(1.0).seconds + step.decode(1.0, 1280.0).seconds + step.host(1.0).seconds
    waited = (0.5 + engine.prefill_wait) * token
    ttft = float(reading(engine, step) * first + waited + engine.first_token)
    state = found.closed(traffic, 1.0)
    assert state.tpot == pytest.approx(float(token), rel=0.02)
    # its own arrivals are taken for a stream that now and then finds the prefill at work
    assert state.ttft == pytest.approx(ttft, rel=0.06)
    assert 1 / state.requests == pytest.approx(ttft + 511 * float(token), rel=0.02)


@KINDS
def test_a_prefix_hit_lowers_the_first_token_and_never_the_throughput(kind: str) -> None:
    hits = (0.0, 0.3, 0.6, 0.9)
    found = [Traffic(input=8192, output=256, prefix_hit=hit) for hit in hits]
    ttft = [served(kind).closed(each, 2.0).ttft for each in found]
    most = [served(kind).curve(each).requests.max() for each in found]
    assert ttft == sorted(ttft, reverse=True)
    assert np.all(np.diff(most) >= -1e-9)


def test_decode_sequences_fit_their_memory() -> None:
    for kind in POOLS:
        role = "decode" if kind == "pools" else "serve"
        fit, pool = served(kind).memory[role], served(kind).deployment.pools[role]
        long = Traffic(input=60_000, output=4000)
        state = served(kind).closed(long, 1e6)
        held = 60_000 + 2000 * (1 + served(kind).deployment.engine.reserved)
        assert state.batch <= min(pool.max_batch, fit.sequences(held)) * (1 + 1e-9)
        assert str(pool.max_batch) in state.limit or "KV" in state.limit or "prefill" in state.limit


def test_drafts_that_are_never_taken_never_help() -> None:
    asked = deployment("experts")
    assert asked.serve is not None

    def speed(tokens: int, acceptance: float) -> float:
        speculation = Speculation(tokens, acceptance)
        pool = msgspec.structs.replace(asked.serve, speculation=speculation)
        state = Served(msgspec.structs.replace(asked, serve=pool)).closed(CHAT, 64.0)
        return state.tpot

    without, never, often = speed(0, 0.0), speed(1, 0.0), speed(1, 0.9)
    assert never > without
    assert often < without


def test_a_memory_fraction_of_the_deployment_is_used() -> None:
    asked = deployment("dense")
    half = Served(msgspec.structs.replace(asked, memory_fraction=0.6)).memory["serve"]
    assert half.fraction == 0.6
    assert half.kv_room < served("dense").memory["serve"].kv_room

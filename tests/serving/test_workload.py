from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.serving.arrivals import Arrivals
from racktwin.serving.lengths import Lengths
from racktwin.serving.sessions import Class, Turns
from racktwin.serving.trace import COLUMNS, Trace, join
from racktwin.serving.workload import Workload, names, workload
from racktwin.units import Rate

LAW = Lengths(law="lognormal", mean=300, cv=1, least=1, most=4000)
CHAT = Class(
    input=LAW,
    output=LAW,
    turns=Turns(
        count=Lengths(law="uniform", most=6, ratio=0.1),  # type: ignore[arg-type]
        added=LAW,
        output=LAW,
        pause=Lengths(law="lognormal", mean=30, cv=1),
    ),
)
SESSIONS = Workload(
    title="chat", arrivals=Arrivals(rate=Rate(50.0)), classes=(CHAT,), block_size=64, prompt=128
)
SINGLE = Workload(title="single", classes=(Class(input=LAW, output=LAW),))


def same(one: Trace, other: Trace) -> bool:
    arrays = (*COLUMNS, "blocks", "starts")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays)


@pytest.mark.parametrize("load", [SINGLE, SESSIONS], ids=lambda each: each.title)
def test_a_seed_gives_the_same_bytes_in_any_chunks(load: Workload) -> None:
    count = 40_000
    whole = join(load.generate(count, chunk=count))
    assert len(whole) == count
    assert same(whole, join(load.generate(count, chunk=777)))
    assert same(whole, join(load.generate(count)))
    assert same(whole.part(0, 5000), join(load.generate(5000)))
    assert not same(whole, join(load.generate(count, seed=1)))


def test_another_rate_keeps_the_requests() -> None:
    slow, fast = (join(SINGLE.generate(9000, rate=rate)) for rate in (2.0, 8.0))
    assert slow.input.tobytes() == fast.input.tobytes()
    assert slow.arrival == pytest.approx(4 * fast.arrival)
    scaled = join(SINGLE.generate(9000, scale=8.0))
    assert scaled.arrival == pytest.approx(fast.arrival)
    assert fast.rate == pytest.approx(8.0, rel=5 / math.sqrt(9000))


def test_the_rate_counts_requests_of_sessions() -> None:
    made = join(SESSIONS.generate(100_000))
    late = made.arrival[made.arrival > 500]
    assert len(late) / (late[-1] - late[0]) == pytest.approx(50.0, rel=0.05)


def test_turns_follow_their_session_in_order() -> None:
    made = join(SESSIONS.generate(30_000))
    assert (np.diff(made.arrival) >= 0).all()
    later = np.flatnonzero(made.after >= 0)
    before = made.after[later]
    assert (before < later).all()
    assert (made.session[before] == made.session[later]).all()
    assert made.arrival[later] - made.arrival[before] == pytest.approx(made.pause[later])
    assert (made.input[later] >= made.input[before] + made.output[before]).all()
    openings = np.unique(made.session, return_index=True)[1]
    assert (made.after[openings] == -1).all()


def test_a_turn_shares_all_full_blocks_of_the_turn_before_and_no_more() -> None:
    made = join(SESSIONS.generate(3000))
    assert (made.prefix.lengths == np.ceil(made.input / 64)).all()
    later = np.flatnonzero(made.after >= 0)
    later = later[made.input[made.after[later]] >= 128]  # the prompt is everybody's
    full = made.input[made.after[later]] // 64 * 64
    assert made.cached[later].tolist() == np.minimum(full, made.input[later] - 1).tolist()
    opening = np.flatnonzero(made.after < 0)[1:]
    assert made.cached[opening].max() == 128


def test_offline_and_closed_loads_end_with_the_requests() -> None:
    for law in ("offline", "closed"):
        load = Workload(
            title=law,
            arrivals=Arrivals(law=law, concurrency=4),  # type: ignore[arg-type]
            classes=SINGLE.classes,
            requests=300,
        )
        made = join(load.generate(duration=5.0))
        assert len(made) == 300
        assert not made.arrival.any()


def test_duration_ends_a_load() -> None:
    made = join(SINGLE.generate(duration=100.0, rate=20.0))
    assert made.arrival[-1] < 100
    assert len(made) == pytest.approx(2000, abs=5 * math.sqrt(2000))


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"requests": 0}, "requests"),
        ({"duration": math.nan}, "duration"),
        ({"duration": -1.0}, "duration"),
        ({"seed": -1}, "seed"),
        ({"chunk": 0}, "chunk"),
        ({"rate": 0.0}, "rate"),
        ({"scale": math.inf}, "rate"),
    ],
)
def test_impossible_wishes_are_named(asked: dict[str, float], key: str) -> None:
    with pytest.raises(BadInput, match=key):
        SINGLE.generate(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", names())
def test_every_workload_that_ships_generates(name: str) -> None:
    load = workload(name)
    made = join(load.generate(500))
    assert (made.input >= 1).all()
    assert (made.output >= 1).all()
    assert load.source
    assert load.kind in ("measured", "derived")


def test_mlperf_answers_have_the_published_percentiles() -> None:
    made = workload("mlperf-deepseek-r1").trace(100_000)
    # MLPerf Inference v6.1: p50 2,114, p90 9,496, p99 20,000; mean 3,792 in the same run
    assert np.percentile(made.output, [50, 90, 99]) == pytest.approx([2114, 9496, 20000], rel=0.03)
    assert made.output.mean() == pytest.approx(3792, rel=0.02)
    assert made.input.max() <= 3136


def test_offline_twins_have_the_same_requests_at_once() -> None:
    server, offline = workload("mlperf-llama2-70b"), workload("mlperf-llama2-70b-offline")
    assert server.trace(100).input.tobytes() == offline.trace(100).input.tobytes()
    assert not offline.trace(100).arrival.any()


def test_the_mooncake_conversation_hits_as_in_the_trace() -> None:
    made = workload("mooncake-conversation").trace(2500)
    assert made.traffic().prefix_hit == pytest.approx(0.306, abs=0.05)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: azure-conv-2023\ntitle: mine\narrivals: {rate: 40/s, profile: []}\n")
    mine = workload(path)
    assert mine.arrivals.rate == 40.0
    assert mine.classes == workload("azure-conv-2023").classes
    path.write_text("title: wrong\nclasses:\n- input: {law: lognormal}\n  output: {men: 3}\n")
    with pytest.raises(BadInput, match="did you mean 'mean'"):
        workload(path)
    path.write_text("title: wrong\nclasses:\n- input: {law: lognormal}\n  output: {mean: 3}\n")
    with pytest.raises(BadInput, match=r"classes\[0\].input: a lognormal law needs a mean"):
        workload(path)
    with pytest.raises(BadInput, match="did you mean 'azure-code-2023'"):
        workload("azure-kode-2023")

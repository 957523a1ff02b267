"""Mixes: each class comes by itself, and nothing of it is lost among the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.serving.limits import Limits
from racktwin.serving.mingle import mingled
from racktwin.serving.mix import Mix, load
from racktwin.serving.slo_class import SloClass
from racktwin.serving.trace import COLUMNS, Trace, cut, join
from racktwin.serving.workload import workload

FILE = """\
title: two
classes:
- name: chat
  workload: mooncake-conversation
  rate: 6/s
  slo: {ttft: 1 s, tpot: 50 ms}
- name: batch
  input: {mean: 4000}
  output: {law: uniform, most: 500, ratio: 20 %}
  rate: 2/s
  priority: 7
"""


def mix(folder: Path, text: str = FILE) -> Mix:
    path = folder / "two.yaml"
    path.write_text(text)
    found = load(path)
    assert isinstance(found, Mix)
    return found


def same(one: Trace, other: Trace) -> bool:
    arrays = (*COLUMNS, "blocks", "starts")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays)


def test_classes_come_at_their_rates_with_their_lengths(tmp_path: Path) -> None:
    found = mix(tmp_path)
    assert found.slo_classes == (
        SloClass("chat", Limits(ttft=1.0, tpot=0.05), 0),
        SloClass("batch", Limits(), 7),
    )
    assert found.arrivals.rate == 8.0
    trace = found.trace(20_000)
    assert trace.classes == ("chat", "batch")
    assert (np.diff(trace.arrival) >= 0).all()
    batch = trace.slo_class == 1
    assert (trace.input[batch] == 4000).all()
    assert set(trace.priority[batch]) == {7}
    assert set(trace.priority[~batch]) == {0}
    lasts = trace.arrival[-1]
    assert batch.sum() / lasts == pytest.approx(2.0, rel=0.05)
    assert (~batch).sum() / lasts == pytest.approx(6.0, rel=0.1)  # sessions are still beginning
    assert (trace.session[batch] < 0).all()
    assert not np.diff(trace.starts)[batch].any()  # it tells no prefixes
    alone = workload("mooncake-conversation").trace(int((~batch).sum()))
    chat = trace.take(np.flatnonzero(~batch))
    whole = trace.cached[~batch].sum() / chat.input.sum()
    assert whole == pytest.approx(alone.cached.sum() / alone.input.sum(), abs=0.05)


def test_a_turn_waits_for_its_own_session(tmp_path: Path) -> None:
    trace = mix(tmp_path).trace(20_000)
    later = np.flatnonzero(trace.after >= 0)
    assert len(later) > 1000
    before = trace.after[later]
    assert (before < later).all()
    assert (trace.session[before] == trace.session[later]).all()
    assert (trace.slo_class[before] == 0).all()


def test_a_seed_gives_the_same_bytes_in_any_chunks(tmp_path: Path) -> None:
    found = mix(tmp_path)
    whole = found.trace(9000, seed=4)
    assert same(whole, join(found.generate(9000, seed=4, chunk=777)))
    assert not same(whole, found.trace(9000, seed=5))
    fast = join(found.generate(9000, seed=4, scale=2.0))
    assert fast.arrival[-1] == pytest.approx(whole.arrival[-1] / 2, rel=0.1)


times = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), max_size=12)


@given(st.lists(st.tuples(times, st.integers(1, 5)), min_size=1, max_size=4), st.data())
def test_streams_keep_their_requests_and_their_links(
    given_: list[tuple[list[float], int]], data: st.DataObject
) -> None:
    streams = []
    for number, (gaps, chunk) in enumerate(given_):
        count = len(gaps)
        after = [data.draw(st.integers(-1, row - 1)) for row in range(count)]
        trace = Trace.of(
            np.cumsum(gaps),
            np.arange(1, count + 1) + 100 * number,  # tells every request apart
            np.ones(count),
            after=after,
            session=np.arange(count),
        )
        streams.append((trace, list(cut([trace], chunk)) if count else []))
    whole = join(mingled([iter(parts) for _, parts in streams]))
    assert len(whole) == sum(len(trace) for trace, _ in streams)
    assert (np.diff(whole.arrival) >= 0).all()
    for number, (trace, _) in enumerate(streams):
        rows = np.flatnonzero(whole.slo_class == number)
        assert whole.input[rows].tolist() == trace.input.tolist()
        assert whole.arrival[rows].tolist() == trace.arrival.tolist()
        places = [int(rows[each]) if each >= 0 else -1 for each in trace.after]
        assert whole.after[rows].tolist() == places
    told = whole.session[whole.session >= 0]
    assert len(set(told)) == len(told)


def test_prefixes_of_streams_stay_apart() -> None:
    made = workload("mooncake-conversation")
    parts = [made.stretches(0, 0), made.stretches(0, 0)]  # the same requests twice
    whole = next(iter(mingled(parts)))
    one, other = (whole.take(np.flatnonzero(whole.slo_class == number)) for number in (0, 1))
    assert (one.input == other.input).all()
    assert not set(one.blocks) & set(other.blocks)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("classes: [{name: a, workload: azure-conf-2023}]", "did you mean 'azure-conv-2023'"),
        ("classes: [{name: a, workload: mlperf-llama2-70b-offline}]", "has no times (offline)"),
        ("classes: [{name: a, workload: sharegpt, input: {mean: 3}}]", "brings its own lengths"),
        ("classes: [{name: a, input: {mean: 3}}]", "classes[0].output: is missing"),
        ("classes: [{name: a, workload: sharegpt}, {name: a, workload: sharegpt}]", "2 times"),
        ("classes: [{name: a, workload: sharegpt, share: 0}]", "a share above 0"),
        ("classes: [{name: a, workload: sharegpt, rate: nan}]", "rate"),
        ("classes: [{name: a, workload: sharegpt, rate: 1, share: 1}]", "stands beside a rate"),
        (
            "classes: [{name: a, workload: sharegpt, rate: 1}, {name: b, workload: sharegpt}]",
            "give all of them a rate, or none",
        ),
        ("classes: [{name: a, workload: sharegpt, priority: -1}]", "expected 0 to 1e+06"),
        ("classes: [{name: a, workload: sharegpt, slo: {tpt: 1 s}}]", "did you mean 'tpot'"),
        ("classes: [{name: a, workload: sharegpt, slo: {tpot: 1}}]", "has no unit"),
        (
            "arrivals: {law: closed, concurrency: 3}\nclasses: [{name: a, workload: sharegpt}]",
            "law",
        ),
        ("classes: [{name: a, workload: no/such.yaml}]", "no/such.yaml"),
        ("classes: [{name: '', workload: sharegpt}, {name: b, workload: sharegpt}]", "a name of"),
        (
            "block_size: 16\nclasses: [{name: a, workload: mooncake-conversation}, "
            "{name: b, input: {mean: 9}, output: {mean: 9}}]",
            "prefix blocks must be of one size, found 16, 512",
        ),
    ],
)
def test_bad_files(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput) as fault:
        mix(tmp_path, text)
    assert said in str(fault.value)


def test_a_class_may_be_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "title: own\nclasses: [{input: {mean: 9}, output: {mean: 2}}]\n"
    )
    found = mix(tmp_path, "classes: [{name: a, workload: own.yaml}]")
    assert set(found.trace(10).input) == {9}

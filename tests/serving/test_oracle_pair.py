"""Separate pools: the kernel and its oracle agree bit by bit; and a handover by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving import pool
from tests.serving.test_oracle import engines, in_order, loads

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle import Request, Result
from racktwin.serving.oracle_pair import Pool, simulate

LATE = 1e-6  # s between arrivals, so that no two caches land at once


def apart(gaps: list[Request]) -> list[Request]:
    """Arrivals in order, none at the same time."""
    return in_order(
        [gap._replace(arrival=gap.arrival + LATE * (1 + n)) for n, gap in enumerate(gaps)]
    )


@settings(max_examples=120)
@given(
    first=engines(),
    second=engines(),
    gaps=loads,
    replicas=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    router=st.sampled_from(["round_robin", "least_outstanding", "least_kv", "input_balanced"]),
    pace=st.sampled_from([1e-5, 1.3e-3, 0.021]),
    cuts=st.lists(st.floats(0, 3), max_size=3).map(sorted),
    scopes=st.integers(1, 2),
    slots=st.sampled_from([1, 2, 3, 256]),
)
def test_kernel_and_oracle_agree(
    first: Rules,
    second: Rules,
    gaps: list[Request],
    replicas: tuple[int, int],
    router: str,
    pace: float,
    cuts: list[float],
    scopes: int,
    slots: int,
) -> None:
    """However few slots there are at first."""
    requests = apart(gaps)
    prefill = Pool(first, pool.uneven(1), scopes * replicas[0], router)
    decode = Pool(second, pool.uneven(2), scopes * replicas[1], "least_outstanding")
    expected = simulate(prefill, decode, requests, 0.0017, pace, scopes=scopes)
    rest = {"cuts": cuts, "scopes": scopes, "slots": slots}
    found, pools = pool.run_pair(prefill, decode, requests, (0.0017, pace), **rest)
    assert found == expected
    assert len(found) == len(requests)
    for each in pools.values():
        assert not each.state.ranks["used"].any()
        assert not each.state.replicas["outstanding"].any()
        assert each.state.counts[0] == len(each.state.slots)


@settings(max_examples=30)
@given(first=engines(), second=engines(), gaps=loads, concurrency=st.integers(1, 9))
def test_closed_loop(first: Rules, second: Rules, gaps: list[Request], concurrency: int) -> None:
    requests = [gap._replace(arrival=0.0) for gap in gaps]
    prefill = Pool(first, pool.uneven(1), 1, "least_outstanding")
    decode = Pool(second, pool.uneven(2), 1, "least_outstanding")
    expected = simulate(prefill, decode, requests, 0.0017, 1.3e-3, concurrency=concurrency)
    assert pool.run_pair(prefill, decode, requests, (0.0017, 1.3e-3), concurrency)[0] == expected


def test_a_handover_by_hand() -> None:
    """Steps of 1 s, transfers of 0.5 s and 0.1 s a token, one after the other from a replica.

    Both prompts are done at 1; the caches land at 1 + 0.9 and 1.9 + 1.1, which tells their first
    tokens. The first decodes from its landing on, an idle replica waits for nothing; the second
    joins the step that starts at 3.9.
    """
    side = Pool(pool.rules(), pool.constant(), 1, "round_robin")
    requests = [Request(0.0, 4, 4), Request(0.0, 6, 2), Request(0.0, 3, 1)]
    found, _ = pool.run_pair(side, side, requests, (0.5, 0.1))
    assert found[0] == Result(0, 0.0, 0.0, 1.9, pytest.approx(1.9 + 3), 0, 0, 2.9, read=1.0)
    second, last = pytest.approx(4.9), pytest.approx(3.9 + 1)
    assert found[1] == Result(1, 0.0, 0.0, pytest.approx(3.0), last, 0, 0, second, read=1.0)
    assert found[2] == Result(
        2, 0.0, 0.0, 1.0, 1.0, 0, read=1.0
    )  # its only token came from the prompt


def test_caches_wait_for_a_place_and_keep_theirs() -> None:
    """One decoding at a time: the second cache leaves when the first sequence has ended, and only
    when it has landed, at 6, there is room for the third prompt."""
    prefill = Pool(pool.rules(blocks=4), pool.constant(), 1, "round_robin")
    decode = Pool(pool.rules(max_batch=1), pool.constant(), 1, "round_robin")
    requests = [Request(0.0, 8, 4), Request(0.0, 8, 4), Request(0.0, 12, 1)]
    found, _ = pool.run_pair(prefill, decode, requests, (1.0, 0.0))
    assert [each.finish for each in found] == [5.0, 9.0, 7.0]
    assert found[2].admitted == 6.0


def test_caches_leave_in_the_order_in_which_prompts_end() -> None:
    """1 s a token: the long prompt starts first, the short one ends first and has the only place.

    It leaves at 2.5, lands at 3.5 and needs three steps of 1 s; then the long one leaves, at 8.
    """
    slow = pool.constant(0.0)._replace(alone=np.array([0.0, 1.0]))
    prefill = Pool(pool.rules(), slow, 2, "least_outstanding")
    decode = Pool(pool.rules(max_batch=1), pool.constant(), 1, "least_outstanding")
    requests = [Request(0.0, 8, 4), Request(0.5, 2, 4)]
    found, _ = pool.run_pair(prefill, decode, requests, (1.0, 0.0))
    assert [each.first for each in found] == [9.0, 3.5]
    assert [each.finish for each in found] == [12.0, 6.5]

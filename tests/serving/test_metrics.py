"""Metrics of a request, by hand; limits; times between chunks from logged steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serving import pool

from racktwin.serving.fleet import RESULT, STEP
from racktwin.serving.metrics import DEFINITIONS, Limits, figures, gaps, good
from racktwin.serving.prompting import Added


def results(*rows: tuple[float, float, float, float, int]) -> np.ndarray:
    made = np.zeros(len(rows), RESULT)
    for row, (arrival, admitted, first, finish, output) in zip(made, rows, strict=True):
        row["arrival"], row["admitted"], row["first"] = arrival, admitted, first
        row["finish"], row["output"] = finish, output
        row["second"] = first + 0.5 if output > 1 else -1.0
    return made


def test_figures_by_hand() -> None:
    found = figures(results((1.0, 1.5, 2.0, 5.0, 4), (1.0, 1.0, 3.0, 3.0, 1)), Added(0.25))
    ttft, tpot, e2e, queue, ttst = found
    assert list(ttft) == [1.25, 2.25]
    assert tpot[0] == 1.0  # 3 s over 3 gaps; the first token is not one of them
    assert np.isnan(tpot[1])
    assert list(e2e) == [4.25, 2.25]
    assert list(queue) == [0.5, 0.0]
    assert ttst[0] == 0.5
    assert np.isnan(ttst[1])


def test_what_an_engine_adds_by_hand() -> None:
    """0.5 s, half of the 0.8 s that prompts took, and two times of 1 s between tokens; an answer of
    one token waits for none. All tokens come as much later."""
    given = results((1.0, 1.5, 2.0, 5.0, 4), (1.0, 1.0, 3.0, 3.0, 1))
    given["read"] = 0.8
    ttft, tpot, e2e, queue, ttst = figures(given, Added(0.5, 0.5, 2.0))
    assert list(ttft) == pytest.approx([1 + 0.9 + 2, 2 + 0.9])
    assert list(e2e) == pytest.approx([4 + 0.9 + 2, 2 + 0.9])
    assert (tpot[0], ttst[0]) == (1.0, 0.5)
    assert list(queue) == [0.5, 0.0]


def test_no_prompt_is_done_before_it_began() -> None:
    """An engine whose prompts take a quarter less: of 4 s in which others were read it gains the
    0.5 s of its own steps, no more; of 0.8 s it gains 0.2 s."""
    given = results((1.0, 9.0, 9.5, 12.0, 6), (1.0, 1.5, 2.0, 5.0, 4))
    given["read"] = 4.0, 0.8
    ttft, _, e2e, queue, _ = figures(given, Added(0.1, -0.25, 0.0))
    assert list(ttft) == pytest.approx([8.0 + 0.1, 1.0 + 0.1 - 0.2])
    assert list(e2e) == pytest.approx([10.5 + 0.1, 4.0 + 0.1 - 0.2])
    assert (ttft > queue).all()


def test_a_good_request_keeps_every_limit() -> None:
    found = figures(results((0, 0, 1, 4, 4), (0, 0, 2, 2, 1), (0, 0, 1, 40, 4)), Added())
    assert list(good(found, Limits())) == [True, True, True]
    assert list(good(found, Limits(ttft=1.0))) == [True, False, True]
    assert list(good(found, Limits(tpot=1.0))) == [True, True, False]
    assert list(good(found, Limits(ttft=1.0, tpot=0.5))) == [False, False, False]
    assert list(good(found, Limits(e2e=3.0))) == [False, True, False]


STALLED, SINGLY = pool.rules(mixed=False), pool.rules(mixed=False, singly=True)


def steps(*rows: tuple[float, float, float, int, int, int]) -> np.ndarray:
    made = np.zeros(len(rows), STEP)
    for row, values in zip(made, rows, strict=True):
        row["usual"] = values[4] * values[5]
        for name, value in zip((STEP.names or ())[:6], values, strict=True):
            row[name] = value
    return made


def test_gaps_of_mixed_steps_are_the_steps() -> None:
    seconds, often, left = gaps(steps((0, 4, 0, 0, 4, 3), (4, 6, 100, 0, 1, 2)), pool.rules())
    assert not len(left)
    assert list(seconds) == [1.0, 2.0]
    assert list(often) == [12, 2]


def test_prompts_of_their_own_stall_the_next_gap() -> None:
    log = steps((5, 9, 0, 1, 4, 2), (0, 4, 0, 0, 4, 2), (4, 7, 99, 0, 1, 2), (7, 9, 0, 0, 2, 3))
    seconds, often, left = gaps(log, STALLED)
    assert not len(left)
    found = sorted(zip(seconds[often > 0], often[often > 0], strict=True))
    # two sequences of replica 0 waited 3 s for a prompt before their step of 1 s
    assert found == [(1.0, 2), (1.0, 2), (1.0, 4), (1.0, 6), (1.0, 6), (4.0, 2)]


def test_a_rest_is_a_gap_of_its_own() -> None:
    """Of three that decode two have a token at 4 after 1 s, and one after its rest of 3 s."""
    log = steps((3, 4, 0, 0, 1, 3), (1, 4, 0, 0, 0, 1))
    log["usual"] = 2, 0
    seconds, often, left = gaps(log, SINGLY)
    assert sorted(zip(seconds, often, strict=True)) == [(1.0, 2.0), (3.0, 1.0)]
    assert not len(left)


def test_definitions_differ_where_the_tools_do() -> None:
    assert DEFINITIONS["vllm"].pooled
    assert not DEFINITIONS["aiperf"].pooled
    assert DEFINITIONS["mlperf"].whole
    assert DEFINITIONS["mlperf"].rank


def test_a_stall_is_kept_until_decoding_goes_on() -> None:
    first, then = steps((0, 1, 0, 0, 1, 2), (1, 4, 9, 0, 1, 2)), steps((4, 5, 0, 0, 1, 3))
    seconds, often, left = gaps(first, STALLED)
    assert list(left["end"]) == [4.0]
    seconds, often, left = gaps(np.concatenate([left, then]), STALLED)
    assert sorted(zip(seconds, often, strict=True)) == [(1.0, 1.0), (4.0, 2.0)]
    assert not len(left)

"""Composition of a step: who joins, who gives way, what is kept free."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serving import pool

from racktwin.serving.batching import (
    Draft,
    compose,
    emitted,
    expect_longer,
    reserved_share,
    start_decoding,
    victim,
)
from racktwin.serving.chain import run
from racktwin.serving.fleet import Rules, State, state
from racktwin.serving.kernel import enqueue


def rank_with(asked: Rules, *jobs: tuple[int, int, int, int], step: int = 0) -> State:
    """One rank with decoding requests, the oldest first: prompt, output, decode steps, priority."""
    found = state(1, asked, 16)
    for slot, (prompt, output, steps, priority) in enumerate(jobs):
        found.replicas["step"] = step - steps
        found.slots[slot]["prompt"], found.slots[slot]["output"] = prompt, output
        found.slots[slot]["left"], found.slots[slot]["priority"] = output - 1, priority
        run(found, 0, 0, slot)
        start_decoding(found, asked, 0, slot)
    found.replicas["step"] = step
    return found


@pytest.mark.parametrize(
    ("reserve", "priorities", "gone"),
    [(0, (0, 0, 0), 2), (0, (0, 1, 0), 1), (0, (2, 1, 2), 2), (2, (0, 0, 0), 1), (2, (9, 0, 9), 1)],
)
def test_who_gives_way(reserve: int, priorities: tuple[int, int, int], gone: int) -> None:
    """vLLM: the newest of the least urgent. SGLang: fewest tokens given, then longest prompt."""
    jobs = [(4, 50, 9, priorities[0]), (8, 50, 3, priorities[1]), (6, 50, 3, priorities[2])]
    asked = pool.rules(reserve=reserve)
    assert victim(rank_with(asked, *jobs, step=9), asked, 0, 0) == gone


def test_tokens_given() -> None:
    asked = pool.rules(gain=1.5)
    found = rank_with(asked, (4, 50, 3, 0), step=3)
    assert emitted(found, asked, 0, 0) == 1 + 4  # the prompt's, and 4.5 of the steps


def test_the_share_sinks_and_is_set_anew() -> None:
    asked = pool.rules(reserve=2, share=0.7, decay=0.05, least=0.3)
    found = rank_with(asked, (4, 50, 4, 0), (4, 30, 2, 0), step=4)
    found.ranks["share"], found.ranks["since"] = 0.7, 0
    assert reserved_share(found, asked, 0, 0) == pytest.approx(0.7 - 4 * 0.05)
    found.replicas["step"] = 50
    assert reserved_share(found, asked, 0, 0) == 0.3
    found.replicas["step"] = 4
    expect_longer(found, asked, 0, 0)  # they gave 5 and 3 of 80, and 20 more each are expected
    found.replicas["step"] = 5
    assert reserved_share(found, asked, 0, 0) == pytest.approx((5 + 3 + 2 * 20) / 81)


@pytest.mark.parametrize(
    ("engine", "drafts"),
    [
        ({"budget": 16}, [(2, 16, 0), (1, 8, 6)]),
        ({"budget": 16, "chunked": False}, [(1, 10, 0), (1, 14, 0)]),
        ({"budget": 16, "max_batch": 1}, [(1, 10, 0), (0, 0, 0)]),
        ({"budget": 16, "blocks": 4}, [(1, 10, 0), (0, 0, 0)]),
        ({"budget": 8}, [(1, 8, 0), (2, 8, 8)]),
    ],
)
def test_prompts_of_two_steps(engine: dict[str, int], drafts: list[tuple[int, int, int]]) -> None:
    """Prompts of 10 and 14 tokens (answers of 50) in two steps: count, new tokens, cached ones."""
    asked = pool.rules(**engine)
    found, draft = state(1, asked, 16), Draft(*(np.zeros(1) for _ in Draft._fields))
    for number, prompt in enumerate((10, 14)):
        enqueue(found, asked, 0, number, 0.0, prompt, 50, 0, 0)
    for wanted in drafts:
        done = compose(found, asked, draft, 0, 0.0, True)
        assert tuple(float(column[0]) for column in draft[:3]) == wanted
        while done >= 0:
            after = found.slots[done]["after_in_step"]
            found.slots[done]["left"] -= 1
            start_decoding(found, asked, 0, done)
            done = after

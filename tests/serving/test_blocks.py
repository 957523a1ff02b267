"""Blocks: the remainders of a rank say what counting every sequence would."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.serving import pool

from racktwin.serving.batching import start_decoding
from racktwin.serving.blocks import blocks_of, end_growth, needed, safe_steps, settle
from racktwin.serving.fleet import Rules, State, state

sequences = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 100)), min_size=1, max_size=12
)  # decode step it begins at, prompt


def test_blocks_of_tokens() -> None:
    asked = pool.rules(block=4)
    assert [blocks_of(tokens, asked) for tokens in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [blocks_of(tokens, asked) for tokens in (0.0, 3.5, 4.0, 4.25)] == [0, 1, 1, 2]


def begun(asked: Rules, wanted: list[tuple[int, int]], until: int) -> State:
    """One rank with sequences that began to decode at their steps, now at step `until`."""
    found = state(1, asked, 64)
    for step in range(until + 1):
        found.replicas["step"] = step
        for slot, (begin, prompt) in enumerate(wanted):
            if begin == step:
                found.slots[slot]["prompt"] = prompt
                found.slots[slot]["left"] = 500
                settle(found, asked, 0, 0)
                found.ranks["used"] += blocks_of(prompt, asked)
                start_decoding(found, asked, 0, slot)
    return found


def counted(asked: Rules, wanted: list[tuple[int, int]], step: int) -> float:
    """Blocks of all at a step, sequence by sequence."""
    steps = [(step - begin, prompt) for begin, prompt in wanted]
    if asked.gain == 1:
        return sum(ceil((prompt + done) / asked.block) for done, prompt in steps)
    return sum(
        ceil(prompt / asked.block) + done * asked.gain / asked.block for done, prompt in steps
    )


@given(
    wanted=sequences,
    extra=st.integers(0, 80),
    block=st.sampled_from([1, 4, 16]),
    gain=st.sampled_from([1.0, 1.5]),
)
def test_used_and_needed_are_those_of_every_sequence(
    wanted: list[tuple[int, int]], extra: int, block: int, gain: float
) -> None:
    asked = pool.rules(block=block, gain=gain)
    now = max(begin for begin, _ in wanted)
    found = begun(asked, wanted, now)
    found.replicas["step"] = now + extra
    settle(found, asked, 0, 0)
    used = counted(asked, wanted, now + extra)
    assert found.ranks["used"][0, 0] == used
    assert needed(found, asked, 0, 0) == counted(asked, wanted, now + extra + 1) - used
    found.ranks["used"] -= sum(end_growth(found, asked, 0, slot) for slot in range(len(wanted)))
    assert found.ranks["used"][0, 0] == 0
    assert not found.crossing.any()


@given(wanted=sequences, room=st.integers(0, 200), block=st.sampled_from([1, 4, 16]))
def test_safe_steps_are_safe_and_not_few(
    wanted: list[tuple[int, int]], room: int, block: int
) -> None:
    """All fit after so many steps; a step short of one block more for each, they may not."""
    now = max(begin for begin, _ in wanted)
    used = counted(pool.rules(block=block), wanted, now)
    asked = pool.rules(block=block, blocks=int(used) + room)
    found = begun(asked, wanted, now)
    settle(found, asked, 0, 0)
    steps = safe_steps(found, asked, 0)
    assert counted(asked, wanted, now + steps) <= asked.blocks
    assert steps == asked.ring or counted(asked, wanted, now + steps + block) > asked.blocks


@pytest.mark.parametrize("reserve", [0, 1, 2])
def test_reserved_answers_do_not_grow(reserve: int) -> None:
    asked = pool.rules(reserve=reserve, blocks=100)
    found = begun(asked, [(0, 8)], 0)
    found.replicas["step"] = 5
    settle(found, asked, 0, 0)
    assert found.ranks["used"][0, 0] == (2 if reserve == 1 else 4)
    assert (safe_steps(found, asked, 0) == asked.ring) == (reserve == 1)

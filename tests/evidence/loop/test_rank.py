"""The closed loop of a rank against sums by hand, and laws that hold for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin.evidence.loop import rank
from racktwin.evidence.loop.rank import Rank
from racktwin.evidence.loop.requests import Requests, requests
from racktwin.evidence.measurement import Client
from racktwin.serving.traffic import Traffic

HOST, TOKEN, READ = 0.010, 1e-4, 2e-5  # s of a step, of a token in it, of a sequence in it
AXIS = np.array([0.0, 1e6])


def made(**changes: float | bool) -> Rank:
    """A rank whose steps take HOST + TOKEN x tokens + READ x sequences."""
    plain = Rank(
        room=1e3,
        uptake=2048.0,
        prompts=2.0,
        whole=False,
        mixed=True,
        queries=1.0,
        gain=1.0,
        held=0.0,
        filled=np.inf,
        factor=1.0,
        host=HOST,
        attention=0.0,
        tokens=AXIS,
        work=TOKEN * AXIS,
        sequences=AXIS,
        reading=READ * AXIS,
    )
    return plain._replace(**changes)


def sent(
    clients: int, waves: int, spread: float = 0.0, delay: float = 0.0, front: float = 0.0
) -> Requests:
    """Prompts of 1,000 tokens and answers of 101."""
    found = requests(Traffic(input=1000, output=101), Client(waves=waves, spread=spread), clients)
    found.delay[:], found.front[:] = delay, front
    return found


def test_one_client_waits_for_nobody() -> None:
    found = sent(1, 5, delay=0.02)
    rank.run(found, made(), 1)
    assert found.read - found.arrival == pytest.approx(HOST + 1000 * TOKEN)
    assert (found.done - found.read) / 100 == pytest.approx(HOST + TOKEN + READ)
    assert found.arrival[1:] - found.done[:-1] == pytest.approx(0.02)


def test_the_front_passes_requests_on_one_after_the_other() -> None:
    """It takes 0.5 s for each; a step of one prompt takes 0.11 s, and then decodes alone."""
    found = sent(3, 1, front=0.5)
    rank.run(found, made(), 3)
    assert found.arrival == pytest.approx(0.0)
    reading = HOST + 1000 * TOKEN
    late = HOST + TOKEN + READ  # a decode step that is under way
    first, *others = np.sort(found.read)
    assert first == pytest.approx(0.5 + reading)
    for passed, read in zip((1.0, 1.5), others, strict=True):
        assert passed + reading <= read <= passed + reading + 3 * late


def test_two_prompts_enter_a_step_and_a_third_rides_on_with_them() -> None:
    """Step 1 reads two prompts; step 2 the third, beside two decoding sequences."""
    found = sent(3, 1)
    rank.run(found, made(), 3)
    first = HOST + 2000 * TOKEN
    second = HOST + 1002 * TOKEN + 2 * READ
    assert np.sort(found.read) == pytest.approx([first, first, first + second])


def test_a_prompt_is_cut_where_the_step_is_full_and_whole_where_it_must_be() -> None:
    """600 tokens a step: two parts of a prompt, of 600 and 400 with 200 of the next."""
    cut, whole = sent(2, 1), sent(2, 1)
    rank.run(cut, made(uptake=600.0), 2)
    rank.run(whole, made(uptake=600.0, whole=True), 2)
    step = HOST + 600 * TOKEN
    # the first takes two steps, the second ends in a fourth, with one sequence riding in two
    last = HOST + 599 * TOKEN + TOKEN + READ + HOST + 201 * TOKEN + TOKEN + READ
    assert cut.read == pytest.approx([2 * step, 2 * step + last], rel=1e-9)
    alone = HOST + 1000 * TOKEN
    assert whole.read == pytest.approx([alone, 2 * alone + TOKEN + READ])


def test_prompts_that_stall_hold_up_decoding_and_those_that_ride_do_not() -> None:
    stalled, riding = sent(2, 1), sent(2, 1)
    rank.run(stalled, made(prompts=1.0, mixed=False), 2)
    rank.run(riding, made(prompts=1.0), 2)
    alone = HOST + 1000 * TOKEN
    assert stalled.read == pytest.approx([alone, 2 * alone])
    pair = HOST + 2 * (TOKEN + READ)
    assert stalled.done == pytest.approx(2 * alone + 100 * pair)
    ahead = alone + alone + TOKEN + READ + 99 * pair  # the first won a token in the step of both
    assert riding.done[0] == pytest.approx(ahead)


def test_a_prompt_is_held_for_others_and_a_full_budget_ends_the_wait() -> None:
    held, filled = sent(2, 1), sent(2, 1)
    for each in (held, filled):
        each.delay[1] = 1e-6  # comes while the first is read
    rank.run(held, made(held=20.0), 2)
    rank.run(filled, made(held=20.0, filled=900.0), 2)
    alone = HOST + 1000 * TOKEN
    wait = 20 * (HOST + TOKEN + READ)
    assert held.read[1] - filled.read[1] == pytest.approx(wait)
    assert filled.read[1] == pytest.approx(2 * alone + TOKEN + READ)


def test_more_than_the_rank_holds_wait_for_a_place() -> None:
    found = sent(2, 1)
    rank.run(found, made(room=1.0), 2)
    assert found.read[1] == pytest.approx(found.done[0] + HOST + 1000 * TOKEN)


def test_drafts_win_tokens_and_prompts_that_take_longer_do_so_alone() -> None:
    fast, slow = sent(1, 1), sent(1, 1)
    rank.run(fast, made(gain=2.0), 1)
    rank.run(slow, made(factor=1.5), 1)
    step = HOST + TOKEN + READ
    assert fast.done - fast.read == pytest.approx(50 * step)
    assert slow.read == pytest.approx(1.5 * (HOST + 1000 * TOKEN))
    assert slow.done - slow.read == pytest.approx(100 * step)


@settings(deadline=None, max_examples=40)
@given(
    clients=st.integers(1, 40),
    spread=st.floats(0, 1),
    room=st.floats(1, 50),
    held=st.sampled_from([0.0, 10.0]),
    mixed=st.booleans(),
)
def test_every_request_is_answered_and_the_clients_are_never_more(
    clients: int, spread: float, room: float, held: float, mixed: bool
) -> None:
    found = sent(clients, 4, spread, delay=0.005)
    rank.run(found, made(room=room, held=held, mixed=mixed), clients)
    assert (found.read > found.arrival).all()
    assert (found.done > found.read).all()
    times = np.sort(np.concatenate([found.arrival, found.done]))
    inside = [((found.arrival <= t) & (found.done > t)).sum() for t in times]
    assert max(inside) <= clients
    least = (HOST + TOKEN + READ) * (found.output - 1)
    assert (found.done - found.read >= least * (1 - 1e-9)).all()

"""The closed loop of two pools against sums by hand and the law of a full server."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.evidence.loop import pair
from racktwin.evidence.loop.pair import Pair
from racktwin.evidence.loop.requests import Requests, requests
from racktwin.evidence.measurement import Client
from racktwin.serving.traffic import Traffic

SERVICE, STEP = 0.2, 0.01  # s of a prompt, of a decode step whatever its batch


def made(count: int, replicas: int = 1, per: int = 1, room: float = 1e6) -> Pair:
    return Pair(
        replicas=replicas,
        service=SERVICE * np.arange(1, per + 1),
        mean=1000.0,
        room=room,
        ranks=1.0,
        gain=1.0,
        sequences=np.array([1.0, 1e6]),
        step=np.array([STEP, STEP]),
        busy=np.zeros(replicas + 1),
        workers=np.zeros(replicas + 1, np.int64),
        first=np.zeros(count, np.int64),
        counts=np.zeros(count, np.int64),
    )


def sent(clients: int, waves: int) -> Requests:
    found = requests(Traffic(input=1000, output=101), Client(waves=waves), clients)
    found.delay[:] = 0.0
    return found


def test_a_first_wave_is_read_one_after_the_other_and_decoded_together() -> None:
    found = sent(4, 1)
    pair.run(found, made(4), 4)
    assert np.sort(found.read) == pytest.approx(SERVICE * np.array([1, 2, 3, 4]))
    assert found.done - found.read == pytest.approx(100 * STEP)


def test_replicas_share_the_prompts_and_a_step_reads_several() -> None:
    two, batched = sent(4, 1), sent(4, 1)
    pair.run(two, made(4, replicas=2), 4)
    pair.run(batched, made(4, per=4), 4)
    assert sorted(two.read) == pytest.approx([SERVICE, SERVICE, 2 * SERVICE, 2 * SERVICE])
    assert batched.read == pytest.approx(4 * SERVICE)


def test_a_decode_pool_without_room_makes_them_wait() -> None:
    found = sent(2, 1)
    pair.run(found, made(2, room=1.0), 2)
    assert np.sort(found.done) == pytest.approx([SERVICE + 100 * STEP, SERVICE + 200 * STEP])
    assert np.sort(found.seated) == pytest.approx([SERVICE, SERVICE + 100 * STEP])
    assert np.sort(found.read) == pytest.approx([SERVICE, 2 * SERVICE])


def test_a_full_prefill_pool_answers_one_request_a_service_time() -> None:
    """24 clients of 1 s of decoding in front of 0.2 s: the server never idles."""
    found = sent(24, 10)
    pair.run(found, made(240), 24)
    assert np.diff(np.sort(found.read)) == pytest.approx(SERVICE)
    steady = (found.read - found.arrival)[100:].mean()
    assert steady == pytest.approx(24 * SERVICE - 100 * STEP)  # Little's law


def test_a_loop_of_days_comes_to_an_end() -> None:
    """Sums of times lose the last digits; 30,000 tokens an answer and a slow step."""
    found = sent(50, 10)
    found.output[:] = 32_768.0
    slow = made(500)._replace(step=np.array([97.0, 97.0]), service=np.array([1e5]))
    pair.run(found, slow, 50)
    assert np.all(found.done > found.read)

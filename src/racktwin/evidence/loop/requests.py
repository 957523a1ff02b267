"""The requests of a closed loop: their lengths, and when each came, was read, seated, ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.evidence import data
from racktwin.evidence.measurement import Client
from racktwin.serving.traffic import Traffic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SEED = 1
WIDEST = 0.4  # of the lengths of prompts over their mean
MOST = 60_000  # requests of a loop


class Requests(NamedTuple):
    """Of every request, in the order they are sent, one entry per array.

    prompt, output: tokens; delay: s from the answer before it to its arrival; front: s that the
    server in front of the engine is busy with it, one after the other. arrival, read, seated, done:
    s, when it arrived there, its prompt was read, a decode pool of its own had a place for it (0
    without one), its answer ended. The rest is room for heaps (keys: s, and decode steps) and
    queues.
    """

    prompt: Floats
    output: Floats
    delay: Floats
    front: Floats
    arrival: Floats
    read: Floats
    seated: Floats
    done: Floats
    coming: Floats
    comers: Ints
    ends: Floats
    enders: Ints
    queue: Ints
    later: Ints


def requests(traffic: Traffic, client: Client, clients: int, ranks: int = 1) -> Requests:
    """The requests of `clients` clients: lengths uniform around their means, fixed draws.

    ranks: that have as many clients behind the same front.
    """
    measured = data.load("closed_loop")
    count = max(clients, min(clients * client.waves, MOST))
    draws = np.random.default_rng(SEED)
    shift, other = draws.random((2, count)) - 0.5
    delays = draws.exponential(measured["delay"], size=count)
    prompt = np.maximum(np.round(traffic.new * (1 + min(client.spread, WIDEST) * shift)), 1.0)
    output = np.round(traffic.output * (1 + client.spread * other))
    floats = [np.zeros(count) for _ in range(6)]
    ints = [np.zeros(count, np.int64) for _ in range(4)]
    return Requests(
        prompt=prompt,
        output=np.maximum(output, 2.0),
        delay=delays,
        front=ranks * (measured["request"] + measured["token"] * prompt),
        arrival=floats[0],
        read=floats[1],
        done=floats[2],
        seated=floats[5],
        coming=floats[3],
        comers=ints[0],
        ends=floats[4],
        enders=ints[1],
        queue=ints[2],
        later=ints[3],
    )

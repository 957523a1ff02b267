"""The closed loop of a prefill pool in front of a decode pool."""

from __future__ import annotations

from typing import NamedTuple

from racktwin.evidence.loop.compiled import compiled, inlined
from racktwin.evidence.loop.heap import pop, push
from racktwin.evidence.loop.rank import between
from racktwin.evidence.loop.requests import Floats, Ints, Requests

ROUNDING = 1e-9  # of tokens won: what sums of times lose must not stop them


class Pair(NamedTuple):
    """How the pools work.

    replicas: of prefill; service: s of a replica for 1, 2, ... prompts in a step, of `mean` tokens;
    room: sequences of the decode pool; ranks: of it; gain: tokens a sequence wins per step.
    sequences, step: s of a decode step by sequences of a rank. busy: s when each prompt was sent
    off, started: its step, first: first of a step's prompts, counts: how many; all room for work.
    """

    replicas: int
    service: Floats
    mean: float
    room: float
    ranks: float
    gain: float
    sequences: Floats
    step: Floats
    busy: Floats
    workers: Ints
    first: Ints
    counts: Ints


@inlined
def begin(requests: Requests, pair: Pair, head: int, tail: int, idle: int) -> tuple[int, float]:
    """Prompts that the next idle replica takes of those waiting, and how long it reads them, s."""
    count = min(len(pair.service), -(-(tail - head) // idle))
    tokens = 0.0
    for place in range(head, head + count):
        tokens += requests.prompt[requests.queue[place]]
    return count, pair.service[count - 1] * tokens / (count * pair.mean)


@inlined
def upcoming(
    requests: Requests, pair: Pair, now: float, coming: int, working: int, batch: int, won: float
) -> tuple[float, float]:
    """When something happens next, s, and tokens a sequence wins a second until then.

    now: s; won: tokens that a sequence won since the start.
    """
    then, pace = 1e300, 0.0
    if coming > 0:
        then = min(then, requests.coming[0])
    if working > 0:
        then = min(then, pair.busy[0])
    if batch > 0:
        pace = pair.gain / between(pair.sequences, pair.step, max(batch / pair.ranks, 1.0))
        then = min(then, now + max(requests.ends[0] - won, 0.0) / pace)
    return max(then, now), pace


@compiled
def run(requests: Requests, pair: Pair, clients: int) -> None:
    """Send all requests, `clients` at a time; fills in when each arrived, was read, seated and
    ended.

    Sequences win tokens at one pace, so those of one sequence since the start tell who ends next.
    """
    now, won = 0.0, 0.0
    head, tail, behind, front = 0, 0, 0, 0
    batch, ended, sent, begun, working, idle = 0, 0, clients, 0, 0, pair.replicas
    for number in range(clients):
        requests.arrival[number] = requests.delay[number]
        push(requests.coming, requests.comers, number, requests.delay[number], number)
    coming = clients
    while ended < len(requests.prompt):
        then, pace = upcoming(requests, pair, now, coming, working, batch, won)
        won, now = won + (then - now) * pace, then
        while coming > 0 and requests.coming[0] <= now:
            requests.queue[tail] = requests.comers[0]
            pop(requests.coming, requests.comers, coming)
            coming, tail = coming - 1, tail + 1
        while working > 0 and pair.busy[0] <= now:
            step = pair.workers[0]
            pop(pair.busy, pair.workers, working)
            working, idle = working - 1, idle + 1
            for place in range(pair.first[step], pair.first[step] + pair.counts[step]):
                number = requests.queue[place]
                requests.read[number] = now
                requests.later[front] = number
                front += 1
        while batch > 0 and requests.ends[0] <= won * (1 + ROUNDING) + ROUNDING:
            requests.done[requests.enders[0]] = now
            pop(requests.ends, requests.enders, batch)
            batch, ended = batch - 1, ended + 1
            if sent < len(requests.prompt):
                requests.arrival[sent] = now + requests.delay[sent]
                push(requests.coming, requests.comers, coming, requests.arrival[sent], sent)
                coming, sent = coming + 1, sent + 1
        while behind < front and batch < pair.room:
            number = requests.later[behind]
            requests.seated[number] = now
            push(requests.ends, requests.enders, batch, won + requests.output[number] - 1, number)
            behind, batch = behind + 1, batch + 1
        while idle > 0 and head < tail:
            count, seconds = begin(requests, pair, head, tail, idle)
            pair.first[begun], pair.counts[begun] = head, count
            push(pair.busy, pair.workers, working, now + seconds, begun)
            head, begun, working, idle = head + count, begun + 1, working + 1, idle - 1

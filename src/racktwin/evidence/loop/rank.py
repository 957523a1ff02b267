"""The closed loop of one attention-data rank whose prompts and answers share its steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from racktwin.evidence.loop.compiled import compiled, inlined
from racktwin.evidence.loop.heap import pop, push
from racktwin.evidence.loop.requests import Floats, Requests

SMALLEST = 256.0  # tokens of prompts that a step has room for, however many sequences ride in it


class Rank(NamedTuple):
    """How a rank works.

    room: sequences it holds; uptake: tokens of prompts that enter a step at most, less one for
    each riding query; prompts: that enter at most; whole: prompts are not cut; mixed: they ride in
    decode steps, else stall them. queries: tokens of a sequence and step; gain: tokens it wins.
    held: steps a prompt waits for others, filled: tokens of prompts that end the wait. factor:
    time of prompts over the tables', 1. host: s of a step; attention: s per prompt token.
    tokens, work: s of a step's tokens by their number; sequences, reading: s of decode attention.
    """

    room: float
    uptake: float
    prompts: float
    whole: bool
    mixed: bool
    queries: float
    gain: float
    held: float
    filled: float
    factor: float
    host: float
    attention: float
    tokens: Floats
    work: Floats
    sequences: Floats
    reading: Floats


@inlined
def between(axis: Floats, values: Floats, at: float) -> float:
    """`values` (s) over `axis` (tokens or sequences), linear between its entries and beyond.

    at: a place on the axis, tokens or sequences.
    """
    low, high = 0, len(axis) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if axis[middle] <= at:
            low = middle
        else:
            high = middle
    slope = (values[high] - values[low]) / (axis[high] - axis[low])
    found: float = values[low] + slope * (at - axis[low])
    return found


@inlined
def plain(rank: Rank, batch: float) -> float:
    """Seconds of a step of `batch` decoding sequences."""
    reading = between(rank.sequences, rank.reading, batch)
    return rank.host + between(rank.tokens, rank.work, batch * rank.queries) + reading


@inlined
def loaded(rank: Rank, riders: float, tokens: float) -> float:
    """Seconds of a step of `tokens` of prompts with `riders` decoding sequences in it."""
    without, reading = 0.0, 0.0
    if riders > 0:
        without = plain(rank, riders)
        reading = between(rank.sequences, rank.reading, riders)
    whole = rank.host + between(rank.tokens, rank.work, tokens + riders * rank.queries)
    whole += tokens * rank.attention + reading
    return without + rank.factor * (whole - without)


@inlined
def take(
    rank: Rank, requests: Requests, head: int, tail: int, batch: int, part: float
) -> tuple[int, float, float]:
    """Prompts that a step ends, its tokens, and tokens read so far of the prompt behind them.

    part: tokens read before of the first prompt.
    """
    riding = batch * rank.queries if rank.mixed else 0.0
    left = max(rank.uptake - riding, SMALLEST)
    tokens, place, seats = 0.0, head, rank.room - batch
    while place < tail and place - head < min(seats, rank.prompts):
        need = requests.prompt[requests.queue[place]] - part
        if need <= left or (rank.whole and tokens == 0.0):
            tokens, left, part, place = tokens + need, left - need, 0.0, place + 1
        else:
            if not rank.whole:
                tokens, part = tokens + left, part + left
            break
    return place - head, tokens, part


@inlined
def waits(rank: Rank, requests: Requests, head: int, tail: int, batch: int, held: float) -> bool:
    """Whether the waiting prompts are held back for others to join them; held: steps so far."""
    if batch == 0 or held >= rank.held:
        return False
    tokens = 0.0
    for place in range(head, tail):
        tokens += requests.prompt[requests.queue[place]]
    return tokens < rank.filled


@inlined
def ready(requests: Requests, free: float) -> float:
    """When the front has passed on the next request, s; free: when it can begin with it, s."""
    passed: float = max(requests.coming[0], free) + requests.front[requests.comers[0]]
    return passed


@compiled
def run(requests: Requests, rank: Rank, clients: int) -> None:
    """Send all requests, `clients` at a time; fills in when each arrived, was read and ended."""
    now, steps, part, held, free = 0.0, 0.0, 0.0, 0.0, 0.0
    head, tail, batch, ended, sent = 0, 0, 0, 0, clients
    for number in range(clients):
        requests.arrival[number] = requests.delay[number]
        push(requests.coming, requests.comers, number, requests.delay[number], number)
    coming = clients
    while ended < len(requests.prompt):
        if batch == 0 and head == tail:
            now = max(now, ready(requests, free))
        while coming > 0 and ready(requests, free) <= now:
            free = ready(requests, free)
            requests.queue[tail] = requests.comers[0]
            pop(requests.coming, requests.comers, coming)
            coming, tail = coming - 1, tail + 1
        waiting = head < tail and batch < rank.room
        if waiting and not waits(rank, requests, head, tail, batch, held):
            taken, tokens, part = take(rank, requests, head, tail, batch, part)
            riders = batch if rank.mixed else 0
            now += loaded(rank, float(riders), tokens)
            steps += 1.0 if riders else 0.0
            for place in range(head, head + taken):
                number = requests.queue[place]
                requests.read[number] = now
                end = steps + math.ceil((requests.output[number] - 1.0) / rank.gain)
                push(requests.ends, requests.enders, batch, end, number)
                batch += 1
            head += taken
            held = 0.0 if head == tail else rank.held  # one wait for all that have come
        else:
            seconds = plain(rank, float(batch))
            count = max(requests.ends[0] - steps, 1.0)
            if waiting:
                count = min(count, max(rank.held - held, 1.0))
                held += count
            if coming > 0 and batch < rank.room:
                count = min(count, max(math.ceil((ready(requests, free) - now) / seconds), 1.0))
            now, steps = now + count * seconds, steps + count
        while batch > 0 and requests.ends[0] <= steps:
            requests.done[requests.enders[0]] = now
            pop(requests.ends, requests.enders, batch)
            batch, ended = batch - 1, ended + 1
            if sent < len(requests.prompt):
                requests.arrival[sent] = now + requests.delay[sent]
                push(requests.coming, requests.comers, coming, requests.arrival[sent], sent)
                coming, sent = coming + 1, sent + 1

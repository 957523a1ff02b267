"""What becomes of the requests of a replica that fails: back to the router, and computed again.

A failed replica loses its step under way, its queue, its running requests and every cache. Its
requests come to the router again when that has seen it. What they keep stands in `Flow.again`.
"""

from __future__ import annotations

from typing import Any

from racktwin.serving.chain import free_slot
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import (
    BUSY,
    IDLE,
    INTERRUPTED,
    JOULES,
    LOST_STEPS,
    LOST_TOKENS,
    Rules,
    State,
    wide,
)
from racktwin.serving.flow import AWAY, HELD, SIZE, Flow, push
from racktwin.serving.offload import below, spread
from racktwin.serving.prefix_cache import OWED, trim
from racktwin.serving.sharing import give_units
from racktwin.serving.standing import DRAINING, Standing, leave_empty


@inlined
def to_compute(flow: Flow, number: int) -> tuple[int, int]:
    """Tokens of a request to compute, and to come, when it is at the router."""
    if len(flow.again):
        return flow.again[number].prompt, flow.again[number].left
    return flow.prompt[number], flow.output[number]


@compiled
def send_back(flow: Flow, number: int, time: float) -> None:
    """A request comes to the router (again) at `time`, s."""
    flow.again[number].away = 1
    flow.marks[AWAY] += 1
    push(flow.heap, flow.marks[SIZE], time, number)
    flow.marks[SIZE] += 1


@compiled
def hold(flow: Flow, number: int, time: float) -> None:
    """No replica takes a request that comes at `time`, s: it waits at the router."""
    if flow.again[number].arrival < 0:
        flow.again[number].arrival = time
    if flow.again[number].away:
        flow.again[number].away = 0
        flow.marks[AWAY] -= 1
    flow.held[flow.marks[HELD]] = number
    flow.marks[HELD] += 1


@compiled
def readmit(flow: Flow, time: float) -> None:
    """A replica takes requests again at `time`, s: those held come to the router."""
    while flow.marks[HELD]:
        flow.marks[HELD] -= 1
        send_back(flow, flow.held[flow.marks[HELD]], time)


@compiled
def restore(state: State, flow: Flow, number: int, slot: int, whole: bool) -> None:
    """A request that came before goes on with what is known of it.

    whole: the pool gives whole answers.
    """
    if flow.again[number].away:
        flow.again[number].away = 0
        flow.marks[AWAY] -= 1
    if flow.again[number].arrival < 0:
        return
    state.slots[slot].arrival = flow.again[number].arrival
    state.slots[slot].admitted = flow.again[number].admitted
    state.slots[slot].first = flow.again[number].first
    if state.slots[slot].first >= 0:
        state.slots[slot].read = flow.again[number].read
    state.slots[slot].second = flow.again[number].second
    state.slots[slot].cached = flow.again[number].cached
    state.slots[slot].losses = flow.again[number].losses
    state.slots[slot].cached_host = flow.again[number].cached_host
    state.slots[slot].cached_shared = flow.again[number].cached_shared
    if whole:
        state.slots[slot].output = flow.output[number]


@compiled
def keep_answer(flow: Flow, number: int, prompt: int, left: int) -> None:
    """Of a lost request `prompt` tokens are to compute, and `left` to come, or all of them anew."""
    flow.again[number].prompt = prompt if flow.migrate else flow.prompt[number]
    flow.again[number].left = left if flow.migrate else flow.output[number]


@compiled
def remember(flow: Flow, lost: Any) -> None:
    """Keep what is known of a lost request: a slot or a cache on its way."""
    number = lost.number
    flow.again[number].arrival, flow.again[number].admitted = lost.arrival, lost.admitted
    flow.again[number].first, flow.again[number].second = lost.first, lost.second
    flow.again[number].read = lost.read
    flow.again[number].cached, flow.again[number].losses = lost.cached, lost.losses
    flow.again[number].cached_host = lost.cached_host
    flow.again[number].cached_shared = lost.cached_shared
    flow.again[number].moves += 1


@compiled
def forget_slot(
    state: State, rules: Rules, flow: Flow, replica: int, slot: int, time: float, whole: bool
) -> None:
    """A request on a failed replica comes to the router again at `time` (s), and its slot is free.

    whole: the pool gives whole answers; of one for prompts only the prompt is computed again.
    """
    number, rank = state.slots[slot].number, wide(state.slots[slot].rank)
    prompt, left = wide(state.slots[slot].prompt), wide(state.slots[slot].left)
    decoding = state.slots[slot].begun >= 0
    if rules.unit:
        state.cache.marks[OWED] -= spread(rules, prompt + left + decoding)
        units = wide(state.slots[slot].units)
        give_units(state, rules, replica, rank, number, units)
    if decoding:
        steps = state.replicas[replica].step - state.slots[slot].begun
        won = min(int(steps * rules.gain), left - 1)
        state.sums[LOST_TOKENS] += prompt + won
        prompt, left = prompt + won + 1, left - won  # and the token its prefill gave
    else:
        state.sums[LOST_TOKENS] += state.slots[slot].computed
    remember(flow, state.slots[slot])
    if whole:
        keep_answer(flow, number, prompt, left)
    state.sums[INTERRUPTED] += 1
    send_back(flow, number, time)
    free_slot(state, slot)


@compiled
def cut_step(state: State, replica: int, time: float) -> None:
    """The step under way ends without effect at `time`, s; what it took until then counts."""
    if state.replicas[replica].under_way == IDLE:
        return
    seconds = state.replicas[replica].seconds
    passed = max(time - (state.replicas[replica].now - seconds), 0.0)
    state.sums[BUSY] += passed
    state.sums[JOULES] += state.replicas[replica].joules * (passed / seconds)
    state.sums[LOST_STEPS] += 1
    state.sums[LOST_TOKENS] -= state.replicas[replica].computing


@compiled
def wipe(state: State, rules: Rules, replica: int, time: float) -> None:
    """A replica has nothing from `time`, s, on: no request, no cache, no step."""
    each = state.replicas[replica]
    each.now = time
    each.context, each.shared, each.under_way, each.computing = 0.0, 0.0, IDLE, 0
    each.step, each.decoding, each.waiting, each.prefilling = 0, 0, 0, 0
    each.outstanding, each.held_back, each.busy, each.pending = 0, 0, 0, 0
    each.caching = 0
    each.ending, each.most, each.stale = 0, 0, 0
    each.done, each.landed, each.fresh = -1, -1, -1
    each.turns, each.resumed, each.adding = 0, 0, 0.0
    for rank in range(rules.ranks):
        own = state.ranks[replica, rank]
        own.used, own.share = 0.0, 0.0
        own.queue_head, own.queue_tail, own.oldest, own.newest = -1, -1, -1, -1
        own.partial, own.batch, own.running, own.queued = -1, 0, 0, 0
        own.synced, own.promised, own.since = 0, 0, 0
        own.reading, own.paused = 0, 0
        if rules.unit:
            trim(state.cache, replica * rules.ranks + rank, 0)
        if rules.host:
            trim(state.cache, below(state, rules, replica * rules.ranks + rank), 0)
        for remainder in range(rules.block):
            state.crossing[replica, rank, remainder] = 0
    for place in range(rules.ring):
        state.ring[replica, place] = -1


@compiled
def lose(
    state: State, rules: Rules, flow: Flow, stand: Standing, replica: int, time: float, whole: bool
) -> None:
    """All stages of a replica lose what they have at `time` (s); see `forget_slot`."""
    back = time + flow.detection
    for stage in range(replica * stand.stages, (replica + 1) * stand.stages):
        for rank in range(rules.ranks):
            slot = wide(state.ranks[stage, rank].queue_head)
            while slot >= 0:
                after = state.slots[slot].following
                forget_slot(state, rules, flow, stage, slot, back, whole)
                slot = after
            slot = wide(state.ranks[stage, rank].newest)
            while slot >= 0:
                after = state.slots[slot].older
                forget_slot(state, rules, flow, stage, slot, back, whole)
                slot = after
        cut_step(state, stage, time)
        wipe(state, rules, stage, time)


@compiled
def leave(state: State, rules: Rules, stand: Standing, replica: int, time: float) -> None:
    """A drained replica is empty at `time` (s); its caches go."""
    for stage in range(replica * stand.stages, (replica + 1) * stand.stages):
        wipe(state, rules, stage, time)
    leave_empty(state, stand, replica, time)


@compiled
def leave_drained(state: State, rules: Rules, stand: Standing) -> None:
    """Let drained replicas that have no request left leave, as of when they ended the last one."""
    for replica in range(len(stand.replicas)):
        if stand.replicas[replica].state != DRAINING:
            continue
        outstanding, time = 0, stand.replicas[replica].since
        for stage in range(replica * stand.stages, (replica + 1) * stand.stages):
            outstanding += state.replicas[stage].outstanding
            time = max(time, state.replicas[stage].now)
        if outstanding == 0:
            leave(state, rules, stand, replica, time)

"""Chains of requests: the waiting queue, the running list, the ring of ends; and free slots."""

from __future__ import annotations

from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import Rules, State


@inlined
def take_slot(state: State) -> int:
    """A free slot; the caller has made sure there is one."""
    state.counts[0] -= 1
    return state.free[state.counts[0]]


@inlined
def free_slot(state: State, slot: int) -> None:
    """Give a slot back."""
    state.free[state.counts[0]] = slot
    state.counts[0] += 1


@inlined
def wait_behind(state: State, replica: int, rank: int, slot: int) -> None:
    """Append to a rank's queue, behind everyone of the same or a more urgent priority."""
    head = state.ranks[replica, rank].queue_head
    tail = state.ranks[replica, rank].queue_tail
    state.slots[slot].following = -1
    if tail < 0:
        state.ranks[replica, rank].queue_head = slot
        state.ranks[replica, rank].queue_tail = slot
    elif state.slots[tail].priority <= state.slots[slot].priority:
        state.slots[tail].following = slot
        state.ranks[replica, rank].queue_tail = slot
    elif state.slots[head].priority > state.slots[slot].priority:
        state.slots[slot].following = head
        state.ranks[replica, rank].queue_head = slot
    else:
        ahead = head
        while state.slots[state.slots[ahead].following].priority <= state.slots[slot].priority:
            ahead = state.slots[ahead].following
        state.slots[slot].following = state.slots[ahead].following
        state.slots[ahead].following = slot
    state.replicas[replica].waiting += 1
    state.ranks[replica, rank].queued += 1


@compiled
def wait_first(state: State, replica: int, rank: int, slot: int) -> None:
    """Put a preempted request ahead of everyone of the same or a less urgent priority."""
    before, after = -1, state.ranks[replica, rank].queue_head
    while after >= 0 and state.slots[after].priority < state.slots[slot].priority:
        before, after = after, state.slots[after].following
    state.slots[slot].following = after
    if before < 0:
        state.ranks[replica, rank].queue_head = slot
    else:
        state.slots[before].following = slot
    if after < 0:
        state.ranks[replica, rank].queue_tail = slot
    state.replicas[replica].waiting += 1
    state.ranks[replica, rank].queued += 1


@inlined
def next_waiting(state: State, replica: int, rank: int) -> int:
    """Take the head of a rank's queue, which must not be empty."""
    slot = state.ranks[replica, rank].queue_head
    state.ranks[replica, rank].queue_head = state.slots[slot].following
    if state.slots[slot].following < 0:
        state.ranks[replica, rank].queue_tail = -1
    state.replicas[replica].waiting -= 1
    state.ranks[replica, rank].queued -= 1
    return slot


@inlined
def run(state: State, replica: int, rank: int, slot: int) -> None:
    """Append to the running list of a rank as its newest."""
    newest = state.ranks[replica, rank].newest
    state.slots[slot].older, state.slots[slot].newer = newest, -1
    if newest < 0:
        state.ranks[replica, rank].oldest = slot
    else:
        state.slots[newest].newer = slot
    state.ranks[replica, rank].newest = slot
    state.ranks[replica, rank].running += 1


@inlined
def stop(state: State, replica: int, rank: int, slot: int) -> None:
    """Take out of the running list."""
    older, newer = state.slots[slot].older, state.slots[slot].newer
    if older < 0:
        state.ranks[replica, rank].oldest = newer
    else:
        state.slots[older].newer = newer
    if newer < 0:
        state.ranks[replica, rank].newest = older
    else:
        state.slots[newer].older = older
    state.ranks[replica, rank].running -= 1


@inlined
def note_fresh(state: State, replica: int, slot: int) -> None:
    """The next decode step gives a running request, which is in no queue, its second token."""
    state.slots[slot].following = state.replicas[replica].fresh
    state.replicas[replica].fresh = slot


@compiled
def drop_fresh(state: State, replica: int, slot: int) -> None:
    """It does not: the request is preempted first."""
    after = state.slots[slot].following
    if state.replicas[replica].fresh == slot:
        state.replicas[replica].fresh = after
        return
    before = state.replicas[replica].fresh
    while state.slots[before].following != slot:
        before = state.slots[before].following
    state.slots[before].following = after


@inlined
def give_second(state: State, replica: int, time: float) -> None:
    """A decode step has ended at `time` (s): those that are fresh have their second token."""
    slot = state.replicas[replica].fresh
    while slot >= 0:
        state.slots[slot].second = time
        slot = state.slots[slot].following
    state.replicas[replica].fresh = -1


@inlined
def note_end(state: State, rules: Rules, replica: int, slot: int, step: int) -> None:
    """Hang into the ring: the request ends when `step` steps are done."""
    place = step & (rules.ring - 1)
    first = state.ring[replica, place]
    state.slots[slot].ends = step
    state.slots[slot].after_in_step, state.slots[slot].before_in_step = first, -1
    if first >= 0:
        state.slots[first].before_in_step = slot
    state.ring[replica, place] = slot
    state.replicas[replica].ending = min(state.replicas[replica].ending, step)


@compiled
def drop_end(state: State, rules: Rules, replica: int, slot: int) -> None:
    """Take out of the ring."""
    before, after = state.slots[slot].before_in_step, state.slots[slot].after_in_step
    if before < 0:
        state.ring[replica, state.slots[slot].ends & (rules.ring - 1)] = after
    else:
        state.slots[before].after_in_step = after
    if after >= 0:
        state.slots[after].before_in_step = before


@inlined
def reversed_in_step(state: State, slot: int) -> int:
    """Turn a chain of requests of one step round, so that the oldest comes first; its new head."""
    before = -1
    while slot >= 0:
        after = state.slots[slot].after_in_step
        state.slots[slot].after_in_step = before
        before, slot = slot, after
    return before


@inlined
def next_end(state: State, rules: Rules, replica: int) -> int:
    """Steps until the next request ends, from the replica's current step; ring size when none."""
    step = state.replicas[replica].step
    ending = max(state.replicas[replica].ending, step + 1)
    while ending < step + rules.ring and state.ring[replica, ending & (rules.ring - 1)] < 0:
        ending += 1
    state.replicas[replica].ending = ending
    return ending - step

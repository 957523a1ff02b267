"""Ranks that rest: they compute prompts of their own while other ranks decode (SGLang).

What a rank decodes then ends a step later than it would: its sequences move on in the ring.
"""

from __future__ import annotations

from racktwin.serving.blocks import settle
from racktwin.serving.chain import drop_end, give_second
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import Rules, State, wide


@compiled
def resting_context(state: State, rules: Rules, replica: int) -> float:
    """Tokens cached for the decoding sequences of the ranks that read prompts."""
    found = 0.0
    for rank in range(rules.ranks):
        if not state.ranks[replica, rank].reading:
            continue
        slot = state.ranks[replica, rank].oldest
        while slot >= 0:
            if state.slots[slot].begun >= 0:
                steps = state.replicas[replica].step - state.slots[slot].begun
                found += state.slots[slot].prompt + steps * rules.gain
            slot = state.slots[slot].newer
    return found


@compiled
def end_later(state: State, rules: Rules, replica: int, slot: int) -> None:
    """A decoding sequence ends a step later, among those of that step in the order they began."""
    drop_end(state, rules, replica, slot)
    state.slots[slot].begun += 1
    state.slots[slot].ends += 1
    place = state.slots[slot].ends & (rules.ring - 1)
    before, after = -1, state.ring[replica, place]
    while after >= 0 and state.slots[after].turn > state.slots[slot].turn:
        before, after = after, state.slots[after].after_in_step
    state.slots[slot].before_in_step, state.slots[slot].after_in_step = before, after
    if before < 0:
        state.ring[replica, place] = slot
    else:
        state.slots[before].after_in_step = slot
    if after >= 0:
        state.slots[after].before_in_step = slot


@compiled
def turn_blocks(state: State, rules: Rules, replica: int, rank: int) -> None:
    """The blocks of a rank's decoding sequences are needed a step later."""
    last = state.crossing[replica, rank, rules.block - 1]
    for remainder in range(rules.block - 1, 0, -1):
        state.crossing[replica, rank, remainder] = state.crossing[replica, rank, remainder - 1]
    state.crossing[replica, rank, 0] = last


@compiled
def rest(state: State, rules: Rules, replica: int, begin: float, decodes: bool) -> int:
    """Ranks read prompts in the step that ends, and began at `begin` (s); sequences that rested.

    decodes: other ranks decoded, and it is about to count as a decode step.
    """
    resting = 0
    for rank in range(rules.ranks):
        if not state.ranks[replica, rank].reading:
            continue
        settle(state, rules, replica, rank)
        batch = state.ranks[replica, rank].batch
        slot = wide(state.ranks[replica, rank].oldest) if batch else -1
        while slot >= 0:
            if state.slots[slot].begun >= 0:
                if state.slots[slot].paused < 0:
                    state.slots[slot].paused = begin
                if decodes:
                    end_later(state, rules, replica, slot)
            slot = state.slots[slot].newer
        if decodes:
            turn_blocks(state, rules, replica, rank)
            state.ranks[replica, rank].synced += 1
            state.ranks[replica, rank].since += 1
            state.ranks[replica, rank].promised += batch
        else:
            state.ranks[replica, rank].reading = 0
        if batch:
            state.ranks[replica, rank].paused = 1
        resting += batch
    return resting


@compiled
def note_pause(state: State, replica: int, begin: float, end: float, count: int) -> None:
    """Log that `count` sequences have a token at `end`, s, after the one at `begin`."""
    at = state.logged[0]
    if count == 0 or at >= len(state.log):
        return
    if end <= state.window[0] or begin >= state.window[1]:
        return
    state.log[at].begin, state.log[at].end, state.log[at].tokens = begin, end, 0.0
    state.log[at].replica, state.log[at].steps = replica, 0
    state.log[at].batch, state.log[at].usual = count, 0
    state.logged[0] += 1


@compiled
def resume(state: State, replica: int, rank: int, time: float) -> int:
    """The sequences of a rank that rested have a token again at `time`, s; how many."""
    since, count, resumed = -1.0, 0, 0
    slot = state.ranks[replica, rank].oldest
    while slot >= 0:
        if state.slots[slot].begun >= 0 and state.slots[slot].paused >= 0:
            if state.slots[slot].paused != since:
                note_pause(state, replica, since, time, count)
                since, count = state.slots[slot].paused, 0
            state.slots[slot].paused = -1.0
            count += 1
            resumed += 1
        slot = state.slots[slot].newer
    note_pause(state, replica, since, time, count)
    state.ranks[replica, rank].paused = 0
    return resumed


@compiled
def tell_riders(state: State, rules: Rules, replica: int, time: float) -> None:
    """A decode step has ended at `time` (s): those on ranks that read no prompts have a token."""
    slot, kept, resumed = state.replicas[replica].fresh, -1, 0
    while slot >= 0:
        after = state.slots[slot].following
        if state.ranks[replica, state.slots[slot].rank].reading:
            state.slots[slot].following, kept = kept, slot
        else:
            state.slots[slot].second = time
        slot = after
    state.replicas[replica].fresh = kept
    for rank in range(rules.ranks):
        if state.ranks[replica, rank].reading:
            state.ranks[replica, rank].reading = 0
        elif state.ranks[replica, rank].paused:
            resumed += resume(state, replica, rank, time)
    state.replicas[replica].resumed = resumed


@inlined
def tell(state: State, rules: Rules, replica: int, time: float) -> None:
    """A decode step has ended at `time` (s): its sequences have a token."""
    if rules.singly:
        tell_riders(state, rules, replica, time)
    else:
        give_second(state, replica, time)

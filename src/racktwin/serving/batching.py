"""What goes into a step: which prompts join, which sequences must give way.

One rank at a time, in the engine's order: decoding sequences, then the prompt that is part
computed, then the queue. At most one prompt per rank is part computed, and it is the newest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.blocks import (
    begin_growth,
    blocks_of,
    end_growth,
    needed,
    safe_steps,
    settle,
)
from racktwin.serving.chain import (
    drop_end,
    drop_fresh,
    next_waiting,
    note_end,
    note_fresh,
    run,
    stop,
    wait_behind,
    wait_first,
)
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import FROM_HOST, FROM_SHARED, LOSSES, Rules, State, wide
from racktwin.serving.offload import shrink, take_up, use
from racktwin.serving.sharing import (
    cached_units,
    free_blocks,
    lower_units,
    make_way,
    share,
    take_units,
)


class Draft(NamedTuple):
    """The prefill work of a coming step per rank.

    prompts; new tokens; cached ones behind; encoding images: s and J; host, shared: units to load
    from host memory and from the shared pool.
    """

    prompts: NDArray[np.float64]
    new: NDArray[np.float64]
    behind: NDArray[np.float64]
    encode: NDArray[np.float64]
    effort: NDArray[np.float64]
    host: NDArray[np.float64]
    shared: NDArray[np.float64]


@compiled
def emitted(state: State, rules: Rules, replica: int, slot: int) -> int:
    """Output tokens a running request has given so far."""
    given = state.slots[slot].output - state.slots[slot].left
    if state.slots[slot].begun >= 0:
        given += int((state.replicas[replica].step - state.slots[slot].begun) * rules.gain)
    return given


@compiled
def victim(state: State, rules: Rules, replica: int, rank: int) -> int:
    """The running request of a rank that gives way; of equals the newest.

    The least urgent; under `reserve` 2 the one with the fewest tokens given, then with the longest
    prompt.
    """
    chosen, key, length = -1, 0, 0
    slot = wide(state.ranks[replica, rank].newest)
    while slot >= 0:
        if rules.reserve == 2:
            value, prompt = -emitted(state, rules, replica, slot), state.slots[slot].prompt
        else:
            value, prompt = state.slots[slot].priority, 0
        if chosen < 0 or value > key or (value == key and prompt > length):
            chosen, key, length = slot, value, prompt
        slot = state.slots[slot].older
    return chosen


@compiled
def preempt(state: State, rules: Rules, replica: int, rank: int, slot: int) -> None:
    """Throw out a running request; what is not in the cache by then is computed again.

    Idle blocks of the cache had to go first.
    """
    if rules.unit:
        shrink(state, rules, replica * rules.ranks + rank, 0)
    if state.slots[slot].begun >= 0:
        steps = state.replicas[replica].step - state.slots[slot].begun
        free_blocks(state, rules, replica, slot, end_growth(state, rules, replica, slot))
        drop_end(state, rules, replica, slot)
        if state.slots[slot].second < 0:
            drop_fresh(state, replica, slot)
        won = min(int(steps * rules.gain), state.slots[slot].left - 1)
        state.slots[slot].prompt += won + 1  # and the token its prefill gave
        state.slots[slot].left -= won
        state.slots[slot].begun = -1
        state.replicas[replica].pending += state.slots[slot].prompt
    else:
        state.replicas[replica].pending += state.slots[slot].computed
        state.replicas[replica].caching -= state.slots[slot].computed
        blocks = float(blocks_of(wide(state.slots[slot].computed), rules))
        free_blocks(state, rules, replica, slot, blocks)
        state.ranks[replica, rank].partial = -1
        state.replicas[replica].prefilling -= 1
    state.slots[slot].computed = 0
    state.slots[slot].losses += 1
    state.sums[LOSSES] += 1
    stop(state, replica, rank, slot)
    if rules.reserve == 2:
        wait_behind(state, replica, rank, slot)
    else:
        wait_first(state, replica, rank, slot)


@compiled
def reserved_share(state: State, rules: Rules, replica: int, rank: int) -> float:
    """Share of the output to come of decoding sequences that admission keeps room for (1)."""
    passed = state.replicas[replica].step - state.ranks[replica, rank].since
    return max(rules.least, state.ranks[replica, rank].share - rules.decay * passed)


@inlined
def growth(state: State, rules: Rules, replica: int, rank: int) -> float:
    """Blocks that decoding takes in a step with prompts, in which it may have to pause."""
    return needed(state, rules, replica, rank) if rules.mixed else 0.0


@inlined
def room_to_admit(
    state: State,
    rules: Rules,
    replica: int,
    rank: int,
    slot: int,
    tokens: int,
    pledged: int,
    free: float,
) -> float:
    """Blocks the head of a queue takes when it is computed to `tokens`; inf: it must wait.

    Those it finds in the cache are among them. pledged: output tokens of the prompts this step
    completes. free: blocks that are not in use, and those in use that it finds.
    """
    if rules.reserve == 1:
        grow = blocks_of(state.slots[slot].prompt + state.slots[slot].left, rules)
        return grow if grow <= free else np.inf
    grow = blocks_of(tokens, rules)
    wanted = float(grow)
    if not rules.mixed:  # no step can make room between the chunks of a prompt
        wanted = float(blocks_of(wide(state.slots[slot].prompt), rules))
    if rules.reserve == 2 and state.ranks[replica, rank].running:
        batch = state.ranks[replica, rank].batch
        coming = state.ranks[replica, rank].promised - batch * state.replicas[replica].step
        later = reserved_share(state, rules, replica, rank) * (coming * rules.gain)
        own = state.slots[slot].prompt + state.slots[slot].left
        wanted = blocks_of(own + pledged + later, rules)
    return grow if wanted <= free else np.inf


@inlined
def prefill(state: State, rules: Rules, draft: Draft, replica: int, slot: int, tokens: int) -> bool:
    """Schedule `tokens` tokens of a running prompt; whether that completes it."""
    rank = state.slots[slot].rank
    draft.prompts[rank] += 1
    draft.new[rank] += tokens
    draft.behind[rank] += state.slots[slot].computed
    state.replicas[replica].caching += tokens
    state.slots[slot].computed += tokens
    return state.slots[slot].computed == state.slots[slot].prompt


@inlined
def go_on(
    state: State,
    rules: Rules,
    draft: Draft,
    replica: int,
    rank: int,
    budget: int,
    done: int,
) -> tuple[int, int]:
    """The prompt that is part computed; returns the budget left and the chain of completed ones."""
    slot = wide(state.ranks[replica, rank].partial)
    if slot < 0 or budget <= 0:
        return budget, done
    tokens = min(state.slots[slot].prompt - state.slots[slot].computed, budget)
    if rules.reserve != 1:
        end = state.slots[slot].computed + tokens
        grow = blocks_of(end, rules) - blocks_of(wide(state.slots[slot].computed), rules)
        lost = False
        while (
            state.ranks[replica, rank].used + growth(state, rules, replica, rank) + grow
            > rules.blocks
        ):
            lost, gone = True, victim(state, rules, replica, rank)
            preempt(state, rules, replica, rank, gone)
            if gone == slot:
                return 0, done
        state.ranks[replica, rank].used += grow
        budget = tokens if lost else budget  # nobody is admitted in a step that preempts
    if prefill(state, rules, draft, replica, slot, tokens):
        state.ranks[replica, rank].partial = -1
        state.replicas[replica].prefilling -= 1
        state.slots[slot].after_in_step = done
        done = slot
    return budget - tokens, done


@compiled
def look_up(
    state: State, rules: Rules, replica: int, rank: int, slot: int, free: float
) -> tuple[int, int, int, float]:
    """Units of a prompt in the cache and, behind them, in host memory and in the shared pool.

    And `free` blocks, with those of the units in the cache that are in use.
    """
    make_way(state, rules, replica, rank, growth(state, rules, replica, rank))
    row, prompt = state.slots[slot].number, wide(state.slots[slot].prompt)
    units, idle = cached_units(state, rules, replica, rank, row, prompt)
    free += (units - idle) * (rules.unit // rules.block)
    host, shared = 0, 0
    if rules.host or rules.shared:
        host, shared = lower_units(state, rules, replica, rank, row, prompt, units)
    return units, host, shared, free


@compiled
def take_found(state: State, rules: Rules, replica: int, rank: int, slot: int, units: int) -> None:
    """An admitted request holds `units` units it found; its own copies of them go."""
    take_units(state, rules, replica, rank, state.slots[slot].number, units)
    state.ranks[replica, rank].used -= units * (rules.unit // rules.block)
    state.slots[slot].units, state.slots[slot].computed = units, units * rules.unit
    state.replicas[replica].caching += units * rules.unit
    state.replicas[replica].pending -= units * rules.unit


@compiled
def encode(state: State, draft: Draft, rank: int, slot: int, found: int) -> None:
    """The images of a prompt that starts are encoded, but for tokens it `found` in the cache.

    They are its last tokens: of a conversation, the images of this turn.
    """
    row = state.slots[slot].number
    tokens = state.images[row, 0]
    if tokens > 0:
        share = min(tokens, float(state.slots[slot].prompt - found)) / tokens
        draft.encode[rank] += share * state.images[row, 1]
        draft.effort[rank] += share * state.images[row, 2]


@compiled
def load(
    state: State,
    rules: Rules,
    draft: Draft,
    replica: int,
    rank: int,
    slot: int,
    host: int,
    shared: int,
) -> None:
    """An admitted request, which holds what it found, loads `host` + `shared` units behind that.

    The rank's cache has them at once: layer by layer they are there when a step needs them.
    """
    place, row = replica * rules.ranks + rank, state.slots[slot].number
    units = wide(state.slots[slot].units)
    end = units + host + shared
    if end > units:
        take_up(state, rules, place, row, units, units + host)
        state.slots[slot].units = share(state, rules, replica, rank, row, units, end)
        state.slots[slot].computed = end * rules.unit
        state.replicas[replica].pending -= (end - units) * rules.unit
        state.replicas[replica].caching += (end - units) * rules.unit
        draft.host[rank] += host
        draft.shared[rank] += shared
        state.sums[FROM_HOST] += host
        state.sums[FROM_SHARED] += shared
    use(state, rules, place, row, end)


@inlined
def admit(
    state: State,
    rules: Rules,
    draft: Draft,
    replica: int,
    rank: int,
    time: float,
    budget: int,
    pledged: int,
    done: int,
) -> int:
    """Let the queue in, first come first served; returns the chain of completed prompts."""
    if state.ranks[replica, rank].running == 0:
        state.ranks[replica, rank].share = rules.share
        state.ranks[replica, rank].since = state.replicas[replica].step
    while (
        state.ranks[replica, rank].queued
        and budget > 0
        and state.ranks[replica, rank].running < rules.max_batch
        and state.ranks[replica, rank].partial < 0
    ):
        slot = wide(state.ranks[replica, rank].queue_head)
        free = rules.blocks - state.ranks[replica, rank].used
        free -= growth(state, rules, replica, rank)
        units, host, shared = 0, 0, 0
        if rules.unit:
            units, host, shared, free = look_up(state, rules, replica, rank, slot, free)
        found = (units + host + shared) * rules.unit
        whole = state.slots[slot].prompt - found
        tokens = min(whole, budget)
        if tokens < whole <= rules.budget and not rules.chunked:
            return done
        end = found + tokens
        grow = room_to_admit(state, rules, replica, rank, slot, end, pledged, free)
        if grow == np.inf:
            return done
        next_waiting(state, replica, rank)
        run(state, replica, rank, slot)
        state.ranks[replica, rank].used += grow
        state.slots[slot].held = int(grow)
        if state.slots[slot].admitted < 0:
            state.slots[slot].admitted, state.slots[slot].cached = time, found
            state.slots[slot].cached_host = host * rules.unit
            state.slots[slot].cached_shared = shared * rules.unit
        if units:
            take_found(state, rules, replica, rank, slot, units)
        if found and (rules.host or rules.shared):
            load(state, rules, draft, replica, rank, slot, host, shared)
        if len(state.images):
            encode(state, draft, rank, slot, found)
        if prefill(state, rules, draft, replica, slot, tokens):
            state.slots[slot].after_in_step = done
            done = slot
        else:
            state.ranks[replica, rank].partial = slot
            state.replicas[replica].prefilling += 1
        budget -= tokens
        pledged += state.slots[slot].left
    return done


@compiled
def make_room(state: State, rules: Rules, replica: int, rank: int) -> bool:
    """Preempt requests until the decoding ones have blocks; whether any had to go."""
    lost = False
    while (
        state.ranks[replica, rank].used + needed(state, rules, replica, rank) > rules.blocks
        and state.ranks[replica, rank].running > 1
    ):
        preempt(state, rules, replica, rank, victim(state, rules, replica, rank))
        lost = True
    if lost and rules.reserve == 2:
        expect_longer(state, rules, replica, rank)
    return lost


@compiled
def expect_longer(state: State, rules: Rules, replica: int, rank: int) -> None:
    """After a retraction: reserve the share of their output the sequences of a rank have given."""
    given, whole = 0, 1
    slot = wide(state.ranks[replica, rank].newest)
    while slot >= 0:
        given += emitted(state, rules, replica, slot) + rules.ahead
        whole += state.slots[slot].output
        slot = state.slots[slot].older
    state.ranks[replica, rank].share = min(1.0, given / whole)
    state.ranks[replica, rank].since = state.replicas[replica].step + 1


@compiled
def compose(
    state: State,
    rules: Rules,
    draft: Draft,
    replica: int,
    time: float,
    admitting: bool,
) -> int:
    """Put the prefill work of the coming step into `draft`; returns the prompts it completes.

    Unmixed, prompts come first: decoding sequences are thrown out only where they have the step.
    """
    done, safe = -1, safe_steps(state, rules, replica) > 0
    for rank in range(rules.ranks):
        draft.prompts[rank] = draft.new[rank] = draft.behind[rank] = 0.0
        draft.encode[rank] = draft.effort[rank] = 0.0
        draft.host[rank] = draft.shared[rank] = 0.0
        idle = state.ranks[replica, rank].partial < 0 and (
            not admitting or state.ranks[replica, rank].queued == 0
        )
        if idle and (safe or not rules.mixed):
            continue
        settle(state, rules, replica, rank)
        budget, lost = rules.budget, False
        if rules.mixed:
            lost = make_room(state, rules, replica, rank)
            budget -= state.ranks[replica, rank].batch * rules.queries
        before = done
        budget, done = go_on(state, rules, draft, replica, rank, budget, done)
        if admitting and not lost and budget > 0:
            pledged = state.slots[done].left if done != before else 0
            done = admit(state, rules, draft, replica, rank, time, budget, pledged, done)
    if not rules.mixed and not safe and (rules.singly or draft.new.sum() == 0):
        for rank in range(rules.ranks):
            if draft.new[rank] == 0:
                settle(state, rules, replica, rank)
                make_room(state, rules, replica, rank)
    return done


@inlined
def start_decoding(state: State, rules: Rules, replica: int, slot: int) -> None:
    """A prompt is complete: its sequence decodes from the replica's coming step on."""
    settle(state, rules, replica, wide(state.slots[slot].rank))
    steps = int(np.ceil(state.slots[slot].left / rules.gain))
    state.slots[slot].begun = state.replicas[replica].step
    note_end(state, rules, replica, slot, state.replicas[replica].step + steps)
    begin_growth(state, rules, replica, slot)
    if rules.singly:
        state.replicas[replica].turns += 1
        state.slots[slot].turn, state.slots[slot].paused = state.replicas[replica].turns, -1.0
    if state.slots[slot].second < 0:
        note_fresh(state, replica, slot)

"""What counts when a step ends: tokens, sequences and prompts that are done, sums."""

from __future__ import annotations

from racktwin.serving.batching import start_decoding
from racktwin.serving.blocks import blocks_of, end_growth, settle
from racktwin.serving.chain import free_slot, reversed_in_step, stop
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import (
    BATCH,
    BLOCKS,
    BUSY,
    DECODED,
    DECODES,
    FINISHED,
    IDLE,
    JOULES,
    PREFILLED,
    STEPS,
    Rules,
    State,
    wide,
)
from racktwin.serving.offload import use
from racktwin.serving.resting import rest, tell
from racktwin.serving.sharing import leave_answer, share, units_of


@inlined
def finish(state: State, rules: Rules, replica: int, slot: int, time: float) -> None:
    """Write the result of a request that is not running any more, and free its slot."""
    at = state.counts[1]
    state.results[at].number, state.results[at].arrival = (
        state.slots[slot].number,
        state.slots[slot].arrival,
    )
    state.results[at].admitted, state.results[at].first = (
        state.slots[slot].admitted,
        state.slots[slot].first,
    )
    state.results[at].second, state.results[at].finish = state.slots[slot].second, time
    state.results[at].read = state.slots[slot].read
    state.results[at].output = state.slots[slot].output
    state.results[at].cached, state.results[at].losses = (
        state.slots[slot].cached,
        state.slots[slot].losses,
    )
    state.results[at].cached_host = state.slots[slot].cached_host
    state.results[at].cached_shared = state.slots[slot].cached_shared
    state.results[at].replica, state.results[at].rank = replica, state.slots[slot].rank
    state.counts[1] += 1
    state.sums[FINISHED] += 1
    state.replicas[replica].outstanding -= 1
    stop(state, replica, wide(state.slots[slot].rank), slot)
    free_slot(state, slot)


@inlined
def free_ended(state: State, rules: Rules, replica: int, slot: int, blocks: float) -> None:
    """A request has ended and gives back its `blocks` blocks; its rank is settled."""
    if rules.unit:
        leave_answer(state, rules, replica, slot, blocks)
    else:
        state.ranks[replica, state.slots[slot].rank].used -= blocks


@inlined
def ends_now(state: State, rules: Rules, replica: int) -> bool:
    """Whether sequences had their last step just now."""
    first: int = state.ring[replica, state.replicas[replica].step & (rules.ring - 1)]
    return first >= 0


@compiled
def end_sequences(state: State, rules: Rules, replica: int, time: float) -> None:
    """Finish the sequences whose last step was just done; there are some."""
    place = state.replicas[replica].step & (rules.ring - 1)
    slot = wide(state.ring[replica, place])
    state.ring[replica, place] = -1
    if rules.unit:  # the order in which blocks become idle matters
        slot = reversed_in_step(state, slot)
    while slot >= 0:
        after = state.slots[slot].after_in_step
        rank = wide(state.slots[slot].rank)
        settle(state, rules, replica, rank)
        free_ended(state, rules, replica, slot, end_growth(state, rules, replica, slot))
        finish(state, rules, replica, slot, time)
        slot = after


@compiled
def share_prompt(state: State, rules: Rules, replica: int, slot: int) -> None:
    """The full blocks of a prompt that was just computed can be found from now on."""
    rank, row = wide(state.slots[slot].rank), state.slots[slot].number
    settle(state, rules, replica, rank)
    end = min(units_of(state, row), state.slots[slot].prompt // rules.unit)
    begin = wide(state.slots[slot].units)
    state.slots[slot].units = share(state, rules, replica, rank, row, begin, end)
    use(state, rules, replica * rules.ranks + rank, row, end)


@compiled
def end_prompts(state: State, rules: Rules, replica: int, done: int, time: float) -> None:
    """Give the completed prompts their first token; they decode from the coming step on."""
    done = reversed_in_step(state, done)
    while done >= 0:
        slot, done = done, state.slots[done].after_in_step
        state.replicas[replica].caching -= state.slots[slot].prompt
        if state.slots[slot].first < 0:
            state.slots[slot].first = time
            state.slots[slot].read = state.replicas[replica].prompting - state.slots[slot].read
        elif state.slots[slot].second < 0 and state.slots[slot].left < state.slots[slot].output:
            state.slots[slot].second = time
        state.slots[slot].left -= 1
        rank = wide(state.slots[slot].rank)
        if rules.unit:
            share_prompt(state, rules, replica, slot)
        if state.slots[slot].left:
            start_decoding(state, rules, replica, slot)
            continue
        settle(state, rules, replica, rank)
        held = (
            state.slots[slot].held
            if rules.reserve == 1
            else blocks_of(wide(state.slots[slot].prompt), rules)
        )
        free_ended(state, rules, replica, slot, float(held))
        finish(state, rules, replica, slot, time)


@inlined
def note_step(
    state: State, replica: int, begin: float, end: float, steps: int, told: int, prefilled: float
) -> None:
    """Log a stretch from `begin` to `end` (s), while there is room.

    told: sequences that had a token, once for each of its steps; prefilled: tokens.
    """
    at = state.logged[0]
    if at >= len(state.log):
        return
    state.log[at].begin, state.log[at].end = begin, end
    state.log[at].tokens, state.log[at].steps = prefilled, steps
    state.log[at].replica, state.log[at].batch = replica, state.replicas[replica].decoding
    state.log[at].usual = told - state.replicas[replica].resumed
    state.logged[0] += 1


@inlined
def account(
    state: State,
    rules: Rules,
    replica: int,
    end: float,
    seconds: float,
    energy: float,
    steps: int,
    decoded: float,
    prefilled: float,
) -> None:
    """Add what a stretch of steps that ended at `end` (s) did to the sums.

    s, J, steps, tokens decoded and prefilled.
    """
    if end > state.window[0] and end - seconds < state.window[1]:
        told = int(decoded / rules.gain)
        note_step(state, replica, end - seconds, end, steps, told, prefilled)
    sums = state.sums
    sums[BUSY] += seconds
    sums[STEPS] += steps
    sums[JOULES] += energy
    sums[DECODED] += decoded
    sums[PREFILLED] += prefilled
    sums[BATCH] += seconds * state.replicas[replica].decoding
    context = state.replicas[replica].context - decoded / 2  # on average over the stretch
    context += state.replicas[replica].caching
    sums[BLOCKS] += seconds * (context / rules.block - state.replicas[replica].shared)


@compiled
def start_landed(state: State, rules: Rules, replica: int) -> None:
    """The caches that came during the step decode from the next one on, in order of landing."""
    slot = reversed_in_step(state, state.replicas[replica].landed)
    state.replicas[replica].landed = -1
    while slot >= 0:
        after = state.slots[slot].after_in_step
        start_decoding(state, rules, replica, slot)
        slot = after


@inlined
def end_step(state: State, rules: Rules, replica: int) -> None:
    """The step under way ends, and only now counts what it does."""
    time, won = state.replicas[replica].now, 0.0
    seconds, energy = state.replicas[replica].seconds, state.replicas[replica].joules
    computed = state.replicas[replica].computing
    decodes = state.replicas[replica].under_way == DECODES
    riding = state.replicas[replica].decoding
    if rules.singly and computed:
        riding -= rest(state, rules, replica, time - seconds, decodes)
    if decodes:  # `step` counts decode steps
        won = rules.gain * riding
        state.replicas[replica].step += 1
        state.replicas[replica].context += won
        tell(state, rules, replica, time)
    state.replicas[replica].under_way = IDLE
    state.replicas[replica].pending -= computed
    state.replicas[replica].prompting += state.replicas[replica].adding
    state.replicas[replica].adding = 0.0
    account(state, rules, replica, time, seconds, energy, 1, won, float(computed))
    if decodes and ends_now(state, rules, replica):
        end_sequences(state, rules, replica, time)
    if state.replicas[replica].done >= 0:
        end_prompts(state, rules, replica, state.replicas[replica].done, time)
    if state.replicas[replica].landed >= 0:
        start_landed(state, rules, replica)

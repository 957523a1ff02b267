"""The compiled simulation of a pool: replicas step by step, arrivals in between."""

from __future__ import annotations

from racktwin.engine.cost import Array
from racktwin.serving.batching import Draft, compose, start_decoding
from racktwin.serving.blocks import blocks_of, end_growth, safe_steps, settle
from racktwin.serving.chain import (
    free_slot,
    give_second,
    next_end,
    reversed_in_step,
    stop,
    take_slot,
    wait_behind,
)
from racktwin.serving.clock import SPACING, Clock
from racktwin.serving.compiled import compiled
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
    PROMPTS,
    STEPS,
    Ints,
    Rules,
    State,
)
from racktwin.serving.lookup import (
    attended,
    base_seconds,
    between,
    decode_seconds,
    depth,
    joules,
    work_row,
)
from racktwin.serving.offload import load_seconds, spread, use
from racktwin.serving.prefix_cache import OWED
from racktwin.serving.router import seat
from racktwin.serving.sharing import leave_answer, room_for_units, share, units_of


@compiled
def enqueue(
    state: State,
    rules: Rules,
    replica: int,
    number: int,
    arrival: float,
    prompt: int,
    output: int,
    priority: int,
    policy: int,
) -> int:
    """A request comes to a replica, and there to the rank the router `policy` means it for.

    Returns its slot.
    """
    rank = seat(state, rules, policy, replica, number, prompt)
    slot = take_slot(state)
    state.slots[slot].number, state.slots[slot].arrival, state.slots[slot].admitted = (
        number,
        arrival,
        -1.0,
    )
    state.slots[slot].first, state.slots[slot].second = -1.0, -1.0
    state.slots[slot].prompt, state.slots[slot].computed = prompt, 0
    state.slots[slot].left, state.slots[slot].output, state.slots[slot].cached = output, output, 0
    state.slots[slot].begun, state.slots[slot].priority, state.slots[slot].losses = -1, priority, 0
    state.slots[slot].rank, state.slots[slot].held, state.slots[slot].units = rank, 0, 0
    state.slots[slot].cached_host = state.slots[slot].cached_shared = 0
    if rules.unit:
        state.cache.marks[OWED] += spread(rules, prompt + output)
    wait_behind(state, replica, rank, slot)
    state.replicas[replica].outstanding += 1
    state.replicas[replica].pending += prompt
    if not state.replicas[replica].busy:
        state.replicas[replica].busy = True
        state.replicas[replica].now = arrival
    return slot


@compiled
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
    stop(state, replica, state.slots[slot].rank, slot)
    free_slot(state, slot)


@compiled
def free_ended(state: State, rules: Rules, replica: int, slot: int, blocks: float) -> None:
    """A request has ended and gives back its `blocks` blocks; its rank is settled."""
    if rules.unit:
        leave_answer(state, rules, replica, slot, blocks)
    else:
        state.ranks[replica, state.slots[slot].rank].used -= blocks


@compiled
def end_sequences(state: State, rules: Rules, replica: int, time: float) -> None:
    """Finish the sequences whose last step was just done."""
    place = state.replicas[replica].step & (rules.ring - 1)
    slot = state.ring[replica, place]
    state.ring[replica, place] = -1
    if rules.unit:  # the order in which blocks become idle matters
        slot = reversed_in_step(state, slot)
    while slot >= 0:
        after = state.slots[slot].after_in_step
        rank = state.slots[slot].rank
        settle(state, rules, replica, rank)
        free_ended(state, rules, replica, slot, end_growth(state, rules, replica, slot))
        finish(state, rules, replica, slot, time)
        slot = after


@compiled
def share_prompt(state: State, rules: Rules, replica: int, slot: int) -> None:
    """The full blocks of a prompt that was just computed can be found from now on."""
    rank, row = state.slots[slot].rank, state.slots[slot].number
    settle(state, rules, replica, rank)
    end = min(units_of(state, row), state.slots[slot].prompt // rules.unit)
    begin = state.slots[slot].units
    state.slots[slot].units = share(state, rules, replica, rank, row, begin, end)
    use(state, rules, replica * rules.ranks + rank, row, end)


@compiled
def end_prompts(state: State, rules: Rules, replica: int, done: int, time: float) -> None:
    """Give the completed prompts their first token; they decode from the coming step on."""
    done = reversed_in_step(state, done)
    while done >= 0:
        slot, done = done, state.slots[done].after_in_step
        if state.slots[slot].first < 0:
            state.slots[slot].first = time
        elif state.slots[slot].second < 0 and state.slots[slot].left < state.slots[slot].output:
            state.slots[slot].second = time
        state.slots[slot].left -= 1
        rank = state.slots[slot].rank
        if rules.unit:
            share_prompt(state, rules, replica, slot)
        if state.slots[slot].left:
            start_decoding(state, rules, replica, slot)
            continue
        settle(state, rules, replica, rank)
        held = (
            state.slots[slot].held
            if rules.reserve == 1
            else blocks_of(state.slots[slot].prompt, rules)
        )
        free_ended(state, rules, replica, slot, float(held))
        finish(state, rules, replica, slot, time)


@compiled
def note_step(
    state: State, replica: int, begin: float, end: float, steps: int, prefilled: float
) -> None:
    """Log a stretch from `begin` to `end` (s), with tokens prefilled, while there is room."""
    at = state.logged[0]
    if at >= len(state.log):
        return
    state.log[at].begin, state.log[at].end = begin, end
    state.log[at].tokens, state.log[at].steps = prefilled, steps
    state.log[at].replica, state.log[at].batch = replica, state.replicas[replica].decoding
    state.logged[0] += 1


@compiled
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
        note_step(state, replica, end - seconds, end, steps, prefilled)
    sums = state.sums
    sums[BUSY] += seconds
    sums[STEPS] += steps
    sums[JOULES] += energy
    sums[DECODED] += decoded
    sums[PREFILLED] += prefilled
    sums[BATCH] += seconds * state.replicas[replica].decoding
    context = state.replicas[replica].context - decoded / 2  # on average over the stretch
    sums[BLOCKS] += seconds * (context / rules.block - state.replicas[replica].shared)


@compiled
def fullest(state: State, rules: Rules, replica: int) -> int:
    """Decoding sequences of the rank that has most."""
    if state.replicas[replica].stale:
        most = 0
        for rank in range(rules.ranks):
            most = max(most, state.ranks[replica, rank].batch)
        state.replicas[replica].most, state.replicas[replica].stale = most, 0
    return state.replicas[replica].most


@compiled
def begin_step(
    state: State,
    replica: int,
    kind: int,
    end: float,
    seconds: float,
    energy: float,
    computing: int,
    done: int,
) -> None:
    """A step is under way until `end` (s): its `kind` (see `fleet.IDLE`), length (s), energy (J).

    computing: prompt tokens; done: chain of the prompts it completes.
    """
    state.replicas[replica].under_way, state.replicas[replica].now = kind, end
    state.replicas[replica].seconds, state.replicas[replica].joules = seconds, energy
    state.replicas[replica].computing, state.replicas[replica].done = computing, done


@compiled
def end_step(state: State, rules: Rules, replica: int) -> None:
    """The step under way ends, and only now counts what it does."""
    time, won, decodes = state.replicas[replica].now, 0.0, False
    if state.replicas[replica].under_way == DECODES:  # `step` counts decode steps
        decodes = True
        won = rules.gain * state.replicas[replica].decoding
        state.replicas[replica].step += 1
        state.replicas[replica].context += won
    state.replicas[replica].under_way = IDLE
    seconds, energy = state.replicas[replica].seconds, state.replicas[replica].joules
    computed = state.replicas[replica].computing
    state.replicas[replica].pending -= computed
    account(state, rules, replica, time, seconds, energy, 1, won, float(computed))
    if decodes:
        give_second(state, replica, time)
        end_sequences(state, rules, replica, time)
    end_prompts(state, rules, replica, state.replicas[replica].done, time)
    slot = reversed_in_step(state, state.replicas[replica].landed)
    state.replicas[replica].landed = -1
    while slot >= 0:
        after = state.slots[slot].after_in_step
        start_decoding(state, rules, replica, slot)
        slot = after


@compiled
def decode_stretch(
    state: State, rules: Rules, clock: Clock, replica: int, until: float, steps: int
) -> int:
    """Begin one step of pure decoding, and up to `steps` that start before `until` (s); how many.

    One that does not end before `until` is under way, the others have ended.
    """
    total = state.replicas[replica].decoding
    most = fullest(state, rules, replica)
    mean = total * rules.queries / rules.ranks
    base = base_seconds(clock, most * rules.queries, mean)
    work = between(clock.work, mean)
    column = clock.decode[most]
    effort = clock.decode_work[work_row(clock, total / rules.ranks)]
    begin = time = state.replicas[replica].now
    context = state.replicas[replica].context
    place, ahead = depth(context, total) / SPACING, rules.gain / SPACING
    taken, energy, last = 0, 0.0, len(column) - 2
    ended, spent, one = time, 0.0, time
    while True:
        ended, spent = time, energy
        low = min(int(place), last)
        part = place - low
        seconds = base + (column[low] + part * (column[low + 1] - column[low]))
        seconds *= clock.scale
        joules = work + (effort[low] + part * (effort[low + 1] - effort[low]))
        energy += min(clock.idle * seconds + joules * clock.scale, clock.most * seconds)
        time += seconds
        place += ahead
        taken += 1
        if taken == 1:
            one = time
        if taken >= steps or time >= until:
            break
    whole = taken
    if time >= until:
        whole -= 1
        begin_step(state, replica, DECODES, time, time - ended, energy - spent, 0, -1)
    else:
        ended, spent = time, energy
        state.replicas[replica].now = time
    if whole:
        won = whole * rules.gain * total
        state.replicas[replica].context = context + won
        state.replicas[replica].step += whole
        give_second(state, replica, one)
        account(state, rules, replica, ended, ended - begin, spent, whole, won, 0.0)
    if whole == taken:
        end_sequences(state, rules, replica, time)
    return taken


@compiled
def loaded_step(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    replica: int,
    done: int,
) -> None:
    """Begin a step that carries prompts, with the decoding sequences or, unmixed, without them."""
    riding = rules.mixed
    total = state.replicas[replica].decoding if riding else 0
    most = fullest(state, rules, replica) if riding else 0
    tokens, longest, attention, new, copied = 0, 0.0, 0.0, 0.0, 0.0
    for rank in range(rules.ranks):
        own = draft.new[rank]
        batch = state.ranks[replica, rank].batch if riding else 0
        tokens = max(tokens, batch * rules.queries + int(own))
        new += own
        if own > 0:
            count = draft.prompts[rank]
            point = (count, own / count, draft.behind[rank] / count)
            longest = max(longest, attended(clock, clock.prefill, *point) + draft.encode[rank])
            attention += attended(clock, clock.prefill_work, *point) + draft.effort[rank]
            copied = max(copied, load_seconds(rules, draft.host[rank], draft.shared[rank]))
    mean = (total * rules.queries + new) / rules.ranks
    context = depth(state.replicas[replica].context, total) if total else 0.0
    seconds = base_seconds(clock, tokens, mean)
    if total:
        seconds += decode_seconds(clock, most, context)
    seconds = (seconds + longest) * clock.scale
    seconds = max(seconds, copied) if rules.layered else seconds + copied
    energy = joules(clock, seconds, mean, total / rules.ranks, context)
    energy = min(energy + attention / rules.ranks * clock.scale, clock.most * seconds)
    end, kind = state.replicas[replica].now + seconds, DECODES if riding else PROMPTS
    begin_step(state, replica, kind, end, seconds, energy, int(new), done)


@compiled
def admits(state: State, rules: Rules, replica: int) -> bool:
    """Whether queued prompts may start in the coming step, or wait until every rank has one.

    Not longer than to every `balance`-th step, and not when a rank has prompts alone. (One that has
    nothing at all decodes a dummy.)
    """
    if rules.balance == 0:
        return True
    ready, decoding = 0, 0
    for rank in range(rules.ranks):
        own = state.ranks[replica, rank]
        ready += own.partial >= 0 or (own.queued > 0 and own.running < rules.max_batch)
        decoding += own.batch > 0 or own.running + own.queued == 0
    state.replicas[replica].held_back += 1
    held = ready < rules.ranks and decoding == rules.ranks
    if held and state.replicas[replica].held_back < rules.balance:
        return False
    state.replicas[replica].held_back = 0
    return True


@compiled
def begin(
    state: State, rules: Rules, clock: Clock, draft: Draft, replica: int, until: float
) -> None:
    """Begin the next step of a replica, and of pure decoding those that start before `until` (s).

    The last is under way, unless it was done before `until`.
    """
    steps = 1
    quiet = state.replicas[replica].waiting == 0 and state.replicas[replica].prefilling == 0
    if quiet:
        if state.replicas[replica].decoding == 0:
            state.replicas[replica].busy = False
            return
        steps = min(next_end(state, rules, replica), safe_steps(state, rules, replica))
    composing = not quiet or steps == 0
    if composing:
        admitting = admits(state, rules, replica)
        time = state.replicas[replica].now
        done = compose(state, rules, draft, replica, time, admitting)
        if draft.new.sum() > 0:
            loaded_step(state, rules, clock, draft, replica, done)
            return
        if state.replicas[replica].decoding == 0:  # nothing that waits fits, nothing runs
            state.replicas[replica].busy = False
            return
        steps = 1
    taken = decode_stretch(state, rules, clock, replica, until, steps)
    if rules.balance and not composing:
        waited = state.replicas[replica].held_back + taken
        state.replicas[replica].held_back = waited % rules.balance


@compiled
def advance(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    replica: int,
    until: float,
) -> None:
    """Begin the steps of a replica that start before `until` (s), end those that end by then."""
    while state.replicas[replica].busy and state.replicas[replica].now <= until:
        if state.replicas[replica].under_way:
            end_step(state, rules, replica)
        elif state.replicas[replica].now < until:
            begin(state, rules, clock, draft, replica, until)
        else:
            return


@compiled
def run_round_robin(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    arrival: Array,
    prompt: Ints,
    output: Ints,
    priority: Ints,
    first: int,
    begin: Ints,
    until: float,
) -> bool:
    """Feed a stretch of requests, request i to replica i modulo their number; then run on.

    first: number of the stretch's first request in the stream; begin: per replica the index in the
    stretch to go on at; until: s. Replicas do not meet, so each runs through on its own. False when
    slots ran out: give more, and call again.
    """
    replicas = len(state.replicas)
    for replica in range(replicas):
        index = begin[replica]
        while index < len(arrival):
            if state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results):
                begin[replica] = index
                return False
            if rules.unit and not room_for_units(state, rules, prompt[index] + output[index]):
                begin[replica] = index
                return False
            time = arrival[index]
            advance(state, rules, clock, draft, replica, time)
            enqueue(
                state,
                rules,
                replica,
                first + index,
                time,
                prompt[index],
                output[index],
                priority[index],
                0,
            )
            index += replicas
        begin[replica] = index
        advance(state, rules, clock, draft, replica, until)
    return True

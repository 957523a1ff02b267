"""The compiled simulation of a pool: replicas step by step, arrivals in between."""

from __future__ import annotations

from racktwin.engine.cost import Array
from racktwin.serving.batching import Draft, compose
from racktwin.serving.blocks import safe_steps
from racktwin.serving.chain import next_end, take_slot, wait_behind
from racktwin.serving.clock import SPACING, Clock
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.completion import account, end_sequences, end_step, ends_now
from racktwin.serving.fleet import DECODES, PROMPTS, Ints, Rules, State
from racktwin.serving.lookup import (
    attended,
    base_seconds,
    between,
    decode_seconds,
    depth,
    joules,
    work_row,
)
from racktwin.serving.offload import load_seconds, spread
from racktwin.serving.prefix_cache import OWED
from racktwin.serving.resting import resting_context, tell
from racktwin.serving.router import seat
from racktwin.serving.sharing import room_for_units


@inlined
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
    state.slots[slot].read = prompted(state, replica, arrival)
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


@inlined
def prompted(state: State, replica: int, time: float) -> float:
    """Seconds that prompts added to the steps of a replica until `time` (s)."""
    found, added = state.replicas[replica].prompting, state.replicas[replica].adding
    if added > 0:
        left = (state.replicas[replica].now - time) / state.replicas[replica].seconds
        found += added * (1 - left)
    return found


@inlined
def fullest(state: State, rules: Rules, replica: int) -> int:
    """Decoding sequences of the rank that has most."""
    if state.replicas[replica].stale:
        most = 0
        for rank in range(rules.ranks):
            most = max(most, state.ranks[replica, rank].batch)
        state.replicas[replica].most, state.replicas[replica].stale = most, 0
    return state.replicas[replica].most


@inlined
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


@inlined
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
        tell(state, rules, replica, one)
        account(state, rules, replica, ended, ended - begin, spent, whole, won, 0.0)
    if whole == taken and ends_now(state, rules, replica):
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
    """Begin a step that carries prompts, and the decoding sequences of the ranks that go on."""
    total, most = 0, 0
    tokens, longest, attention, new, copied = 0, 0.0, 0.0, 0.0, 0.0
    for rank in range(rules.ranks):
        own = draft.new[rank]
        goes_on = rules.mixed or (rules.singly and own == 0)
        batch = state.ranks[replica, rank].batch if goes_on else 0
        total, most = total + batch, max(most, batch)
        tokens = max(tokens, batch * rules.queries + int(own))
        new += own
        if rules.singly:
            state.ranks[replica, rank].reading = own > 0
        if own > 0:
            count = draft.prompts[rank]
            spent, work = attended(clock, count, own / count, draft.behind[rank] / count)
            longest = max(longest, spent + draft.encode[rank])
            attention += work + draft.effort[rank]
            copied = max(copied, load_seconds(rules, draft.host[rank], draft.shared[rank]))
    mean = (total * rules.queries + new) / rules.ranks
    context, decoding = 0.0, 0.0
    if total:
        whole = state.replicas[replica].context
        if total < state.replicas[replica].decoding:
            whole -= resting_context(state, rules, replica)
        context = depth(whole, total)
        decoding = decode_seconds(clock, most, context)
    # Ranks work side by side; the prompts of one that decodes too come on top.
    seconds = base_seconds(clock, tokens, mean)
    if rules.singly:
        seconds += max(decoding, longest)
    else:
        seconds = seconds + decoding + longest
    seconds *= clock.scale
    adds = seconds
    if rules.mixed and total:
        alone = base_seconds(clock, most * rules.queries, total * rules.queries / rules.ranks)
        adds = max(adds - (alone + decoding) * clock.scale, 0.0)
    state.replicas[replica].adding = adds
    seconds = max(seconds, copied) if rules.layered else seconds + copied
    energy = joules(clock, seconds, mean, total / rules.ranks, context)
    energy = min(energy + attention / rules.ranks * clock.scale, clock.most * seconds)
    end = state.replicas[replica].now + seconds
    kind = DECODES if rules.mixed or total else PROMPTS
    begin_step(state, replica, kind, end, seconds, energy, int(new), done)


@inlined
def unbalanced(state: State, rules: Rules, replica: int) -> bool:
    """Whether queued prompts are held back until every rank has one (attention-DP balance).

    Not when a rank has prompts alone. (One that has nothing at all decodes a dummy.)
    """
    ready, decoding = 0, 0
    for rank in range(rules.ranks):
        own = state.ranks[replica, rank]
        ready += own.partial >= 0 or (own.queued > 0 and own.running < rules.max_batch)
        decoding += own.batch > 0 or own.running + own.queued == 0
    return ready < rules.ranks and decoding == rules.ranks


@inlined
def admits(state: State, rules: Rules, replica: int) -> bool:
    """Whether queued prompts may start in the coming step, at least every `balance`-th."""
    if rules.balance == 0:
        return True
    state.replicas[replica].held_back += 1
    waited = state.replicas[replica].held_back >= rules.balance
    if not waited and unbalanced(state, rules, replica):
        return False
    state.replicas[replica].held_back = 0
    return True


@inlined
def alike(state: State, rules: Rules, replica: int) -> int:
    """Steps ahead, all of pure decoding, in which nobody joins, gives way or ends but in the last.

    0: the next one has to be composed.
    """
    if state.replicas[replica].prefilling or state.replicas[replica].decoding == 0:
        return 0
    steps = min(next_end(state, rules, replica), safe_steps(state, rules, replica))
    if state.replicas[replica].waiting:
        held = rules.balance - 1 - state.replicas[replica].held_back
        if held <= 0 or steps == 0 or not unbalanced(state, rules, replica):
            return 0
        steps = min(steps, held)
    return steps


@inlined
def begin(
    state: State, rules: Rules, clock: Clock, draft: Draft, replica: int, until: float
) -> None:
    """Begin the next step of a replica, and of pure decoding those that start before `until` (s).

    The last is under way, unless it was done before `until`.
    """
    waiting, decoding = state.replicas[replica].waiting, state.replicas[replica].decoding
    if waiting + decoding + state.replicas[replica].prefilling == 0:
        state.replicas[replica].busy = False
        return
    steps = alike(state, rules, replica)
    if steps == 0:
        admitting = admits(state, rules, replica)
        done = compose(state, rules, draft, replica, state.replicas[replica].now, admitting)
        if draft.new.sum() > 0:
            loaded_step(state, rules, clock, draft, replica, done)
            return
        if state.replicas[replica].decoding == 0:  # nothing that waits fits, nothing runs
            state.replicas[replica].busy = False
            return
    taken = decode_stretch(state, rules, clock, replica, until, max(steps, 1))
    if steps and rules.balance:
        waited = state.replicas[replica].held_back + taken
        state.replicas[replica].held_back = waited if waiting else waited % rules.balance


@inlined
def go_to(
    state: State, rules: Rules, clock: Clock, draft: Draft, replica: int, until: float
) -> None:
    """Begin the steps of a replica that start before `until` (s), end those that end by then.

    All in one piece with its caller: a call hands on some 200 words, which costs more than a step.
    """
    while state.replicas[replica].busy and state.replicas[replica].now <= until:
        if state.replicas[replica].under_way:
            end_step(state, rules, replica)
        elif state.replicas[replica].now < until:
            begin(state, rules, clock, draft, replica, until)
        else:
            break


@compiled
def advance(
    state: State, rules: Rules, clock: Clock, draft: Draft, replica: int, until: float
) -> None:
    """`go_to`, compiled once for all that call it; until: s."""
    go_to(state, rules, clock, draft, replica, until)


@inlined
def room_for(state: State, rules: Rules, tokens: int) -> bool:
    """Whether there is a slot, a place for results and for the prefix of one of `tokens` tokens."""
    if state.counts[0] == 0 or 2 * state.counts[1] >= len(state.results):
        return False
    return rules.unit == 0 or room_for_units(state, rules, tokens)


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
        while True:
            comes = index < len(arrival)
            if comes and not room_for(state, rules, prompt[index] + output[index]):
                begin[replica] = index
                return False
            time = arrival[index] if comes else until
            go_to(state, rules, clock, draft, replica, time)
            if not comes:
                break
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
    return True

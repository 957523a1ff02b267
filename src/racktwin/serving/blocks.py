"""KV blocks of a rank: counted exactly, without touching every sequence in every step.

A decoding sequence needs a new block in the steps of one remainder modulo the block size, so a
histogram of remainders says how many blocks each step takes.
"""

from __future__ import annotations

from racktwin.serving.compiled import inlined
from racktwin.serving.fleet import Rules, State, wide


@inlined
def blocks_of(tokens: float, rules: Rules) -> int:
    """Blocks that hold `tokens` tokens."""
    return int(-(-tokens // rules.block))


@inlined
def settle(state: State, rules: Rules, replica: int, rank: int) -> None:
    """Bring `used` of a rank up to its replica's step."""
    passed = state.replicas[replica].step - state.ranks[replica, rank].synced
    state.ranks[replica, rank].synced = state.replicas[replica].step
    if passed <= 0 or rules.reserve == 1:
        return
    if rules.gain != 1.0:
        state.ranks[replica, rank].used += (
            passed * state.ranks[replica, rank].batch * rules.gain / rules.block
        )
        return
    cycles, rest = passed // rules.block, passed % rules.block
    grown = cycles * state.ranks[replica, rank].batch
    begin = state.replicas[replica].step - rest
    for ahead in range(rest):
        grown += state.crossing[replica, rank, (begin + ahead) % rules.block]
    state.ranks[replica, rank].used += grown


@inlined
def needed(state: State, rules: Rules, replica: int, rank: int) -> float:
    """Blocks the decoding sequences of a rank need in the coming step."""
    if rules.reserve == 1:
        return 0.0
    if rules.gain != 1.0:
        return state.ranks[replica, rank].batch * rules.gain / rules.block
    return float(state.crossing[replica, rank, state.replicas[replica].step % rules.block])


@inlined
def safe_steps(state: State, rules: Rules, replica: int) -> int:
    """Steps for which no rank can run out of blocks, whoever needs them when; 0: look closer."""
    least = rules.ring
    if rules.reserve == 1:
        return least
    for rank in range(rules.ranks):
        batch = state.ranks[replica, rank].batch
        if batch == 0:
            continue
        spare = int((rules.blocks - state.ranks[replica, rank].used) // batch)
        passed = state.replicas[replica].step - state.ranks[replica, rank].synced
        least = min(least, int(spare * rules.block / rules.gain) - passed)
    return max(least, 0)


@inlined
def note_crossing(
    state: State, rules: Rules, replica: int, rank: int, slot: int, count: int
) -> None:
    """Count a decoding sequence (1 or -1) among those of its remainder, where that is asked for."""
    if rules.reserve != 1 and rules.gain == 1.0:
        remainder = (state.slots[slot].begun - state.slots[slot].prompt) % rules.block
        state.crossing[replica, rank, remainder] += count


@inlined
def begin_growth(state: State, rules: Rules, replica: int, slot: int) -> None:
    """Note that a sequence decodes from the replica's coming step on; its rank is settled."""
    rank = wide(state.slots[slot].rank)
    note_crossing(state, rules, replica, rank, slot, 1)
    state.ranks[replica, rank].batch += 1
    state.replicas[replica].decoding += 1
    state.replicas[replica].stale = 1
    state.ranks[replica, rank].promised += state.slots[slot].ends
    state.replicas[replica].context += state.slots[slot].prompt


@inlined
def end_growth(state: State, rules: Rules, replica: int, slot: int) -> float:
    """Note that a sequence stopped decoding, its rank settled; returns the blocks it holds."""
    rank = wide(state.slots[slot].rank)
    note_crossing(state, rules, replica, rank, slot, -1)
    state.ranks[replica, rank].batch -= 1
    state.replicas[replica].decoding -= 1
    state.replicas[replica].stale = 1
    state.ranks[replica, rank].promised -= state.slots[slot].ends
    steps = state.replicas[replica].step - state.slots[slot].begun
    tokens = state.slots[slot].prompt + steps * rules.gain
    state.replicas[replica].context -= tokens
    if rules.reserve == 1:
        return float(state.slots[slot].held)
    if rules.gain != 1.0:
        return blocks_of(wide(state.slots[slot].prompt), rules) + steps * rules.gain / rules.block
    return float(blocks_of(tokens, rules))

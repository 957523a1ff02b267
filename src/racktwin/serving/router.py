"""Routing policies: which replica a request goes to.

All see the replicas of their scope, the whole pool or a copy's part of it, as they are at the
moment of arrival; `ROUTERS` gives their numbers. Requests are dealt to scopes in turn.
prefix_aware: the longest prefix in a cache and the host memory below it, then the fewest requests.
kv_aware: the fewest tokens to prefill, the request's own included, and to keep: what Dynamo's KV
router minimises, both weighed alike (docs.nvidia.com/dynamo, Routing Concepts). Both mean the
request for the rank with the longest prefix.
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import BASE, EACH, NEXT, OPEN, SCOPES, TURN, Floats, Rules, State
from racktwin.serving.sharing import prefix_on, prefix_units

ROUTERS = (
    "round_robin",
    "least_outstanding",
    "least_kv",
    "power_of_two",
    "input_balanced",
    "prefix_aware",
    "kv_aware",
)
ALIKE = {"cache_aware": "kv_aware"}  # what stands for a router that deployments name otherwise
LEAST_OUTSTANDING, LEAST_KV, POWER_OF_TWO, INPUT_BALANCED, PREFIX_AWARE, KV_AWARE = range(1, 7)
LONGER = float(1 << 32)  # requests that one more unit of prefix outweighs: all


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """A number well mixed from `value`: the finaliser of splitmix64 (Steele and others, 2014)."""
    value = np.uint64(value + np.uint64(0x9E3779B97F4A7C15))
    value = np.uint64((value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    value = np.uint64((value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(value ^ (value >> np.uint64(31)))


@inlined
def load(state: State, policy: int, replica: int) -> float:
    """What a policy compares: requests, tokens cached or to prefill, tokens to prefill."""
    if policy == LEAST_KV:
        return state.replicas[replica].context + state.replicas[replica].pending
    if policy == INPUT_BALANCED:
        return float(state.replicas[replica].pending)
    return float(state.replicas[replica].outstanding)


@inlined
def noted(state: State, policy: int, replica: int) -> float:
    """What a policy compares, infinite where no request may go."""
    return np.inf if state.replicas[replica].closed else load(state, policy, replica)


@inlined
def scopes(state: State) -> int:
    """Parts of the replicas, each with a router of its own."""
    return (len(state.counts) - SCOPES) // EACH


@inlined
def deal(state: State, other: State) -> int:
    """The scope whose turn it is, of those open in both pools; -1: none is."""
    count = scopes(state)
    for ahead in range(count):
        scope = (state.counts[TURN] + ahead) % count
        place = SCOPES + EACH * scope + OPEN
        if state.counts[place] and other.counts[place]:
            state.counts[TURN] = (scope + 1) % count
            return scope
    return -1


@compiled
def nth_open(state: State, begin: int, size: int, opened: int, count: int) -> int:
    """The replica behind `count` open ones of a scope, of `size` of which `opened` are open."""
    if opened == size:
        return begin + count
    for replica in range(begin, begin + size):
        if not state.replicas[replica].closed:
            if count == 0:
                return replica
            count -= 1
    return -1


@compiled
def next_in_turn(state: State, scope: int, begin: int, size: int) -> int:
    """The open replica of a scope whose turn it is."""
    place = SCOPES + EACH * scope + NEXT
    index = state.counts[place]
    while state.replicas[begin + index].closed:
        index = (index + 1) % size
    state.counts[place] = (index + 1) % size
    return begin + index


@compiled
def route(
    state: State, rules: Rules, policy: int, number: int, prompt: int, scope: int, held: Floats
) -> int:
    """The replica of a scope that request `number` of `prompt` tokens goes to.

    held: see `noted`, or nothing. Ties go to the lowest index; -1 when none is open.
    """
    size = len(state.replicas) // scopes(state)
    begin, opened = scope * size, state.counts[SCOPES + EACH * scope + OPEN]
    if opened == 0:
        return -1
    if policy == 0:
        return next_in_turn(state, scope, begin, size)
    if policy == POWER_OF_TWO:
        drawn = mixed(np.uint64(state.counts[BASE] + number))
        one = nth_open(state, begin, size, opened, np.int64(drawn % np.uint64(opened)))
        drawn = drawn >> np.uint64(32)
        other = nth_open(state, begin, size, opened, np.int64(drawn % np.uint64(opened)))
        lighter = load(state, policy, other) < load(state, policy, one)
        return other if lighter else one
    if policy >= PREFIX_AWARE:
        return route_by_prefix(state, rules, policy, number, prompt, begin, begin + size)
    chosen, least = -1, np.inf
    if len(held) == 0:
        for replica in range(begin, begin + size):
            own = noted(state, policy, replica)
            if own < least:
                chosen, least = replica, own
        return chosen
    for replica in range(begin, begin + size):
        if held[replica] < least:
            chosen, least = replica, held[replica]
    return chosen


@compiled
def credit(rules: Rules, policy: int) -> float:
    """What a unit in host memory is worth to a policy, in units of a rank's cache (1)."""
    return rules.credit if policy == KV_AWARE else 1.0


@compiled
def route_by_prefix(
    state: State, rules: Rules, policy: int, number: int, prompt: int, begin: int, end: int
) -> int:
    """The open replica from `begin` to `end` with the longest prefix in a cache.

    Or the one with the fewest tokens to be.
    """
    chosen, least = -1, np.inf
    for replica in range(begin, end):
        if state.replicas[replica].closed:
            continue
        units = 0.0
        if rules.unit:
            units = prefix_units(state, rules, replica, number, prompt, credit(rules, policy))
        if policy == PREFIX_AWARE:
            held = state.replicas[replica].outstanding - units * LONGER
        else:
            held = state.replicas[replica].context + state.replicas[replica].pending
            held = held / rules.ranks - units * rules.unit
        if held < least:
            chosen, least = replica, held
    return chosen


@compiled
def seat(state: State, rules: Rules, policy: int, replica: int, number: int, prompt: int) -> int:
    """The rank of a replica a request goes to: the one with the fewest.

    Of routers that know prefixes, the one with the longest first.
    """
    rank, most, least = 0, -1.0, np.int64(1) << 62
    for each in range(rules.ranks):
        units = 0.0
        if rules.unit and policy >= PREFIX_AWARE:
            worth = credit(rules, policy)
            units = prefix_on(state, rules, replica, each, number, prompt, worth)
        held = state.ranks[replica, each].running + state.ranks[replica, each].queued
        if units > most or (units == most and held < least):
            rank, most, least = each, units, held
    return rank

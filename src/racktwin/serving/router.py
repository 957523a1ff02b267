"""Routing policies: which replica a request goes to.

All see the whole pool as it is at the moment of arrival; `ROUTERS` gives their numbers.
prefix_aware: the longest prefix in a cache, then the fewest requests. kv_aware: the fewest tokens
to prefill, the request's own included, and to keep: what Dynamo's KV router minimises, both weighed
alike (docs.nvidia.com/dynamo, Routing Concepts). Both mean the request for the rank with the
longest prefix.
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Rules, State
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
LEAST_KV, POWER_OF_TWO, INPUT_BALANCED, PREFIX_AWARE, KV_AWARE = range(2, 7)
LONGER = float(1 << 32)  # requests that one more unit of prefix outweighs: all
NEXT = 2  # place in `State.counts` of the round robin's next replica


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """A number well mixed from `value`: the finaliser of splitmix64 (Steele and others, 2014)."""
    value = np.uint64(value + np.uint64(0x9E3779B97F4A7C15))
    value = np.uint64((value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    value = np.uint64((value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(value ^ (value >> np.uint64(31)))


@compiled
def load(state: State, rules: Rules, policy: int, replica: int) -> float:
    """What a policy compares: requests, tokens cached or to prefill, tokens to prefill."""
    if policy == LEAST_KV:
        return state.replicas[replica].context + state.replicas[replica].pending
    if policy == INPUT_BALANCED:
        return float(state.replicas[replica].pending)
    return float(state.replicas[replica].outstanding)


@compiled
def route(state: State, rules: Rules, policy: int, number: int, prompt: int) -> int:
    """The replica request `number` of `prompt` tokens goes to; ties go to the lowest index."""
    replicas = len(state.replicas)
    if policy == 0:
        chosen = state.counts[NEXT]
        state.counts[NEXT] = (chosen + 1) % replicas
        return chosen
    if policy == POWER_OF_TWO:
        drawn = mixed(np.uint64(number))
        one = np.int64(drawn % np.uint64(replicas))
        other = np.int64((drawn >> np.uint64(32)) % np.uint64(replicas))
        lighter = load(state, rules, policy, other) < load(state, rules, policy, one)
        return other if lighter else one
    if policy >= PREFIX_AWARE:
        return route_by_prefix(state, rules, policy, number, prompt)
    chosen, least = 0, np.inf
    for replica in range(replicas):
        held = load(state, rules, policy, replica)
        if held < least:
            chosen, least = replica, held
    return chosen


@compiled
def route_by_prefix(state: State, rules: Rules, policy: int, number: int, prompt: int) -> int:
    """The replica with the longest prefix in a cache, or with the fewest tokens to be."""
    chosen, least = 0, np.inf
    for replica in range(len(state.replicas)):
        units = 0
        if rules.unit:
            units = prefix_units(state, rules, replica, number, prompt)
        if policy == PREFIX_AWARE:
            held = state.replicas[replica].outstanding - units * LONGER
        else:
            held = state.replicas[replica].context + state.replicas[replica].pending
            held = held / rules.ranks - float(units * rules.unit)
        if held < least:
            chosen, least = replica, held
    return chosen


@compiled
def seat(state: State, rules: Rules, policy: int, replica: int, number: int, prompt: int) -> int:
    """The rank of a replica a request goes to: the one with the fewest.

    Of routers that know prefixes, the one with the longest first.
    """
    rank, most, least = 0, -1, np.int64(1) << 62
    for each in range(rules.ranks):
        units = 0
        if rules.unit and policy >= PREFIX_AWARE:
            units = prefix_on(state, rules, replica, each, number, prompt)
        held = state.ranks[replica, each].running + state.ranks[replica, each].queued
        if units > most or (units == most and held < least):
            rank, most, least = each, units, held
    return rank

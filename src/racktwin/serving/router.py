"""Routing policies: which replica a request goes to.

All see the whole pool as it is at the moment of arrival. Each is one compiled function of the
state; `ROUTERS` gives their numbers, so adding one touches this file only.
"""

from __future__ import annotations

import numpy as np

from racktwin.serving.compiled import compiled
from racktwin.serving.fleet import Rules, State

ROUTERS = (
    "round_robin",
    "least_outstanding",
    "least_kv",
    "power_of_two",
    "input_balanced",
)
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
    if policy == 2:
        return state.replicas[replica].context + state.replicas[replica].pending
    if policy == 4:
        return float(state.replicas[replica].pending)
    return float(state.replicas[replica].outstanding)


@compiled
def route(state: State, rules: Rules, policy: int, number: int) -> int:
    """The replica request `number` goes to; ties go to the lowest index."""
    replicas = len(state.replicas)
    if policy == 0:
        chosen = state.counts[NEXT]
        state.counts[NEXT] = (chosen + 1) % replicas
        return chosen
    if policy == 3:
        drawn = mixed(np.uint64(number))
        one = np.int64(drawn % np.uint64(replicas))
        other = np.int64((drawn >> np.uint64(32)) % np.uint64(replicas))
        lighter = load(state, rules, policy, other) < load(state, rules, policy, one)
        return other if lighter else one
    chosen, least = 0, np.inf
    for replica in range(replicas):
        held = load(state, rules, policy, replica)
        if held < least:
            chosen, least = replica, held
    return chosen

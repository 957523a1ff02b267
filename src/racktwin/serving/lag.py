"""Replicas that lag behind: those whose steps cannot change what a router looks at, for a while.

A replica that only decodes ends nothing before its next end of a request, and a step lasts no less
than its work on tokens. Until then it need not be stepped to know how many requests it holds, and
no completion of its lets a request in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.serving.batching import Draft
from racktwin.serving.blocks import safe_steps
from racktwin.serving.chain import next_end
from racktwin.serving.clock import Clock
from racktwin.serving.compiled import compiled, inlined
from racktwin.serving.fleet import DECODES, Floats, Rules, State
from racktwin.serving.kernel import advance, fullest, unbalanced
from racktwin.serving.lookup import base_seconds
from racktwin.serving.router import INPUT_BALANCED, LEAST_OUTSTANDING, POWER_OF_TWO, noted


class Lag(NamedTuple):
    """By replica: s up to which it need not be stepped; what the router's policy compares."""

    quiet: Floats
    held: Floats


LAGGING = (LEAST_OUTSTANDING, POWER_OF_TWO, INPUT_BALANCED)  # look at what only such ends change


@inlined
def quiet_until(state: State, rules: Rules, clock: Clock, replica: int) -> float:
    """Time, s, up to which no request on a replica ends, gives way or has its prompt computed."""
    if not state.replicas[replica].busy:
        return np.inf
    now, total = state.replicas[replica].now, state.replicas[replica].decoding
    if state.replicas[replica].under_way != DECODES or state.replicas[replica].computing:
        return float(now)
    if state.replicas[replica].prefilling or total == 0:
        return float(now)
    steps = min(next_end(state, rules, replica), safe_steps(state, rules, replica))
    if state.replicas[replica].waiting:
        steps = min(steps, rules.balance - state.replicas[replica].held_back)
        if steps <= 1 or not unbalanced(state, rules, replica):
            return float(now)
    fresh = total * rules.queries / rules.ranks
    least = base_seconds(clock, fullest(state, rules, replica) * rules.queries, fresh) * clock.scale
    return float(now + max(steps - 1, 0) * least)


@compiled
def note_quiet(state: State, rules: Rules, clock: Clock, lag: Lag, known: bool) -> None:
    """Note of all replicas how long they are quiet, if that is `known`, or else that none is."""
    for replica in range(len(lag.quiet)):
        lag.quiet[replica] = quiet_until(state, rules, clock, replica) if known else 0.0


@compiled
def first_to_stir(lag: Lag) -> float:
    """Time, s, before which every replica is quiet."""
    first = np.inf
    for replica in range(len(lag.quiet)):
        first = min(first, lag.quiet[replica])
    return first


@compiled
def catch_up(
    state: State,
    rules: Rules,
    clock: Clock,
    draft: Draft,
    lag: Lag,
    policy: int,
    time: float,
    until: float,
    lags: bool,
) -> None:
    """Let the replicas that are not quiet at `time`, s, do their steps that start before `until`.

    lags: replicas may stay behind as long as they are quiet; else each is at its last step.
    """
    for replica in range(len(lag.quiet)):
        if lag.quiet[replica] <= time:
            advance(state, rules, clock, draft, replica, until)
            if lags:
                lag.quiet[replica] = quiet_until(state, rules, clock, replica)
            elif state.replicas[replica].busy:
                lag.quiet[replica] = state.replicas[replica].now
            else:
                lag.quiet[replica] = np.inf
            lag.held[replica] = noted(state, policy, replica)

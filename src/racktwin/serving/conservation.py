"""Conservation: what a run that was served to its end must add up to, whatever happened in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from racktwin.serving.fleet import (
    BUSY,
    DECODED,
    FINISHED,
    FROM_HOST,
    FROM_SHARED,
    INTERRUPTED,
    JOULES,
    LOSSES,
    PREFILLED,
)
from racktwin.serving.runner import Pooled

if TYPE_CHECKING:
    from racktwin.serving.simulation import Simulation

ROUNDING = 1e-9  # relative, of sums that are added in any order
EVERY = slice(None)


def broken(run: Simulation) -> Iterator[str]:
    """What does not add up once every request has ended, a sentence each."""
    pools = run.runner.pools
    for role, pool in pools.items():
        yield from (f"{role}: {fault}" for fault in pool.left())
        yield from (f"{role}: {fault}" for fault in _energy(run, pool))
    yield from _tokens(run)
    yield from _tiers(run)
    ended = sum(pool.sums[FINISHED] for role, pool in pools.items() if role != "prefill")
    if "prefill" not in pools and ended != run.finished:
        yield f"{ended:,.0f} requests ended, {run.finished:,} were collected"


def _energy(run: Simulation, pool: Pooled) -> Iterator[str]:
    """A GPU draws its floor while it steps, and no more than its limit, W."""
    chip = run.deployment.cluster.chip
    busy, joules = pool.sums[BUSY], pool.sums[JOULES]
    low, high = chip.idle_power * busy, chip.tdp * busy
    if not low * (1 - ROUNDING) <= joules <= high * (1 + ROUNDING):
        yield f"{joules:g} J in {busy:g} s of steps"
    if busy > pool.replicas * run.last_finish * (1 + ROUNDING):
        yield f"{busy:g} s of steps in {run.last_finish:g} s of {pool.replicas:,} replicas"


def _tokens(run: Simulation) -> Iterator[str]:
    """Input that was not cached is computed once, and again after a loss; output is won."""
    pools, sample = run.runner.pools.values(), run.sample
    computed, won, lost, failed = (
        sum(pool.sums[index] for pool in pools)
        for index in (PREFILLED, DECODED, LOSSES, INTERRUPTED)
    )
    lost += failed
    due = sample.total("input", EVERY) - sample.total("cached", EVERY)
    if computed < due or (computed > due and not lost):
        yield f"{computed:,.0f} tokens of prompts were computed, {due:,.0f} had to be"
    wanted = sample.total("output", EVERY) - run.finished  # prompts give the first
    gain = next(pool.rules.gain for role, pool in run.runner.pools.items() if role != "prefill")
    most = wanted if gain == 1 else wanted + gain * run.finished
    if (won > most and not failed) or (won < wanted and not lost):
        yield f"{won:,.0f} tokens were won in decode steps, {wanted:,.0f} had to be"


def _tiers(run: Simulation) -> Iterator[str]:
    """Units found in a tier are loaded, again after a loss; none holds more than its room."""
    pool = run.runner.pools[run.prompts]
    for name, index in (("cached_host", FROM_HOST), ("cached_shared", FROM_SHARED)):
        loaded = run.unit * pool.sums[index]
        found = run.sample.total(name, EVERY)
        again = pool.sums[LOSSES] + pool.sums[INTERRUPTED]
        if loaded < found or (loaded > found and not again):
            yield f"{loaded:,.0f} tokens were loaded, {found:,.0f} found below the caches"
    if run.tiers is not None:
        host, shared = pool.below()
        if (host > run.tiers.host).any() or shared > run.tiers.shared:
            yield "a tier holds more than it has room for"

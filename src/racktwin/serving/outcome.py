"""Outcome: what a simulated run comes to, warm-up and drain left out."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.serving.by_class import Felt
from racktwin.serving.fleet import (
    BATCH,
    BLOCKS,
    BUSY,
    FROM_HOST,
    FROM_SHARED,
    INTERRUPTED,
    JOULES,
    LOSSES,
    LOST_STEPS,
    LOST_TOKENS,
    TO_HOST,
    TO_SHARED,
    Floats,
)
from racktwin.serving.pool import READINGS
from racktwin.serving.sample import NONE, Spread
from racktwin.serving.simulation import FINISHED, INSIDE, Simulation

EDGE = 0.1  # of the requests left out at either end
LEAST = 0.2  # of the requests that must be left; else all count
SURE = 0.05  # of a mean that its error may be
HOUR = 3600.0  # s


class Span(msgspec.Struct, frozen=True):
    """What counts. batches: of the sample; begin, end: s; whole: nothing is left out.

    short: because too little would be left.
    """

    first: int
    last: int
    begin: float
    end: float
    whole: bool
    short: bool = False

    @property
    def batches(self) -> slice:
        """Batches of the sample that count."""
        return slice(self.first, self.last)


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """How a pool was used over the span.

    replicas: of all copies, with those that are off; up: of these take requests, on average.
    powered: GPUs that take power, on average. Of what is powered: busy: share of time it steps,
    0..1; batch: decoding sequences per rank, of max_batch; kv: share of blocks filled, 0..1;
    watts: of a GPU, W. losses: preemptions.
    Of the whole run: failures, drains; starts, stops: by autoscaling. interrupted: requests on
    replicas that failed, lost_tokens: what those had computed, lost_steps: steps under way.
    """

    replicas: int
    gpus: int
    busy: float
    batch: float
    max_batch: int
    kv: float
    losses: float
    watts: float
    up: float
    powered: float
    failures: int
    drains: int
    starts: int
    stops: int
    interrupted: int
    lost_steps: int
    lost_tokens: int


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """What a tier below the prefix caches did over the span.

    hits: share of input tokens found in it, 0..1. loaded, written: B/s over all copies. filled:
    share of its room at the end, 0..1.
    """

    hits: float = 0.0
    loaded: float = 0.0
    written: float = 0.0
    filled: float = 0.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Figures over the span; rates per s over all copies.

    seconds: s simulated, cpu: CPU seconds it took. good: requests/s within the limits.
    hits: share of input tokens found in a cache or in a tier below it, 0..1; host, shared: of these
    tiers. watts: of a GPU. warm_up: s until sessions of nearly every age can be under way, 0 where
    there are none.
    inside: mean requests in the pools, read off them; little: their rate times their mean time.
    growth: requests/s that the queue grew by, 0 when it did not. at_once: all came at the start.
    changes: whether replicas may come and go; unserved: requests that no replica is left for.
    gpu_hours: of GPUs that took power in the whole run, count; cost: theirs, $.
    """

    arrived: int
    finished: int
    refused: int
    counted: int
    span: Span
    seconds: float
    cpu: float
    ttft: Spread
    tpot: Spread
    itl: Spread
    e2e: Spread
    queue: Spread
    ttst: Spread
    requests: float
    input: float
    output: float
    good: float
    hits: float
    host: Tier
    shared: Tier
    inside: float
    little: float
    growth: float
    overloaded: bool
    stopped: bool
    at_once: bool
    warm_up: float
    changes: bool
    unserved: int
    gpu_hours: float
    cost: float
    pools: dict[str, Use]
    classes: tuple[Felt, ...] = ()

    @property
    def gpus(self) -> int:
        """GPUs of all copies."""
        return sum(each.gpus for each in self.pools.values())

    @property
    def watts(self) -> float:
        """Mean power of a GPU, W."""
        total = sum(each.watts * each.powered for each in self.pools.values())
        return total / self.powered if self.powered else 0.0

    @property
    def powered(self) -> float:
        """GPUs that take power, on average (count)."""
        return sum(each.powered for each in self.pools.values())

    @property
    def short(self) -> bool:
        """Whether the run was too short for its means to be sure to `SURE`.

        Where all requests come at once there is no steady state to be sure of.
        """
        if self.at_once:
            return False
        wide = any(
            not each.error <= SURE * each.mean
            for each in (self.ttft, self.tpot)
            if each.count and each.mean > 0
        )
        return wide or self.span.short


def outcome(run: Simulation) -> Outcome:
    """What the run comes to."""
    sample, definition = run.sample, run.order.definition
    part = span(run)
    spreads = {
        name: sample.spread(name, part.batches, rank=definition.rank) for name in sample.figures
    }
    counted = spreads["e2e"].count
    rates = {name: sample.total(name, part.batches) for name in sample.totals}
    requests = _rate(run, run.timeline.columns[FINISHED], part)
    hours = gpu_hours(run)
    scale = requests / counted if counted else 0.0  # totals of the counted to rates
    return Outcome(
        arrived=run.came,
        finished=run.finished,
        refused=run.window.refused,
        counted=counted,
        span=part,
        seconds=run.last_finish,
        cpu=run.seconds,
        itl=_itl(run, part, spreads["tpot"]),
        requests=requests,
        input=rates["input"] * scale,
        output=rates["output"] * scale,
        good=rates["good"] * scale,
        hits=_share(rates, "cached"),
        host=_host(run, part, rates),
        shared=_shared(run, part, rates),
        inside=_mean(run, run.timeline.columns[INSIDE], part),
        little=requests * spreads["e2e"].mean - rates["added"] * scale,
        growth=run.growth,
        overloaded=run.overloaded,
        stopped=run.stopped,
        at_once=run.at_once,
        warm_up=warm_up(run),
        changes=run.changes,
        unserved=run.arrived - run.finished if run.stuck else 0,
        gpu_hours=hours,
        cost=hours * run.deployment.cluster.price,
        pools={role: _use(run, role, part) for role in run.runner.pools},
        classes=run.by_class.felt(sample, part.batches, requests, rank=definition.rank),
        **spreads,
    )


def span(run: Simulation) -> Span:
    """The middle of the run.

    A tenth of the requests is left out at either end, and as many as are in flight on average;
    with sessions also what comes before and after sessions of nearly every age can be under way.
    Where that leaves too few, or the tool's definition wants them all, every request counts.
    """
    sample = run.sample
    used, end = sample.batches, run.last_finish
    every = Span(0, used, 0.0, end, True, not run.at_once)
    if run.order.definition.whole:
        return msgspec.structs.replace(every, short=False)
    if run.at_once or not run.finished or end <= 0:
        return every
    inside = float(sample.sums[sample.figures.index("e2e")].sum()) / end
    known = min(run.arrived, used * sample.size)  # of an overload, no later one has finished
    edge = math.ceil(max(EDGE * known, inside) / sample.size)
    last = known // sample.size - edge
    if warm := warm_up(run):
        first = sample.first[:used]
        steady = np.flatnonzero((first >= warm) & (first <= run.last_begun - warm))
        if not len(steady):
            return every
        edge, last = max(edge, int(steady[0])), min(last, int(steady[-1]) + 1)
    if last - edge < max(1.0, LEAST * used):
        return every
    begin, end = float(sample.first[edge]), float(sample.first[min(last, used - 1)])
    return Span(edge, last, begin, end, False) if end > begin else every


def warm_up(run: Simulation) -> float:
    """Seconds until sessions of nearly every age can be under way, 0 without sessions.

    A run begins with none. 95 % of the second half of the requests come no later than that after
    the first of their session.
    """
    half = slice(run.ages.batches // 2, run.ages.batches)
    found = run.ages.spread("age", half).p95
    return found if math.isfinite(found) else 0.0


def _rate(run: Simulation, column: Floats, part: Span) -> float:
    """Growth of a sum (any unit) over the span, per s."""
    if part.end <= part.begin:
        return 0.0
    begin, end = (run.timeline.at(column, at) for at in (part.begin, part.end))
    return (end - begin) / (part.end - part.begin)


def _mean(run: Simulation, column: Floats, part: Span) -> float:
    """Mean of a reading (any unit) over the span, straight lines between edges."""
    times = np.asarray(run.timeline.times)
    inside = times[(times > part.begin) & (times < part.end)]
    points = np.concatenate([[part.begin], inside, [part.end]])
    values = np.interp(points, times, column)
    length = part.end - part.begin
    return float(np.trapezoid(values, points) / length) if length > 0 else 0.0


def _itl(run: Simulation, part: Span, tpot: Spread) -> Spread:
    """Times between chunks in the span, or, where the tool means that, the means of requests."""
    if not run.order.definition.pooled:
        return tpot
    first = run.gaps.first
    mine = np.flatnonzero((first > part.begin) & (first <= part.end))
    if not len(mine):  # bins longer than the span: the one it lies in
        mine = np.flatnonzero((first > part.begin) & np.isfinite(first))[:1]
    if not len(mine):
        return NONE
    return run.gaps.spread("itl", slice(int(mine[0]), int(mine[-1]) + 1))


def readings(run: Simulation, role: str, index: int) -> Floats:
    """A reading of a pool (see `pool.READINGS`) at every edge of the timeline."""
    place = 3 + list(run.runner.pools).index(role) * len(READINGS) + index
    found: Floats = run.timeline.columns[place]
    return found


def gpu_hours(run: Simulation) -> float:
    """GPU-hours (count) that took power until the last request ended, or the run was given up."""
    end = run.last_finish if run.served_all else run.timeline.times[-1]
    total = 0.0
    for role, pool in run.runner.pools.items():
        seconds = run.timeline.at(readings(run, role, READINGS.index("powered_seconds")), end)
        total += seconds * run.deployment.pools[role].layout.gpus if pool.replicas else 0.0
    return total / HOUR


def _use(run: Simulation, role: str, part: Span) -> Use:
    pool, layout = run.runner.pools[role], run.deployment.pools[role].layout
    replicas, chip = pool.replicas // layout.pipeline, run.deployment.cluster.chip
    sums = pool.sums

    def per_second(index: int) -> float:
        return _rate(run, readings(run, role, index), part)

    up, powered = float(replicas), float(replicas)
    if run.changes:
        up, powered = (
            per_second(READINGS.index(name)) for name in ("served_seconds", "powered_seconds")
        )
    stages = powered * layout.pipeline or 1.0
    ranks = stages * pool.rules.ranks
    busy = min(1.0, per_second(BUSY) / stages)  # a step counts where it ends
    return Use(
        replicas=replicas,
        gpus=replicas * layout.gpus,
        busy=busy,
        batch=per_second(BATCH) / ranks,
        max_batch=pool.rules.max_batch,
        kv=per_second(BLOCKS) / (ranks * pool.rules.blocks),
        losses=per_second(LOSSES) * (part.end - part.begin),
        watts=per_second(JOULES) / stages + chip.idle_power * (1 - busy),
        up=up,
        powered=powered * layout.gpus,
        **pool.tally,
        interrupted=int(sums[INTERRUPTED]),
        lost_steps=int(sums[LOST_STEPS]),
        lost_tokens=int(sums[LOST_TOKENS]),
    )


def _share(rates: dict[str, float], name: str) -> float:
    """Part of the input tokens, from totals (tokens)."""
    return rates[name] / rates["input"] if rates["input"] else 0.0


def _host(run: Simulation, part: Span, rates: dict[str, float]) -> Tier:
    """Host memory of all ranks; rates: totals of the counted requests (tokens)."""
    if run.tiers is None or not run.tiers.host:
        return Tier()
    held, _ = run.runner.pools[run.prompts].below()
    return Tier(
        hits=_share(rates, "cached_host"),
        loaded=run.tiers.unit * _units(run, part, FROM_HOST),
        written=run.tiers.unit * _units(run, part, TO_HOST),
        filled=float(held.mean()) / run.tiers.host,
    )


def _shared(run: Simulation, part: Span, rates: dict[str, float]) -> Tier:
    """The pool of all; rates: totals of the counted requests (tokens)."""
    if run.tiers is None or not run.tiers.shared:
        return Tier()
    _, held = run.runner.pools[run.prompts].below()
    return Tier(
        hits=_share(rates, "cached_shared"),
        loaded=run.tiers.unit * _units(run, part, FROM_SHARED),
        written=run.tiers.whole * _units(run, part, TO_SHARED),
        filled=float(held) / run.tiers.shared,
    )


def _units(run: Simulation, part: Span, index: int) -> float:
    """Units moved per s over the span, from the sum with that index."""
    return _rate(run, readings(run, run.prompts, index), part)

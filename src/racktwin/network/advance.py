"""Flows over time: rates hold until a class starts, ends or a congestion is under control."""

from __future__ import annotations

import numpy as np

from racktwin.network.backpressure import Rules, spread
from racktwin.network.compiled import compiled
from racktwin.network.filling import fill
from racktwin.network.problem import ACTIVE, DONE, ROWS, Log, Problem, Work

ROUND = 1e-12  # relative error of a time


@compiled
def advance(problem: Problem, work: Work, rules: Rules, log: Log) -> tuple[int, int, float]:
    """Run to the end; rows of the log, steps, and the fullest a link has been (fraction)."""
    waiting, count, rows, steps = 0, 0, 0, 0
    classes = len(problem.size)
    now, fullest = problem.start[problem.order[0]], 0.0
    while waiting < classes or count > 0:
        if count == 0:
            now = max(now, problem.start[problem.order[waiting]])
        while waiting < classes and problem.start[problem.order[waiting]] <= now:
            work.active[count] = problem.order[waiting]
            work.state[problem.order[waiting]] = ACTIVE
            count, waiting = count + 1, waiting + 1
        fill(problem, work, count, rules.ranks)
        limit = spread(problem, work, count, rules, now)
        least = rules.grain * _shortest(problem, work, count, now)
        if waiting < classes:
            limit = min(limit, max(problem.start[problem.order[waiting]] - now, least))
        step = min(limit, max(_first(work, count), least))
        count = _move(problem, work, count, now, step)
        if rows == ROWS:
            rows = _join(log)
        fullest = max(fullest, _note(problem, work, log, rows, now, step))
        now, rows, steps = now + step, rows + 1, steps + 1
    return rows, steps, fullest


@compiled
def _first(work: Work, count: int) -> float:
    """Time until the first class ends, s."""
    soonest = np.inf
    for position in range(count):
        one = work.active[position]
        if work.rate[one] > 0.0:
            soonest = min(soonest, work.left[one] / work.rate[one])
    return soonest


@compiled
def _shortest(problem: Problem, work: Work, count: int, now: float) -> float:
    """Time that the quickest active class takes from its start to its end as things are, s."""
    found = np.inf
    for position in range(count):
        one = work.active[position]
        if work.rate[one] > 0.0:
            found = min(found, now - problem.start[one] + work.left[one] / work.rate[one])
    return found if found < np.inf else 0.0


@compiled
def _move(problem: Problem, work: Work, count: int, now: float, step: float) -> int:
    """Carry the bytes of `step` s; how many classes go on."""
    for link in range(len(work.moved)):
        work.moved[link] = 0.0
    kept = 0
    for position in range(count):
        one = work.active[position]
        takes = work.left[one] / work.rate[one] if work.rate[one] > 0.0 else np.inf
        sent = work.rate[one] * step
        if takes <= step * (1 + ROUND):
            sent = work.left[one]
            work.left[one], work.state[one] = 0.0, DONE
            work.finish[one] = now + takes
        else:
            work.left[one] -= sent
            work.active[kept] = one
            kept += 1
        for entry in range(problem.head[one], problem.head[one + 1]):
            work.moved[problem.link[entry]] += sent * problem.share[entry]
    return kept


@compiled
def _note(problem: Problem, work: Work, log: Log, row: int, now: float, step: float) -> float:
    """Log what the links carried in `step` s; the fullest one (fraction of its capacity)."""
    fullest = 0.0
    log.until[row] = now + step
    for tier in range(log.bytes.shape[1]):
        log.bytes[row, tier] = 0.0
        log.peak[row, tier] = 0.0
    for link in range(len(work.moved)):
        carried, tier = work.moved[link], problem.tier[link]
        work.carried[link] += carried
        log.bytes[row, tier] += carried
        if carried > 0.0:
            log.peak[row, tier] = max(log.peak[row, tier], carried / (problem.line[link] * step))
            fullest = max(fullest, carried / (problem.capacity[link] * step))
    return fullest


@compiled
def _join(log: Log) -> int:
    """Join neighbouring rows; the rows left."""
    for row in range(ROWS // 2):
        log.until[row] = log.until[2 * row + 1]
        for tier in range(log.bytes.shape[1]):
            log.bytes[row, tier] = log.bytes[2 * row, tier] + log.bytes[2 * row + 1, tier]
            log.peak[row, tier] = max(log.peak[2 * row, tier], log.peak[2 * row + 1, tier])
    return ROWS // 2

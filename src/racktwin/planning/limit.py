"""What keeps a candidate from more: a limit it is over, or what is wrong with the next batch."""

from __future__ import annotations

import numpy as np

from racktwin.planning.ask import Ask
from racktwin.planning.pools import Priced
from racktwin.planning.search import BATCHES, Candidates
from racktwin.units import Seconds

MOST_DIGITS = 9  # of a latency


def limit(priced: Priced, every: Candidates, index: int) -> str:
    """Why candidate number `index` of `every` stops at its batch, or what it misses."""
    batch = every.batch[index]
    if missed := _missed(priced.ask, every, index):
        return f"{' and '.join(missed)} at batch {batch:,.0f} per rank"
    larger = BATCHES[batch < BATCHES]
    if not len(larger):
        return f"the largest batch tried ({batch:,.0f} per rank)"
    following = int(larger[0])
    alike = every.batch == following
    for name in ("prefill", "decode", "decodes", "prefill_budget"):
        column = getattr(every, name)
        alike &= column == column[index]
    if not alike.any():
        return _missing(priced, every, index, following)
    missed = _missed(priced.ask, every, int(np.flatnonzero(alike)[0]))
    if missed:
        return f"the next batch, {following:,}, has {' and '.join(missed)}"
    return f"no gain from the next batch, {following:,}"


def _missed(ask: Ask, every: Candidates, index: int) -> list[str]:
    """The latency limits a candidate is over."""
    figures = {"TPOT": (every.tpot, ask.tpot), "TTFT": (every.ttft, ask.ttft)}
    return [
        f"a {name} of {_told(float(column[index]), float(most))}"
        for name, (column, most) in figures.items()
        if most is not None and column[index] > most
    ]


def _told(value: float, most: float) -> str:
    """A latency (s) in as many digits as tell it from its limit (s)."""
    texts = (Seconds(value).text(digits) for digits in range(3, MOST_DIGITS))
    limits = (Seconds(most).text(digits) for digits in range(3, MOST_DIGITS))
    told = (text for text, least in zip(texts, limits, strict=True) if text != least)
    return next(told, Seconds(value).text(MOST_DIGITS))


def _missing(priced: Priced, every: Candidates, index: int, following: int) -> str:
    """Why there is no such candidate with the next batch."""
    ask, layout = priced.ask, priced.loading[int(every.decode[index])]
    aggregated = bool(every.prefill[index] < 0)
    budget = float(every.budget[index])
    if not aggregated:
        budget = max(budget, following * (1.0 + ask.speculation.tokens))
    room = priced.fit(layout, budget, following).sequences(ask.traffic.held(ask.epoch.reserved))
    held = following * (1 + every.ttft[index] / (ask.traffic.steps * every.tpot[index]))
    if room < (held if aggregated else following):
        return f"KV memory at {room:,.0f} sequences per rank"
    if aggregated:
        return f"prefill work, in {every.busy[index]:.0%} of the steps already"
    return f"more prefill replicas for the next batch, {following:,}, would make too large a copy"

"""Autoscaling of a pool: how many replicas there are, by what they have to do.

The rules are those of Kubernetes' Horizontal Pod Autoscaler; docs/background/scheduling.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.catalog.bounds import Count
from racktwin.finding import Finding
from racktwin.units import Fraction, Seconds

Metric = Literal["outstanding", "kv", "prefill"]
METRICS: tuple[Metric, ...] = ("outstanding", "kv", "prefill")


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds where a deployment does not say otherwise; see `Autoscale`.

    growth (factor), steps (count): one look makes so many times, or so many more, replicas of it.
    """

    name: str
    title: str
    interval: Seconds
    tolerance: Fraction
    stabilisation: Seconds
    growth: float
    steps: int


@lru_cache
def defaults() -> Defaults:
    """The catalog's."""
    return catalog.load("defaults", "autoscale").build(Defaults)


class Autoscale(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds and pace of a pool.

    least, most: replicas in one copy. metric: what a replica is to have `target` of: outstanding
    (requests, waiting or running), kv (share of its blocks in use, 0..1), prefill (prompt tokens
    still to compute). interval: s between two looks; tolerance: 1, how far from the target nothing
    changes; stabilisation: s, whose largest advice holds before replicas go. start_up: s until a
    new one serves, None for what engine and weights take.
    """

    least: int
    most: int
    metric: Metric
    target: float
    interval: float
    tolerance: float
    stabilisation: float
    start_up: float | None = None

    @property
    def title(self) -> str:
        """In a few words: '2 to 8 by 32 outstanding requests each'."""
        words = {
            "outstanding": f"{self.target:,.6g} outstanding requests each",
            "kv": f"{self.target:.3g} of the KV blocks in use",
            "prefill": f"{self.target:,.6g} prompt tokens to compute each",
        }
        return f"{self.least:,} to {self.most:,} by {words[self.metric]}"


class AutoscaleKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `autoscale` in deployment.yaml; exactly one of the metrics.

    outstanding: requests of a replica.
    """

    min: Count
    max: Count
    outstanding: float | None = None
    kv: Fraction | None = None
    prefill: Count | None = None
    interval: Seconds | None = None
    tolerance: Fraction | None = None
    stabilisation: Seconds | None = None
    start_up: Seconds | None = None


MOST_TICKS = 10_000  # looks within the stabilisation
LEAST_INTERVAL = 1e-3  # s


def faults(keys: AutoscaleKeys, replicas: int, role: str) -> list[Finding]:
    """What is wrong with these keys in a pool that begins with so many replicas."""
    found = []

    def fault(key: str, message: str) -> None:
        found.append(Finding(f"{role}.autoscale.{key}" if key else f"{role}.autoscale", message))

    given = [name for name in METRICS if getattr(keys, name) is not None]
    if len(given) != 1:
        fault("", f"give one of {', '.join(METRICS)}, as in outstanding: 32")
    for name in given:
        if not 0 < getattr(keys, name) < float("inf"):
            fault(name, f"expected more than 0, found {float(getattr(keys, name)):g}")
    if keys.min > keys.max:
        fault("min", f"{keys.min:,} is more than max, {keys.max:,}")
    elif not keys.min <= replicas <= keys.max:
        text = f"{replicas:,} at first; expected min to max, {keys.min:,} to {keys.max:,}"
        found.append(Finding(f"{role}.replicas", text))
    usual = defaults()
    interval = usual.interval if keys.interval is None else keys.interval
    window = usual.stabilisation if keys.stabilisation is None else keys.stabilisation
    if interval < LEAST_INTERVAL:
        fault("interval", f"{interval} is too short; expected {Seconds(LEAST_INTERVAL)} or more")
    elif window / interval > MOST_TICKS:
        fault("stabilisation", f"{window} is more than {MOST_TICKS:,} intervals of {interval}")
    return found


def autoscale(keys: AutoscaleKeys) -> Autoscale:
    """The autoscaling that good keys describe."""
    metric = next(name for name in METRICS if getattr(keys, name) is not None)
    usual = defaults()

    def either(name: str) -> float:
        own = getattr(keys, name)
        return float(getattr(usual, name) if own is None else own)

    return Autoscale(
        least=keys.min,
        most=keys.max,
        metric=metric,
        target=float(getattr(keys, metric)),
        interval=either("interval"),
        tolerance=either("tolerance"),
        stabilisation=either("stabilisation"),
        start_up=None if keys.start_up is None else float(keys.start_up),
    )

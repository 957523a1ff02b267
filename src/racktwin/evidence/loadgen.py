"""The highest load within latency limits, found by simulation as MLPerf's LoadGen would judge it.

Poisson arrivals of the benchmark's own lengths; a load holds when the 99th
percentiles of TTFT and TPOT over all requests are within the limits.
"""

from __future__ import annotations

import copy
import math

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.finding import BadInput, Finding
from racktwin.serving.saturation import SHALLOW, search
from racktwin.serving.steady import Served, rising
from racktwin.serving.traffic import Traffic
from racktwin.serving.workload import Workload

SHORTEST = 600.0  # s of arrivals, LoadGen's min_duration, unless `MOST` requests came before
TURNS = 6  # of the requests in flight that a trial lasts at least
MOST = 20_000  # requests of a trial, or TURNS turns where that is more
TOGETHER = 1_500  # requests in flight; with more, further replicas change a trial little
CLOSE = 1.03  # ratio of the lowest load that fails to the highest that holds, in the end
GUESS = 0.95  # of the load at which the steady means reach the limits
READINGS = 16  # of a trial
ROUTER = "least_outstanding"


class Limits(msgspec.Struct, frozen=True):
    """The most that the 99th percentiles may be, s."""

    ttft: float
    tpot: float


class Trial(msgspec.Struct, frozen=True):
    """One load. requests: requests/s; output_rate: out tokens/s; ttft, tpot: 99th percentiles, s.

    endless: the queue grows without bound.
    """

    requests: float
    output_rate: float
    ttft: float
    tpot: float
    endless: bool

    def holds(self, limits: Limits) -> bool:
        """Whether the queue has an end and both percentiles are within `limits`."""
        return not self.endless and self.ttft <= limits.ttft and self.tpot <= limits.tpot

    def said(self, limits: Limits) -> str:
        """What keeps the load from more, in words."""
        if self.endless:
            return "the queue has no end"
        found = []
        if self.ttft > limits.ttft:
            found.append(f"p99 TTFT {self.ttft:.2f} s")
        if self.tpot > limits.tpot:
            found.append(f"p99 TPOT {1e3 * self.tpot:.1f} ms")
        return " and ".join(found)


class Highest(msgspec.Struct, frozen=True):
    """The trial at the highest load that holds, and why the next one does not."""

    trial: Trial
    stopped: str


def highest(served: Served, workload: Workload, traffic: Traffic, limits: Limits) -> Highest:
    """The highest load of `workload` on a deployment within `limits`; BadInput where none holds.

    traffic: its means.
    """
    curve = served.curve(traffic)
    curve = curve.take(rising(curve.requests))
    top = float(curve.requests[-1])
    kept = (curve.ttft <= limits.ttft) & (curve.tpot <= limits.tpot)
    guess = GUESS * float(curve.requests[kept].max(initial=top / SHALLOW))
    part, share = _part(served, float(curve.concurrency[-1]))
    flying = float(curve.concurrency[-1]) * share

    def at(rate: float) -> Trial:
        requests = max(min(SHORTEST * rate * share, MOST), TURNS * flying)
        return _trial(part, workload, rate, share, int(requests))

    found = search(at, lambda trial: trial.holds(limits), guess=guess, top=top, close=CLOSE)
    if found.highest is None:
        raise BadInput([Finding("scenario", "no load holds its latency limits")])
    stopped = found.next.said(limits) if found.next else "it was not searched higher"
    return Highest(found.highest, stopped)


def _part(served: Served, concurrency: float) -> tuple[Served, float]:
    """So many of the replicas as matter behind one router, and their share of all, 1.

    concurrency: requests in flight in the whole when it is full.
    """
    pool = served.deployment.serve
    if pool is None or pool.replicas == 1:
        return served, 1.0
    count = min(pool.replicas, math.ceil(TOGETHER * pool.replicas / max(concurrency, 1.0)))
    part = copy.copy(served)
    asked: Deployment = served.deployment
    fewer = msgspec.structs.replace(pool, replicas=count)
    part.deployment = msgspec.structs.replace(asked, serve=fewer)
    return part, count / pool.replicas


def _trial(part: Served, workload: Workload, rate: float, share: float, requests: int) -> Trial:
    """So many requests at `rate` requests/s over all replicas, of which `share` (1) are tried."""
    from racktwin.serving.metrics import DEFINITIONS
    from racktwin.serving.outcome import outcome
    from racktwin.serving.simulation import Order, simulate

    lasting = requests / (rate * share)
    order = Order(
        router=ROUTER,
        definition=DEFINITIONS["mlperf"],
        expected=lasting,
        resolution=lasting / READINGS,
    )
    found = outcome(simulate(part, workload.generate(requests, rate=rate * share), order))
    return Trial(
        requests=rate,
        output_rate=rate * found.output / found.requests if found.requests else 0.0,
        ttft=found.ttft.p99,
        tpot=found.tpot.p99,
        endless=found.overloaded,
    )

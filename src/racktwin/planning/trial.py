"""Trials: a few copies of a deployment simulated at one load after the other."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import msgspec
import numpy as np

from racktwin.engine.deployment import Deployment
from racktwin.planning.demand import Demand
from racktwin.planning.saturation import bracket
from racktwin.planning.slo import Slo
from racktwin.serving.limits import Limits
from racktwin.serving.outcome import Outcome, outcome
from racktwin.serving.router import ALIKE, ROUTERS
from racktwin.serving.sample import Spread
from racktwin.serving.simulation import Order, simulate
from racktwin.serving.steady import Served, rising

IN_FLIGHT = 1500  # requests; with fewer in one copy, several copies share a router
LEAST, MOST = 5_000, 200_000  # requests of a trial
TURNS = 20  # of the requests in flight: how often a trial replaces them
SLOW = 0.9  # of the load that must have come
ROUTER = "least_outstanding"
NONE = Limits()


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One load and what users felt; rates in requests/s of one copy.

    steady_ttft, steady_tpot: means of the steady state at this load, s; NaN beyond its largest.
    good: within the limits, each request by itself; attained: their share, of the class in which
    it is least, 0..1. hits: share of input tokens found in a cache.
    counted: requests that count; refused: those no rank can hold. short: means not sure to 5 %.
    """

    rate: float
    ttft: Spread
    tpot: Spread
    itl: Spread
    e2e: Spread
    steady_ttft: float
    steady_tpot: float
    served: float
    good: float
    attained: float
    hits: float
    counted: int
    refused: int
    overloaded: bool
    short: bool
    notes: tuple[str, ...]


class Bench:
    """Where a deployment is tried; every trial has the same requests, closer or farther apart.

    one: its smallest copy; `copies` of them share a router here, more would not change much.
    guess, top: loads to begin from and not to go beyond, requests/s of a copy.
    """

    def __init__(
        self,
        one: Deployment,
        demand: Demand,
        *,
        copies: int,
        slos: Sequence[Slo] = (),
        limits: Limits = NONE,
        requests: int | None = None,
        seed: int = 0,
    ) -> None:
        self.demand, self.seed = demand, seed
        self.limits = limits
        self.served = Served(one)
        curve = self.served.curve(demand.traffic)
        self.guess, self.top = bracket(curve, slos, limits, demand.traffic.steps)
        self.curve = curve.take(rising(curve.requests))
        self.in_flight = self._steady("concurrency", self.guess)
        self.asked = requests
        self._share(copies)

    def _share(self, copies: int) -> None:
        """Have as many copies as matter, at most `copies`, and requests for all of them."""
        lasting = self.demand.lasting * self.guess  # requests of sessions under way
        self.copies = max(1, min(copies, int(IN_FLIGHT // max(1.0, self.in_flight + lasting))))
        self.served = copy(self.served)
        deployment = self.served.deployment
        offload = deployment.offload.of_part(self.copies / deployment.copies)
        self.served.deployment = msgspec.structs.replace(
            deployment, copies=self.copies, offload=offload
        )
        wanted = TURNS * (self.in_flight + lasting) * self.copies
        self.requests = self.asked or int(min(max(LEAST, wanted), MOST))

    def of(self, copies: int) -> Bench:
        """The same with another number of copies behind the router."""
        other = copy(self)
        other._share(copies)
        return other

    def _steady(self, figure: str, rate: float) -> float:
        """A column of the steady state (its unit) at `rate` requests/s of a copy."""
        column = getattr(self.curve, figure)
        return float(np.interp(rate, self.curve.requests, column, right=np.nan))

    @property
    def router(self) -> str:
        """The deployment's own where it can be simulated."""
        asked = self.served.deployment.router
        asked = ALIKE.get(asked, asked)
        return asked if asked in ROUTERS else ROUTER

    def at(self, rate: float) -> Trial:
        """One trial at `rate` requests/s per copy."""
        whole = rate * self.copies
        stream = self.demand.stream(whole, self.requests, self.seed)
        order = Order(
            router=self.router,
            scope=self.served.deployment.router_scope,
            limits=self.limits,
            classes=self.demand.classes,
            expected=self.requests / whole,
        )
        run = simulate(self.served, stream, order)
        found = outcome(run)
        notes = [*run.notes, *filter(None, [run.refusal])]
        if self.demand.traffic.prefix_hit and not found.hits:
            notes.append("no prefix was found in a cache: every input token is computed")
        if found.requests < SLOW * whole and not (found.overloaded or found.short):
            came = found.requests / whole
            why = (
                "sessions were still beginning"
                if found.warm_up
                else "the span that counts is short"
            )
            notes.append(
                f"{why}: {came:.0%} of the load came; more requests (--requests) are surer"
            )
        return Trial(
            rate=rate,
            ttft=found.ttft,
            tpot=found.tpot,
            itl=found.itl,
            e2e=found.e2e,
            steady_ttft=self._steady("ttft", rate),
            steady_tpot=self._steady("tpot", rate),
            served=found.requests / self.copies,
            good=found.good / self.copies,
            attained=min(
                (each.attained for each in found.classes if each.counted), default=_share(found)
            ),
            hits=found.hits,
            counted=found.counted,
            refused=found.refused,
            overloaded=found.overloaded,
            short=found.short,
            notes=tuple(notes),
        )


def _share(found: Outcome) -> float:
    """Good requests of all, 0..1."""
    return found.good / found.requests if found.requests else 0.0

"""The main job: rank every deployment of a model on a cluster that meets the limits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.estimate import Estimate
from racktwin.finding import BadInput, Finding
from racktwin.planning.ask import Ask, checked
from racktwin.planning.choice import Choice, choose
from racktwin.planning.objective import Terms, it_watts, output_per_gpu, score
from racktwin.planning.packing import copies_of
from racktwin.planning.pareto import front
from racktwin.planning.pools import SERVE_BUDGETS, Priced
from racktwin.planning.search import (
    LARGEST,
    Candidates,
    aggregated_candidates,
    disaggregated_candidates,
    join,
)

if TYPE_CHECKING:
    import polars

    from racktwin.planning.trial import Trial

FIGURES = ("ttft", "tpot", "output_rate", "total_rate", "per_user", "cost", "watts")
SHARE = 0.95  # of the planned load in trials: at all of it a queue of random arrivals has no end
EQUAL = 0.03  # scores this close are a tie: predictions are less sure than that


class FrontPoint(msgspec.Struct, frozen=True):
    """A point of a Pareto front.

    per_gpu: output tokens/s/GPU; per_mw: the same per megawatt of IT; per_user: tokens/s/user.
    """

    per_gpu: float
    per_mw: float
    per_user: float
    mode: str
    gpus: int
    ttft: float


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The ranked answer. choices: best first, all within the limits; `closest` when none is.

    candidates: deployments priced; layouts: layouts tried; seconds: CPU time of the search, s.
    front: by GPU and tokens/s/user; power_front: by megawatt and tokens/s/user.
    trials: of those `shown` by simulation, in their order; none where none was asked for.
    """

    ask: Ask
    choices: tuple[Choice, ...]
    closest: Choice | None
    front: tuple[FrontPoint, ...]
    power_front: tuple[FrontPoint, ...]
    candidates: int
    meeting: int
    layouts: int
    seconds: float
    trials: tuple[Trial, ...] = ()

    @property
    def best(self) -> Choice:
        """The first choice, or the one that comes closest."""
        first = self.choices[0] if self.choices else self.closest
        assert first is not None
        return first

    @property
    def shown(self) -> tuple[Choice, ...]:
        """The ranking, or the one that comes closest."""
        return self.choices or (self.best,)

    def table(self) -> polars.DataFrame:
        """The ranking, a row per choice; SI units, intervals as `_low` and `_high` columns."""
        import polars

        rows = []
        for rank, each in enumerate(self.choices, 1):
            row: dict[str, float | str] = {
                "rank": rank,
                "deployment": each.deployment.title,
                "gpus": each.deployment.gpus,
            }
            for name in FIGURES:
                estimate: Estimate = getattr(each, name)
                row |= {name: estimate.value, f"{name}_low": estimate.low}
                row |= {f"{name}_high": estimate.high}
            rows.append(row)
        return polars.DataFrame(rows)


def candidates_of(priced: Priced) -> Candidates:
    """Every candidate of the question, within its limits or not."""
    ask = priced.ask
    gain = ask.speculation.tokens_per_step
    parts = []
    if ask.mode != "disaggregated":
        ranks = priced.serving()
        parts.append(aggregated_candidates(ranks, ask.epoch, ask.traffic, gain))
    if ask.mode != "aggregated":
        prefills, decodes = priced.prefilling(), priced.decoding()
        parts.append(
            disaggregated_candidates(prefills, decodes, ask.epoch, ask.traffic, gain, ask.gpus)
        )
    return join(parts)


def plan(ask: Ask) -> Plan:
    """Search all deployments and rank those within the limits by the objective."""
    started = time.process_time()
    priced = Priced(checked(ask))
    if not priced.loading:
        raise BadInput([_does_not_load(priced)], "plan")
    every = candidates_of(priced)
    if not len(every):
        raise BadInput([_no_room(priced)], "plan")
    sizes = np.array([float(layout.gpus) for layout in priced.loading])
    busy = copies_of(every, sizes, ask.cluster, ask.gpus) - ask.spare
    every, busy = every.take(busy > 0), busy[busy > 0]
    if not len(every):
        raise BadInput([_none_left(ask)], "plan")
    terms = Terms(ask.traffic, ask.cluster, ask.price, ask.gpus, busy)
    excess = _excess(every, ask)
    good = excess <= 1
    scored = np.where(good, score(ask.objective, every, terms), -np.inf)
    best = tuple(choose(priced, every, index) for index in _distinct(every, scored, ask.top))
    closest = None if best else choose(priced, every, int(np.argmin(excess)))
    by_gpu, by_power = _fronts(every, ask.ttft or np.inf, terms)
    return Plan(
        ask=ask,
        choices=best,
        closest=closest,
        front=by_gpu,
        power_front=by_power,
        candidates=len(every),
        meeting=int(good.sum()),
        layouts=len(priced.layouts),
        seconds=time.process_time() - started,
    )


def _excess(every: Candidates, ask: Ask) -> NDArray[np.float64]:
    """How many times over its tightest limit a candidate is (at most 1: within all)."""
    over = np.zeros(len(every))
    if ask.ttft is not None:
        over = np.maximum(over, every.ttft / ask.ttft)
    if ask.tpot is not None:
        over = np.maximum(over, every.tpot / ask.tpot)
    return over


def _distinct(every: Candidates, scored: NDArray[np.float64], top: int) -> list[int]:
    """One candidate for each of the `top` best pairs of layouts, best first.

    Among those of a pair within `EQUAL` of its best, the one with the fewest GPUs.
    """
    left = scored.copy()
    found: list[int] = []
    while len(found) < top:
        best = left.max(initial=-np.inf)
        if best == -np.inf:
            break
        at = int(left.argmax())
        pair = (every.prefill == every.prefill[at]) & (every.decode == every.decode[at])
        equal = np.flatnonzero(pair & (left >= best - EQUAL * abs(best)))
        found.append(int(equal[np.lexsort((-left[equal], every.gpus[equal]))[0]]))
        left[pair] = -np.inf
    return sorted(found, key=lambda index: -scored[index])


def _fronts(
    every: Candidates, ttft: float, terms: Terms
) -> tuple[tuple[FrontPoint, ...], tuple[FrontPoint, ...]]:
    """The fronts by GPU and by megawatt within the TTFT limit (of all, where none is).

    The TPOT limit is an axis of them.
    """
    within = every.ttft <= ttft
    every = every.take(within) if within.any() else every
    rate, speed = output_per_gpu(every, terms), 1 / every.tpot
    per_mw = 1e6 * rate / it_watts(every, terms.cluster)

    def points(up: NDArray[np.float64]) -> tuple[FrontPoint, ...]:
        return tuple(
            FrontPoint(
                per_gpu=float(rate[index]),
                per_mw=float(per_mw[index]),
                per_user=float(speed[index]),
                mode="aggregated" if every.prefill[index] < 0 else "disaggregated",
                gpus=int(every.gpus[index]),
                ttft=float(every.ttft[index]),
            )
            for index in front(up, speed)
        )

    return points(rate), points(per_mw)


def _does_not_load(priced: Priced) -> Finding:
    ask = priced.ask
    if not priced.layouts:
        message = f"no legal layout of {ask.model.title} on {ask.gpus:,} GPUs"
        return Finding("--gpus", message)
    layout, missing = min(priced.refused.items(), key=lambda item: item[1])
    message = (
        f"{ask.model.title} in {ask.precision.name} does not load on {ask.gpus:,} "
        f"{ask.cluster.chip.title}: the closest layout ({layout.gpus} GPUs) lacks "
        f"{missing / 1e9:,.1f} GB per GPU; use more GPUs or a smaller format"
    )
    return Finding("--gpus", message)


def _none_left(ask: Ask) -> Finding:
    spare = f" beside {ask.spare:,} spare" if ask.spare else ""
    return Finding("--gpus", f"{ask.gpus:,} GPUs hold no whole copy of any deployment{spare}")


def _no_room(priced: Priced) -> Finding:
    ask = priced.ask
    length = ask.traffic.input + ask.traffic.output
    most = max(priced.fit(layout, SERVE_BUDGETS[0]).sequences(length) for layout in priced.loading)
    if most < 2:
        held = f"hold the KV cache of {most:.1f} requests of {length:,.0f} tokens at most"
        return Finding("--input", f"{ask.gpus:,} GPUs {held}; a rank needs room for two")
    if ask.mode == "disaggregated":
        text = "hold no prefill and decode replicas that balance each other; use more or --mode any"
        return Finding("--gpus", f"{min(ask.gpus, LARGEST):,} GPUs {text}")
    text = f"prefill of {ask.traffic.input:,.0f} tokens takes all the time of every layout"
    return Finding("--output", f"with {ask.traffic.output:,.0f} tokens out, {text}")

"""One ranked answer: a deployment, what it yields, how sure that is, and what stops it there."""

from __future__ import annotations

import msgspec
import numpy as np

from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.memory import MemoryFit
from racktwin.engine.table import StepTable
from racktwin.estimate import Estimate, Evidence
from racktwin.evidence.confidence import Interval, Role, interval, power
from racktwin.evidence.measurement import Figure
from racktwin.models.layout import Layout
from racktwin.planning.ask import Ask
from racktwin.planning.limit import limit
from racktwin.planning.objective import it_watts
from racktwin.planning.packing import copies
from racktwin.planning.pools import Priced
from racktwin.planning.search import Candidates

FIGURES: tuple[Figure, ...] = ("ttft", "tpot", "output_rate")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment with its figures, each with an 80 % interval.

    output_rate, total_rate: tokens/s/GPU; per_user: tokens/s of one request; cost: $ per million
    output tokens, spare copies paid too; concurrency: requests in one copy; watts: IT per GPU, W;
    cluster_rate: output tokens/s of all busy copies; rack_power: W of a rack of them; prefill_busy:
    share of time, 0..1. parts: s of a decode step; memory by role.
    """

    deployment: Deployment
    ttft: Estimate
    tpot: Estimate
    output_rate: Estimate
    total_rate: Estimate
    per_user: Estimate
    cost: Estimate
    watts: Estimate
    requests: float
    concurrency: float
    busy_copies: int
    cluster_rate: float
    rack_power: float
    prefill_busy: float
    limit: str
    parts: dict[str, float]
    memory: dict[str, MemoryFit]
    evidence: dict[str, tuple[Evidence, ...]]

    @property
    def throughput_per_gpu(self) -> Estimate:
        """Output tokens/s/GPU."""
        return self.output_rate

    def __repr__(self) -> str:
        figures = f"{self.output_rate}, TPOT {self.tpot}, TTFT {self.ttft}"
        return f"Choice({self.deployment.title} on {self.deployment.gpus:,} GPUs: {figures})"


def choose(priced: Priced, candidates: Candidates, index: int) -> Choice:
    """The full record of candidate number `index`."""
    ask, one = priced.ask, candidates.take(np.array([index]))
    layouts = priced.loading
    pools = _pools(ask, one, layouts)
    sizes: dict[int, int] = {}
    for pool in pools.values():
        sizes[pool.layout.gpus] = sizes.get(pool.layout.gpus, 0) + pool.replicas
    deployment = Deployment(
        model=ask.model,
        cluster=ask.cluster,
        engine=ask.epoch,
        precision=ask.precision,
        copies=copies(sizes, ask.cluster, ask.gpus),
        memory_fraction=ask.fraction,
        serve=pools.get("serve"),
        prefill=pools.get("prefill"),
        decode=pools.get("decode"),
    )
    table = priced.tables[layouts[int(one.decode[0])]]
    fits = {
        role: priced.fit(pool.layout, pool.max_batch_tokens, pool.max_batch)
        for role, pool in pools.items()
    }
    return _record(priced, one, deployment, table, fits, limit(priced, candidates, index))


def _pools(ask: Ask, one: Candidates, layouts: list[Layout]) -> dict[str, Pool]:
    batch = int(one.batch[0])
    decode = layouts[int(one.decode[0])]
    if one.prefill[0] < 0:
        budget = int(one.budget[0])
        pool = Pool(
            layout=decode, max_batch=batch, max_batch_tokens=budget, speculation=ask.speculation
        )
        return {"serve": pool}
    budget = int(one.prefill_budget[0])
    return {
        "prefill": Pool(
            layout=layouts[int(one.prefill[0])],
            replicas=int(one.prefills[0]),
            max_batch=max(1, int(budget // ask.traffic.new)),
            max_batch_tokens=budget,
        ),
        "decode": Pool(
            layout=decode,
            replicas=int(one.decodes[0]),
            max_batch=batch,
            max_batch_tokens=int(one.budget[0]),
            speculation=ask.speculation,
        ),
    }


def _record(
    priced: Priced,
    one: Candidates,
    deployment: Deployment,
    table: StepTable,
    fits: dict[str, MemoryFit],
    reason: str,
) -> Choice:
    ask, traffic = priced.ask, priced.ask.traffic
    batch = float(one.batch[0])
    ttft, tpot, rate = float(one.ttft[0]), float(one.tpot[0]), float(one.rate[0])
    ttft_error, tpot_error, rate_error = errors(deployment)
    gpus = deployment.gpus
    output = rate * traffic.output / gpus
    total = rate * (traffic.input + traffic.output) / gpus
    watts = float(it_watts(one, ask.cluster)[0])
    busy = deployment.copies - ask.spare
    dollars = ask.price / 3600 / output * 1e6 * deployment.copies / busy
    parts = table.breakdown(batch / table.pipeline, traffic.decode_context)
    known = table.evidence(batch / table.pipeline, traffic.decode_context)
    if one.prefill[0] >= 0:
        first = priced.tables[priced.loading[int(one.prefill[0])]]
        prompts = first.evidence(0.0, 1.0, traffic.new, traffic.cached)
    else:
        prompts = table.evidence(0.0, 1.0, traffic.new, traffic.cached)
    evidence = {
        part: tuple(sorted(known.get(part, frozenset()) | prompts.get(part, frozenset())))
        for part in {**known, **prompts}
    }
    return Choice(
        deployment=deployment,
        ttft=ttft_error.of(ttft, "s"),
        tpot=tpot_error.of(tpot, "s"),
        output_rate=rate_error.of(output, "output tokens/s/GPU"),
        total_rate=rate_error.of(total, "total tokens/s/GPU"),
        per_user=inverse(tpot_error).of(1 / tpot, "tokens/s/user"),
        cost=inverse(rate_error).of(dollars, "$/Mtok output"),
        watts=power().of(watts, "W/GPU"),
        requests=rate,
        concurrency=rate * (ttft + traffic.steps * tpot),
        busy_copies=busy,
        cluster_rate=output * gpus * busy,
        rack_power=watts * ask.cluster.gpus_per_rack,
        prefill_busy=float(one.busy[0]),
        limit=reason,
        parts=parts,
        memory=fits,
        evidence=evidence,
    )


def errors(deployment: Deployment) -> tuple[Interval, Interval, Interval]:
    """Intervals of TTFT, TPOT and rate of predictions of this kind."""
    role: Role = "aggregated" if deployment.serve else "disaggregated"
    chip, engine = deployment.cluster.chip.name, deployment.engine.engine
    name, epoch = deployment.model.name, deployment.engine.name
    ttft, tpot, rate = (
        interval(figure, chip=chip, engine=engine, role=role, model=name, epoch=epoch)
        for figure in FIGURES
    )
    return ttft, tpot, rate


def inverse(error: Interval) -> Interval:
    """The interval of one over the figure."""
    return Interval(1 / error.high, 1 / error.low, error.text)

"""A question of capacity as it is typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.finding import BadInput, Finding
from racktwin.planning import slo, wish
from racktwin.planning.ask import Ask, check_context, check_traffic
from racktwin.planning.demand import Demand, asked, fixed
from racktwin.planning.part import smallest
from racktwin.planning.task import Question, Task
from racktwin.serving.limits import Limits
from racktwin.units import Fraction, Quantity, Rate

FINALISTS = 3
MOST = 10**9
OF_A_PLAN = (
    *("gpus", "racks", "nodes", "precision", "kv_dtype", "engine", "objective", "mode"),
    *("mtp", "memory_fraction", "top"),
)  # a deployment file says these itself


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What may be said, as typed; None means nothing was said.

    Parameters
    ----------
    on
        A cluster or a cluster file; a deployment file names its own.
    workload
        Traffic by name, a YAML file of it, or a trace.
    input
        Input tokens of every request instead.
    output
        Output tokens of every request.
    slo_ttft
        Time to first token: p99:2s, or p95, p90, p50, mean; 2s alone is p99.
    slo_tpot
        Time per output token after the first: p99:50ms.
    slo_itl
        Time between two tokens: p99:100ms.
    slo_e2e
        Time to the last token: p95:30s.
    slo_goodput
        Share of requests within all times given: 95%; of times without a level, only this.
    rate
        Requests per second to serve: 200/s. How many copies, GPUs and racks does it take?
    spare
        Copies kept idle for failures; 1 is N+1.
    gpus
        GPUs there are; the whole cluster by default.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    precision
        Of the weights: bf16, fp8, nvfp4, mxfp4, int8, int4; else the smallest the chip computes in.
    kv_dtype
        Of the cache: bf16, fp8.
    engine
        trtllm (default), sglang, vllm, or one release of them.
    objective
        Of the plan: throughput (default), total, cost, tokens_per_mw, carbon, latency.
    mode
        aggregated, disaggregated, or any (default).
    prefix_hit
        Share of input tokens found in the cache: 40%.
    mtp
        Multi-token prediction as drafts:acceptance, 1:0.8, or one for each draft, 2:0.8,0.6.
    memory_fraction
        Share of memory the engine may fill; its own default otherwise.
    top
        Deployments of the plan to try, 3 by default.
    requests
        Requests of one simulation, 1,000 or more; as many as replace those in flight 20 times by
        default.
    seed
        Another draw of the same statistics.
    """

    on: str | None = None
    workload: str | None = None
    input: int | None = None
    output: int | None = None
    slo_ttft: str | None = None
    slo_tpot: str | None = None
    slo_itl: str | None = None
    slo_e2e: str | None = None
    slo_goodput: str | None = None
    rate: str | None = None
    spare: int = 0
    gpus: int | None = None
    racks: int | None = None
    nodes: int | None = None
    precision: str | None = None
    kv_dtype: str | None = None
    engine: str | None = None
    objective: str | None = None
    mode: str | None = None
    prefix_hit: str | None = None
    mtp: str | None = None
    memory_fraction: str | None = None
    top: int | None = None
    requests: int | None = None
    seed: int = 0


Subject = tuple[Deployment | Ask, Demand, tuple[str, ...]]


def is_file(name: str) -> bool:
    """Whether `name` is a deployment file, not a model."""
    return name.endswith((".yaml", ".yml"))


class Reader:
    """A wish being read; faults collect in `findings` and are raised together."""

    def __init__(self, name: str, asked: Wish) -> None:
        self.name, self.wish = name, asked
        self.findings: list[Finding] = []

    def question(self) -> Question:
        """What is asked; BadInput with everything wrong in it."""
        wish, given = self.wish, {name: getattr(self.wish, f"slo_{name}") for name in slo.LATENCIES}
        slos, limits = slo.read_all(given, wish.slo_goodput, self.findings)
        rate = self._rate()
        self.findings += self._ranges()
        found = self._of_file() if is_file(self.name) else self._of_model(slos, limits)
        if found is not None:
            self.findings += slo.check_share(slos, limits, found[1].classes)
        if self.findings or found is None:
            raise BadInput(self.findings, "capacity")
        subject, demand, notes = found
        task = Task(
            demand=demand,
            slos=slos,
            limits=limits,
            rate=rate,
            spare=wish.spare,
            requests=wish.requests,
            seed=wish.seed,
        )
        return Question(subject=subject, task=task, notes=notes)

    def _rate(self) -> float | None:
        found = self._read("--rate", self.wish.rate, Rate)
        if found is not None and not 0 < found < MOST:
            self._fault("--rate", f"expected more than 0, found {self.wish.rate}")
        return found

    def _ranges(self) -> Iterator[Finding]:
        for name, least in (("requests", 1000), ("seed", 0), ("spare", 0)):
            value = getattr(self.wish, name)
            if value is not None and not least <= value <= MOST:
                text = f"expected {least:,} to {MOST:,}, found {value:,}"
                yield Finding(f"--{name}", text)

    def _of_file(self) -> Subject | None:
        """The deployment of the file, the requests, and remarks on it."""
        given = [name for name in ("on", *OF_A_PLAN) if getattr(self.wish, name) is not None]
        for name in given:
            flag = "--" + name.replace("_", "-")
            self._fault(flag, "a deployment file says this itself; leave it out")
        hit = self._read("--prefix-hit", self.wish.prefix_hit, Fraction)
        wish = self.wish
        demand = asked(wish.workload, wish.input, wish.output, hit, self.findings)
        try:
            found, notes = read_deployment(self.name)
        except BadInput as fault:
            self.findings += [Finding(self.name, str(each)) for each in fault.findings]
            return None
        if demand is None:
            return None
        if self.wish.rate is None and self.wish.spare >= smallest(found)[1]:
            self._fault("--spare", f"{self.wish.spare:,} leave no copy of the file at work")
        self.findings += check_traffic(demand.traffic)
        self.findings += check_context(demand.traffic, found.model)
        return found, demand, tuple(map(str, notes))

    def _of_model(self, slos: Sequence[slo.Slo], limits: Limits) -> Subject | None:
        """The plan whose finalists are tried."""
        asked = self.wish
        if asked.on is None:
            self._fault("--on", "is missing: a model needs a cluster")
        means = {name: f"{limit!r} s" for name, limit in slo.means(slos, limits).items()}
        said = {name: getattr(asked, name) for name in (*OF_A_PLAN, "prefix_hit")}
        said |= {"top": FINALISTS if asked.top is None else asked.top, "spare": asked.spare}
        terms = wish.Wish(**{k: v for k, v in (said | means).items() if v is not None})
        on = [] if asked.on is None else [asked.on]
        try:
            found = wish.asks(self.name, on, asked.input, asked.output, terms, asked.workload)
        except BadInput as fault:
            self.findings += [each for each in fault.findings if each not in self.findings]
            return None
        return (found[0], found[0].demand or fixed(found[0].traffic), ()) if found else None

    def _fault(self, flag: str, message: str) -> None:
        self.findings.append(Finding(flag, message))

    def _read(self, flag: str, text: str | None, shape: type[Quantity]) -> float | None:
        try:
            return None if text is None else float(shape.parse(text, flag))
        except BadInput as fault:
            self.findings += fault.findings
            return None

"""Simulation: a stream of requests goes through a deployment; what users felt, what it did."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.finding import BadInput, Finding
from racktwin.serving import oracle, oracle_pair
from racktwin.serving.by_class import ByClass
from racktwin.serving.cache_transfer import transfer_time
from racktwin.serving.conservation import broken
from racktwin.serving.crew import Crew
from racktwin.serving.fleet import STEP, Floats, Ints, Rules
from racktwin.serving.limits import Limits
from racktwin.serving.metrics import DEFINITIONS, FIGURES, Definition, figures, gaps, good
from racktwin.serving.oracle_crew import Plan
from racktwin.serving.oracle_runner import OracleRunner, Service
from racktwin.serving.outages import Outage, Outages, Recovery
from racktwin.serving.pair_runner import DECODE_ROUTER, Pair
from racktwin.serving.pool import READINGS, Pool
from racktwin.serving.prompting import added
from racktwin.serving.router import ROUTERS
from racktwin.serving.runner import Pooled, RoundRobin, Routed, Runner
from racktwin.serving.sample import Sample
from racktwin.serving.scheduling import rules, scaling, sized_clock, unit
from racktwin.serving.slo_class import SloClass
from racktwin.serving.sparse import Sparse
from racktwin.serving.steady import Served
from racktwin.serving.tiers import tiers
from racktwin.serving.timeline import MOST, MOST_FIXED, Timeline
from racktwin.serving.trace import Trace
from racktwin.serving.window import Window

SHORTEST = 2.0**-6  # s between readings at first where the stream does not tell its length
BINS = 128  # readings over the first stretch
DRAIN = 2  # times the last arrival: until then a queue that grew may still be seen to drain
QUEUED = 2_000_000  # requests that may wait; more is a queue without end
DRAWN = 200_000  # steps kept of a window that is to be drawn
FINISHED, INSIDE, WAITING = range(3)  # readings of the whole, before those of the pools
FOUND = ("cached", "cached_host", "cached_shared")
TOTALS = ("input", "output", "good", "added", *FOUND)
Rows = Callable[[dict[str, NDArray[Any]]], None]
Watch = Callable[[float, int], bool]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How a stream is to be run.

    concurrency: requests in flight in a closed loop, 0 for an open load; it ends at `until`, s.
    router: one of `ROUTERS`. scope: what a router sees, one of `deployment.SCOPES`.
    outages: replicas that fail or are drained, if any. oracle: plain Python in place of the kernel.
    limits: of a good request, s; classes: those that have limits of their own.
    prefix_cache: on where the stream tells prefixes and the engine keeps them.
    resolution: s between readings, 0 for a free choice. expected: s of arrivals, 0 if not known.
    window: from and to, s, of the steps that are kept. rows: takes finished requests, a column per
    name. watch: told the simulated time, s, and the requests finished, after each reading; False
    stops the run.
    """

    concurrency: int = 0
    until: float = math.inf
    router: str = "round_robin"
    scope: str = "deployment"
    outages: Outages | None = None
    oracle: bool = False
    prefix_cache: bool = True
    limits: Limits = Limits()
    classes: tuple[SloClass, ...] = ()
    definition: Definition = DEFINITIONS["vllm"]
    resolution: float = 0.0
    expected: float = 0.0
    window: tuple[float, float] | None = None
    rows: Rows | None = None
    watch: Watch | None = None


class Simulation:
    """One run. `run` does it; `outcome.outcome` reads it."""

    def __init__(self, served: Served, stream: Iterator[Trace], order: Order) -> None:
        self.served, self.deployment, self.order = served, served.deployment, order
        self.stream = stream
        self.notes: tuple[str, ...] = ()
        self.ended = self.stopped = self.overloaded = self.stuck = False
        self.finished, self.last_finish = 0, 0.0
        self.sample = Sample(FIGURES, TOTALS)
        self.ages = Sample(("age",), (), exact=False)  # of sessions when their turns come
        self.last_begun = 0.0  # s, of the last session
        self.by_class = ByClass(FIGURES, TOTALS, order.classes, order.limits)
        self.gaps = Sample(("itl",), (), exact=False)
        self.left_over = np.zeros(0, STEP)
        self.bin_gaps = Sparse.of(np.zeros(0), np.zeros(0))
        self.kept: list[tuple[str, NDArray[Any]]] = []
        first = self._next()
        if first is None or not len(first):
            raise BadInput([Finding("requests", "there are none in the time asked")], "simulate")
        self.prompts = "prefill" if "prefill" in self.deployment.pools else "serve"
        self.added = added(self.deployment, served.tables[self.prompts].step)
        size = first.block_size if order.prefix_cache else 0
        memory = served.memory[self.prompts]
        self.stateful = size > 0 and memory.cache.state > 0
        self.unit = 0 if self.stateful or not size else unit(size, memory)
        self.tiers = tiers(self.deployment, self.prompts, memory, self.unit)
        self.images, self.encoding = 0, 0.0  # requests with images, s of encoding them
        self.window = Window(self._fits, self.unit, self._encode)
        self.runner = self._runner(first)
        self.at_once = not order.concurrency and first.duration == 0 and len(first) > 1
        lasts = order.expected or (0.0 if order.concurrency else first.duration)
        step = order.resolution or max(SHORTEST, lasts / BINS)
        self.timeline = Timeline(step, MOST_FIXED if order.resolution else MOST)
        self.seconds = 0.0  # CPU
        self._take(first)

    def run(self) -> None:
        """Bin after bin until all is done, it is stopped, or the queue has no end."""
        begin = 0.0  # s; the first bin may compile
        self._read()
        while not self._done():
            self._to(self.timeline.edge)
            begin = begin or time.process_time()
            self._read()
            watch = self.order.watch
            if watch is not None and not watch(self.timeline.times[-1], self.finished):
                self.stopped = True
        self.seconds = time.process_time() - begin
        if not self.arrived and self.window.refused:
            raise BadInput(
                [Finding("requests", "; ".join((self.refusal, *self.notes)))], "simulate"
            )
        if self.served_all and (faults := [*broken(self)]):
            raise RuntimeError(f"the simulation does not add up: {'; '.join(faults)}")

    @property
    def refusal(self) -> str:
        """What was refused, in a sentence; '' when nothing was."""
        if not self.window.refused:
            return ""
        count, longest = self.window.refused, self.window.longest_refused
        return (
            f"{count:,} {'request' if count == 1 else 'requests'} of up to {longest:,} tokens "
            f"refused: the cache of a rank and the model's context hold {self.longest:,}"
        )

    @property
    def offload_remark(self) -> str:
        """Why tiers that were asked for do little or nothing, in a sentence; '' when they do."""
        if not self.deployment.offload.any:
            return ""
        if self.tiers is not None:
            return self.tiers.remark(self.runner.pools[self.prompts].rules)
        reason = "the load does not tell which prompts begin alike"
        if self.stateful:
            reason = "no cache keeps a recurrent state for a prefix"
        elif not self.order.prefix_cache:
            reason = "the prefix cache is off"
        return f"offload does nothing: {reason}"

    @property
    def arrived(self) -> int:
        """Requests known so far, without those refused."""
        return self.window.base + len(self.window)

    @property
    def came(self) -> int:
        """Requests that arrived; of a closed loop more are known."""
        if not self.order.concurrency:
            return self.arrived
        return self.finished + int(self.timeline.rows[-1][INSIDE])

    def _next(self) -> Trace | None:
        found = next(self.stream, None)
        self.ended = found is None
        if found is not None:
            self.notes = found.notes or self.notes
        return found

    def _take(self, stretch: Trace) -> None:
        """Append a stretch of the stream to the window."""
        if dropped := self.window.drop():
            self.runner.drop(dropped)
        if (stretch.after >= 0).any():
            self.runner = self.runner.releasing_turns()
        self.by_class.know(stretch.classes)
        rows = self.window.add(stretch)
        for pool in self.runner.pools.values():
            pool.hold_ends(int(self.window.output[-rows:].max()) if rows else 1)
        self.runner.add(rows)

    def _fits(self, input: Ints, output: Ints) -> NDArray[np.bool_]:
        return np.asarray(input + output <= self.longest)

    def _encode(self, images: Ints, tokens: Ints) -> tuple[Floats, Floats]:
        """Seconds and joules of the images of each request; tokens: of one image."""
        seconds, joules = np.zeros(len(images)), np.zeros(len(images))
        rows = np.flatnonzero(tokens)
        if not len(rows):
            return seconds, joules
        encoder = self.served.encoder(self.prompts)
        if encoder is None:
            title = self.deployment.model.title
            text = f"{len(rows):,} requests have images; {title} has no image encoder"
            raise BadInput([Finding("trace", text)], "simulate")
        cost = encoder.cost(images[rows], tokens[rows])
        seconds[rows], joules[rows] = cost.seconds, cost.joules
        self.images, self.encoding = self.images + len(rows), self.encoding + seconds.sum()
        return seconds, joules

    def _runner(self, first: Trace) -> Runner:
        """The pools, sized by the first stretch, and the loop that drives them."""
        asked, order, size = self.deployment, self.order, first.input + first.output
        made = {
            role: rules(asked, role, self.served.memory[role], float(size.mean()))
            for role in asked.pools
        }
        made[self.prompts] = made[self.prompts]._replace(unit=self.unit)
        if self.tiers is not None:
            made[self.prompts] = self.tiers.rules(made[self.prompts])
        held = (each.blocks * each.block for each in made.values())
        self.longest = min(asked.model.architecture.context, *held)
        if order.oracle:
            return self._oracle(made)
        pools = {role: self._pool(role, each) for role, each in made.items()}
        policy, recovery = ROUTERS.index(order.router), self._recovery()
        if "serve" not in pools:
            start, pace = transfer_time(asked, self.served.memory)
            return Pair(
                pools,
                self.window,
                self._collect,
                policy=policy,
                concurrency=order.concurrency,
                start=start,
                pace=pace,
                recovery=recovery,
            )
        serve = pools["serve"]
        if policy == 0 and not order.concurrency and not serve.rules.shared and not self.changes:
            return RoundRobin(serve, self.window, self._collect)
        return Routed(serve, self.window, self._collect, policy, order.concurrency, recovery)

    @property
    def changes(self) -> bool:
        """Whether replicas may come and go."""
        return self._recovery() is not None

    def _recovery(self) -> Recovery | None:
        """What becomes of requests where replicas come and go; None where they do not."""
        if self.order.outages:
            return self.order.outages.recovery
        scaled = any(pool.autoscale for pool in self.deployment.pools.values())
        return Recovery() if scaled else None

    def _oracle(self, made: dict[str, Rules]) -> OracleRunner:
        """The oracle of the pools, behind the face of a runner."""
        asked, order = self.deployment, self.order
        sides = {}
        for role, each in made.items():
            sized = sized_clock(self.served.tables[role], each, self.longest)
            plan, replicas = self._plan(role), self._replicas(role)
            router = DECODE_ROUTER if role == "decode" else order.router
            stages = replicas * plan.stages
            sides[role] = oracle_pair.Pool(each, sized, stages, router, plan)
        rest: dict[str, Any] = {
            "concurrency": order.concurrency or None,
            "scopes": self._scopes,
            "recovery": self._recovery(),
        }
        service: Service
        if serve := sides.get("serve"):
            service = oracle.Service(*serve[:4], plan=serve.plan, **rest)
        else:
            transfer = transfer_time(asked, self.served.memory)
            service = oracle_pair.Service(sides["prefill"], sides["decode"], *transfer, **rest)
        outages = {role: self._outages(role) for role in made}
        return OracleRunner(service, self.window, self._collect, outages)

    def _pool(self, role: str, made: Rules) -> Pool:
        plan, replicas = self._plan(role), self._replicas(role)
        crew = Crew(
            replicas * plan.stages,
            stages=plan.stages,
            parts=plan.parts,
            first=plan.first,
            scaling=plan.scaling,
            outages=self._outages(role),
        )
        sized = sized_clock(self.served.tables[role], made, self.longest)
        found = Pool(replicas * plan.stages, made, sized, scopes=self._scopes, crew=crew)
        found.room_for_log(DRAWN if self.order.window else found.looked_at)
        return found

    @property
    def _scopes(self) -> int:
        """Parts of the replicas that have a router of their own."""
        return self.deployment.copies if self.order.scope == "copy" else 1

    def _replicas(self, role: str) -> int:
        """Of all copies, with those that autoscaling may start."""
        return self.deployment.copies * self.deployment.pools[role].most

    def _outages(self, role: str) -> Iterator[Outage]:
        asked = self.order.outages
        return asked.of(role, self._replicas(role)) if asked else iter(())

    def _plan(self, role: str) -> Plan:
        """Who is there at first and how many there are to be; outages come as time goes on."""
        pool = self.deployment.pools[role]
        return Plan(
            stages=pool.layout.pipeline,
            parts=self.deployment.copies,
            first=pool.replicas,
            scaling=scaling(self.served, role, self._scopes) if pool.autoscale else None,
        )

    def _to(self, until: float) -> None:
        """Everything before `until`, s, piece by piece of the stream."""
        for pool in self.runner.pools.values():
            pool.watch(self.timeline.times[-1], until)
            pool.feed(until)
        done = False
        while not done:
            while not self.ended and self.runner.hungry(until):
                if not self.order.concurrency and self.window.last > -np.inf:
                    self.runner.run(min(until, self.window.last))
                stretch = self._next()
                if stretch is not None:
                    self._take(stretch)
            done = self.runner.run(until)
        for role, pool in self.runner.pools.items():
            if role != "prefill":
                self._add_gaps(pool, until)
            self._keep(role, pool)

    def _add_gaps(self, pool: Pooled, until: float) -> None:
        """Take the times between tokens from the steps logged up to `until`, s."""
        own = pool.log
        log = np.concatenate([self.left_over, own[: pool.looked_at]])
        seconds, often, left = gaps(log, pool.rules)
        self.left_over = left if len(own) < pool.looked_at else left[:0]
        self.bin_gaps = Sparse.of(seconds, often)
        count = len(seconds)
        number = np.full(count, int(self.timeline.times[-1] / SHORTEST))
        self.gaps.add(number, np.full(count, until), seconds[None], np.empty((0, count)), often)

    def _keep(self, role: str, pool: Pooled) -> None:
        """Keep the logged steps that overlap the window to be drawn."""
        if self.order.window and len(log := pool.log):
            begin, end = self.order.window
            mine = (log["end"] > begin) & (log["begin"] < end) & (log["steps"] > 0)
            if mine.any():
                self.kept.append((role, log[mine]))

    def _collect(self, results: NDArray[Any]) -> None:
        """Take finished requests into the sample, and hand them on."""
        if not len(results):
            return
        window, rows = self.window, results["number"]
        window.finish[rows] = results["finish"]
        found = figures(results, self.added)
        which = window.slo_class[rows]
        inside = good(found, self.by_class.bounds(which))
        input, number = window.prompt[rows], rows + window.base
        later = found[0] - (results["first"] - results["arrival"])
        totals = np.zeros((len(TOTALS), len(results)))
        totals[:4] = input, results["output"], inside, later
        if self.unit:
            totals[4:] = [results[name] for name in FOUND]
        self.sample.add(number, results["arrival"], found, totals)
        self.by_class.add(which, number, results["arrival"], found, totals)
        if window.turns:
            self._age(rows, results["arrival"])
        self.finished += len(results)
        self.last_finish = max(self.last_finish, float(results["finish"].max()))
        if self.order.rows is not None:
            results = results.copy()
            told = {name: results[name] for name in ("arrival", "admitted", "first", "finish")}
            told["second"] = np.where(results["second"] < 0, np.nan, results["second"])
            told |= {"request": window.index[rows], "input": input, "output": results["output"]}
            told |= {name: results[name] for name in (*FOUND, "losses", "replica")}
            told["failures"] = self.runner.moves(rows)
            told |= {"added": later, "good": inside}
            if self.by_class.classes:
                told["class"] = self.by_class.names(which)
            self.order.rows(told)

    def _age(self, rows: Ints, arrival: Floats) -> None:
        """Note how old the sessions of requests were when these came, s."""
        begun = self.window.begun(rows, arrival)
        self.last_begun = max(self.last_begun, float(begun.max()))
        age, number = arrival - begun, rows + self.window.base
        self.ages.add(number, arrival, age[None], np.empty((0, len(age))))

    def _read(self) -> None:
        """Note the readings at an edge of the timeline."""
        edge = self.timeline.edge
        rows = [pool.readings(edge) for pool in self.runner.pools.values()]
        inside, waiting = (
            sum(row[index] for row in rows) + self.runner.between for index in (-2, -1)
        )
        row = np.concatenate([[self.finished, inside, waiting], *rows])
        self.timeline.add(row, self.bin_gaps)

    @property
    def served_all(self) -> bool:
        """Whether every request of the stream has ended."""
        return self.ended and self.finished == self.arrived

    def _done(self) -> bool:
        done = self.served_all
        waiting = self.timeline.rows[-1][WAITING]
        past = self.ended and self.timeline.times[-1] > DRAIN * self.window.last
        past = past and not any(pool.returning for pool in self.runner.pools.values())
        self.overloaded = waiting > QUEUED or ((done or past) and self.growth > 0)
        over = self.timeline.times[-1] >= self.order.until
        self.stuck = self.ended and self.runner.stuck
        return self.stopped or done or over or self.overloaded or self.stuck

    @property
    def growth(self) -> float:
        """Requests/s by which the queue grows over the second half of the arrivals; 0 if not.

        It does when that is above 2 % of the arrivals and twice their random spread, and no more
        replicas took requests after the last arrival.
        """
        end = min(self.window.last, self.timeline.times[-1])
        if end <= 0 or self.order.concurrency:
            return 0.0
        columns = self.timeline.columns
        waiting = [self.timeline.at(columns[WAITING], end * part) for part in (0.25, 0.5, 1.0)]
        grown, half = waiting[2] - waiting[1], self.arrived / 2
        sure = grown > max(0.02 * half, 2 * half**0.5) and waiting[1] > waiting[0]
        sure = sure and not self._recovered(end)
        return grown / (end / 2) if sure else 0.0

    def _recovered(self, end: float) -> bool:
        """Whether in any pool more replicas took requests after `end`, s, than at it."""
        after = np.asarray(self.timeline.times) >= end
        up = self.timeline.columns[READINGS.index("up") + 3 :: len(READINGS)]
        return any(each[after].max(initial=0.0) > self.timeline.at(each, end) for each in up)


def simulate(served: Served, stream: Iterator[Trace], order: Order) -> Simulation:
    """Run the whole stream; the load is the total over the copies of the deployment.

    BadInput when there is no request, or none that the deployment can hold.
    """
    run = Simulation(served, stream, order)
    run.run()
    return run

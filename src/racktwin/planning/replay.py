"""A deployment file under a stream of requests: the simulation and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.estimate import Estimate
from racktwin.finding import BadInput, Finding, gathered
from racktwin.planning.choice import errors
from racktwin.planning.objective import idle_watts
from racktwin.planning.outage_wish import Asked, crews, outages
from racktwin.planning.starts import start_ups
from racktwin.planning.stream_wish import Reader, Wish
from racktwin.serving.outcome import Outcome, outcome
from racktwin.serving.prompting import Added
from racktwin.serving.router import ALIKE
from racktwin.serving.sample import Spread
from racktwin.serving.simulation import Order, Rows, Simulation, Watch, simulate
from racktwin.serving.steady import Served
from racktwin.serving.trace import Trace
from racktwin.units import Seconds

T = TypeVar("T")
ORACLE = "simulated by the oracle, plain Python that is independent of the compiled kernel"


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A run with what it was asked.

    load: in words. mean_ttft, mean_tpot: with the error of predictions of this kind. watts: IT
    per GPU, its share of the rack included, W. notes: remarks on file and trace.
    """

    deployment: Deployment
    order: Order
    load: str
    run: Simulation
    outcome: Outcome
    mean_ttft: Estimate
    mean_tpot: Estimate
    watts: float
    notes: tuple[str, ...]

    @property
    def routing(self) -> str:
        """The router and what it sees, in words."""
        copies = self.deployment.copies
        over = "in each" if self.order.scope == "copy" else "over all"
        name, asked = self.order.router, self.deployment.router
        stands = f" (for {asked})" if ALIKE.get(asked) == name else ""
        return f"router {name}{stands}" + (f" {over} of {copies:,} copies" if copies > 1 else "")

    @property
    def asked(self) -> str:
        """What came, in words: '20,000 requests at 8/s'."""
        word = self.load.removeprefix("requests") if self.outcome.arrived == 1 else ""
        return f"{self.outcome.arrived:,} {f'request{word}' if word else self.load}"

    @property
    def ttft(self) -> Spread:
        """Time to first token, s; of every other figure see `outcome`."""
        return self.outcome.ttft

    @property
    def tpot(self) -> Spread:
        """Time per output token after the first, s."""
        return self.outcome.tpot


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A deployment and its requests, all checked, before they are run.

    load: in words. remarks: on the file. router: as asked for, by the flag or by the file.
    """

    deployment: Deployment
    order: Order
    stream: Iterator[Trace]
    load: str
    served: Served
    remarks: tuple[str, ...]
    router: str

    def run(self, *, rows: Rows | None = None, watch: Watch | None = None) -> Replay:
        """Run the load and sum up."""
        deployment = self.deployment
        order = msgspec.structs.replace(self.order, rows=rows, watch=watch)
        run = simulate(self.served, self.stream, order)
        notes = [ORACLE] if order.oracle else []
        if run.order.router != self.router:
            notes.append(f"router {deployment.router} is simulated as {run.order.router}")
        notes += [*self.remarks, *run.notes, *filter(None, [run.refusal, run.offload_remark])]
        if run.order.window and not run.kept:
            end = Seconds(run.last_finish)
            notes.append(f"no step falls into the trace window: the run ends at {end}")
        if run.images:
            notes.append(_images(run))
        if run.stateful:
            notes.append("no cache keeps a recurrent state for a prefix: all input is computed")
        notes += filter(None, [_beyond(run.added, deployment.engine.name)])
        notes += start_ups(self.served, run.order)
        answer = outcome(run)
        notes += [
            f"no request of class {each.name} counts" for each in answer.classes if not each.counted
        ]
        ttft, tpot, _ = errors(deployment)
        return Replay(
            deployment=deployment,
            order=run.order,
            load=self.load,
            run=run,
            outcome=answer,
            mean_ttft=ttft.of(answer.ttft.mean, "s"),
            mean_tpot=tpot.of(answer.tpot.mean, "s"),
            watts=answer.watts + idle_watts(deployment.cluster) if answer.powered else 0.0,
            notes=tuple(notes),
        )


def ready(subject: Deployment | str | Path, wish: Wish, engine: str | None = None) -> Ready:
    """Read a deployment file and the load; BadInput with every finding.

    engine: another one than the file's.
    """
    found, checks = Reader(wish), Checks()
    order = checks.make(found.order)
    read = checks.make(partial(_deployment, subject, engine))
    served = None
    if read is not None and (asked := checks.make(partial(found.offloading, read[0]))):
        served = checks.make(partial(_loaded, asked, subject))
    pools = crews(served) if served else None
    planned = checks.make(partial(outages, _outages(wish), pools, wish.seed))
    opened = checks.make(found.stream) if order else None
    if checks.faults or not (order and read and served and opened):
        raise gathered(checks.faults, "simulate")
    deployment, (stream, load, expected) = served.deployment, opened
    if wish.router is None:
        router = ALIKE.get(deployment.router, deployment.router)
        order = msgspec.structs.replace(order, router=router)
    if wish.scope is None:
        order = msgspec.structs.replace(order, scope=deployment.router_scope)
    return Ready(
        deployment=deployment,
        order=msgspec.structs.replace(order, expected=expected, outages=planned),
        stream=stream,
        load=load,
        served=served,
        remarks=tuple(map(str, read[1])),
        router=wish.router or deployment.router,
    )


class Checks:
    """What is made of several inputs; the faults of all of them."""

    def __init__(self) -> None:
        self.faults: list[BadInput] = []

    def make(self, maker: Callable[[], T]) -> T | None:
        """What `maker` makes, None where the input is bad."""
        try:
            return maker()
        except BadInput as fault:
            self.faults.append(fault)
            return None


def _deployment(
    subject: Deployment | str | Path, engine: str | None
) -> tuple[Deployment, tuple[Finding, ...]]:
    """The deployment, and notes on its file."""
    if isinstance(subject, Deployment):
        return subject, ()
    return read_deployment(subject, engine)


def _loaded(deployment: Deployment, subject: Deployment | str | Path) -> Served:
    """The deployment ready to serve, if its model fits."""
    served = Served(deployment)
    if lacking := [
        Finding(role, f"does not load: {-fit.kv_room / 1e9:.1f} GB per GPU are missing")
        for role, fit in served.memory.items()
        if not fit.loads
    ]:
        where = deployment.title if isinstance(subject, Deployment) else str(subject)
        raise BadInput(lacking, where)
    return served


def _outages(wish: Wish) -> Asked:
    return Asked(
        fail=wish.fail or (),
        drain=wish.drain or (),
        events=wish.events,
        on_failure=wish.on_failure,
        detection=wish.detection,
    )


def _beyond(added: Added, engine: str) -> str:
    """What TTFT has beyond the schedule, in a sentence; '' for nothing."""
    parts = []
    if added.reply:
        parts.append(str(Seconds(float(f"{added.reply:.3g}"))))
    if added.prompts:
        parts.append(f"{added.prompts:+.1%} of the time that prompts take")
    if added.waits:
        parts.append(f"{added.waits:.3g} times between tokens")
    if not parts:
        return ""
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
    return f"TTFT has, beyond the schedule, {listed}, fitted on measurements of {engine}"


def _images(run: Simulation) -> str:
    """What the images of a run cost, and what that rests on."""
    encoder = run.served.encoder(run.prompts)
    assert encoder is not None
    known = {each for found in encoder.cost(1.0, 1.0).evidence.values() for each in found}
    names = ", ".join(sorted(f"{each.kind} {each.name}" for each in known))
    mean = Seconds(run.encoding / run.images)
    return (
        f"images of {run.images:,} requests take {mean} to encode on average, before their prompt: "
        f"{names}; host time assumed"
    )


def replayed(
    subject: Deployment | str | Path,
    wish: Wish,
    *,
    engine: str | None = None,
    rows: Rows | None = None,
    watch: Watch | None = None,
) -> Replay:
    """Read the deployment, run the load and sum up; BadInput with every finding.

    engine: another one than the file's.
    """
    return ready(subject, wish, engine).run(rows=rows, watch=watch)

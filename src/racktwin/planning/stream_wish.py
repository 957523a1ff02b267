"""The stream of requests for a simulation, and what is asked of it, as typed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from cyclopts import Parameter

from racktwin.engine.deployment import SCOPES, Deployment
from racktwin.engine.offload import offload_findings
from racktwin.finding import BadInput, Finding, unknown
from racktwin.serving import class_words, mix, traces, workload
from racktwin.serving.arrivals import Arrivals
from racktwin.serving.generated import Generated
from racktwin.serving.lengths import Lengths
from racktwin.serving.limits import Limits
from racktwin.serving.metrics import DEFINITIONS
from racktwin.serving.router import ROUTERS
from racktwin.serving.sessions import Class
from racktwin.serving.simulation import Order
from racktwin.serving.slo_class import SloClass, classified
from racktwin.serving.trace import Trace, limited
from racktwin.units import Bytes, Quantity, Rate, Seconds

REQUESTS = 20_000  # of a synthetic load, where neither a number nor a duration is given
TURNS = 20  # and of a closed one, per request in flight
MOST = 10**9
CLIENTS = 10**7  # in flight, each held in memory
SHORTEST = 1e-3  # s between two points of a time line
SLOWEST, FASTEST = 1e-6, 1e6  # factors of the arrivals of a trace or workload
OF_ONE = Parameter(parse=False)  # typed by way of `loads.Loads`
Q = TypeVar("Q", bound=Quantity)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The load of one deployment and the questions, as typed; None means nothing was said.

    What is not described here differs from deployment to deployment: `loads.Loads`. scale: 1.

    Parameters
    ----------
    requests
        The first so many requests.
    duration
        The requests of so long: 10min. A closed loop stops then.
    seed
        Another draw of the same statistics.
    router
        round_robin, least_outstanding, least_kv, power_of_two, input_balanced, prefix_aware,
        kv_aware.
    fail
        Replicas that fail, role:replica@time+duration: serve:3@120s+5min, decode:*@1h; without a
        duration for good. '' for none.
    drain
        Replicas that finish what they have and start again, one after the other: serve:*@1h+2min.
    events
        A file of failures, drains and random failures.
    on_failure
        What becomes of requests on a replica that fails: retry (from the start; the default) or
        migrate (what was told is kept).
    detection
        Time until the router knows of a failure: 1s.
    scope
        What a router sees: deployment (all copies) or copy; the file's by default.
    prefix_cache
        on or off: whether the begin of a prompt that was computed before is kept.
    offload_host
        Host memory for prefixes, for each GPU, instead of what the file says: 200GB.
    offload_shared
        Pool for prefixes, of all copies together, instead of what the file says: 20TB.
    classes
        Limits of a class of requests: chat:ttft=1s,tpot=50ms,priority=0; or a YAML file of them.
    definitions
        Metrics as these tools define them: vllm, aiperf, mlperf.
    resolution
        Time between the points of the time lines: 10s.
    trace_window
        Times whose steps go into steps.json of --out, for Perfetto: 10s:12s.
    oracle
        The oracle simulates, plain Python, not the compiled kernel: the same requests, slowly.
    """

    trace: Annotated[str | None, OF_ONE] = None
    workload: Annotated[str | None, OF_ONE] = None
    input: Annotated[int | None, OF_ONE] = None
    output: Annotated[int | None, OF_ONE] = None
    rate: Annotated[str | None, OF_ONE] = None
    concurrency: Annotated[int | None, OF_ONE] = None
    requests: int | None = None
    duration: str | None = None
    scale: Annotated[float, OF_ONE] = 1.0
    seed: int = 0
    router: str | None = None
    fail: tuple[str, ...] | None = None
    drain: tuple[str, ...] | None = None
    events: str | None = None
    on_failure: str | None = None
    detection: str | None = None
    scope: str | None = None
    prefix_cache: str = "on"
    offload_host: str | None = None
    offload_shared: str | None = None
    slo_ttft: Annotated[str | None, OF_ONE] = None
    slo_tpot: Annotated[str | None, OF_ONE] = None
    slo_e2e: Annotated[str | None, OF_ONE] = None
    classes: Annotated[list[str] | None, Parameter(name="--class")] = None
    definitions: str = "vllm"
    resolution: str | None = None
    trace_window: str | None = None
    oracle: Annotated[bool, Parameter(negative="", show_default=False)] = False


class Reader:
    """A wish being read; faults collect in `findings` and are raised together."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.made: Generated | None = None
        self.offload: dict[str, Bytes | None] = {}
        self.findings: list[Finding] = []

    @property
    def closed(self) -> int:
        """Requests in flight of a closed loop, 0 for an open load."""
        law = self.made.arrivals if self.made else Arrivals()
        return self.wish.concurrency or (law.concurrency if law.law == "closed" else 0)

    def _times(self, law: Arrivals) -> None:
        """Refuse another rate for a workload that has none."""
        wish = self.wish
        if law.law not in ("offline", "closed") or wish.concurrency:
            return
        text = f"all requests of {wish.workload} come at once"
        if law.law == "closed":
            text = f"{wish.workload} keeps {law.concurrency:,} in flight; --concurrency changes it"
        if wish.rate is not None:
            self._fault("--rate", text)
        if wish.scale != 1:
            self._fault("--scale", text)

    def order(self) -> Order:
        """What is asked; BadInput with every fault of the flags."""
        wish = self.wish
        self._load()
        self._among("--router", wish.router, ROUTERS)
        self._among("--scope", wish.scope, SCOPES)
        self._among("--prefix-cache", wish.prefix_cache, ("on", "off"))
        self._among("--definitions", wish.definitions, DEFINITIONS)
        limits = {name: self._seconds(f"--slo-{name}") for name in ("ttft", "tpot", "e2e")}
        window, resolution = self._window(), self._seconds("--resolution")
        if resolution is not None and 0 < resolution < SHORTEST:
            self._fault("--resolution", f"expected 1 ms or more, found {wish.resolution}")
        self.duration = self._seconds("--duration")
        self.rate = self._quantity("--rate", wish.rate, Rate)
        given = class_words.read("--class", wish.classes or [], self.findings)
        self.offload = {key: self._bytes(f"--offload-{key}") for key in ("host", "shared")}
        self._workload()
        if self.findings:
            raise BadInput(self.findings, "simulate")
        return Order(
            concurrency=self.closed,
            until=(self.duration or math.inf) if self.closed else math.inf,
            router=wish.router or "least_outstanding",
            scope=wish.scope or SCOPES[0],
            oracle=wish.oracle,
            prefix_cache=wish.prefix_cache == "on",
            limits=Limits(**{name: each for name, each in limits.items() if each}),
            classes=self._classes(given),
            definition=DEFINITIONS[wish.definitions],
            resolution=resolution or 0.0,
            window=window,
        )

    def _workload(self) -> None:
        """Read the workload, if there is one; a fault in its file stands alone where it can."""
        if self.wish.workload is None:
            return
        try:
            self.made = mix.load(self.wish.workload)
        except BadInput as fault:
            if not self.findings:
                raise
            self.findings += [Finding(fault.source, str(each)) for each in fault.findings]
            return
        self._times(self.made.arrivals)

    def _classes(self, given: tuple[SloClass, ...]) -> tuple[SloClass, ...]:
        """Those of the workload, but for those given instead, and the others given."""
        said = {each.name: each for each in given}
        own = self.made.slo_classes if self.made else ()
        mine = [said.pop(each.name, each) for each in own]
        self.classes = (*mine, *said.values())
        return self.classes

    def stream(self) -> tuple[Iterator[Trace], str, float]:
        """The requests, the load in words, and the s of arrivals to expect (0: not known)."""
        found, words, expected = self._stream()
        return classified(found, self.classes), words, expected

    def _stream(self) -> tuple[Iterator[Trace], str, float]:
        wish, closed, rate = self.wish, self.closed, self.rate
        seconds = None if closed else self.duration  # a closed loop has its own times
        if wish.trace:
            scaled = (part.scaled(wish.scale) for part in traces.read(wish.trace, seed=wish.seed))
            name = f"requests of {Path(wish.trace).name}"
            return limited(scaled, wish.requests, seconds), self._words(name, None), 0.0
        made, count = self.made or self._synthetic(), wish.requests
        if count is None and closed and self.duration:
            count = MOST
        elif count is None and seconds is None:
            count = made.requests if wish.workload else max(REQUESTS, TURNS * closed)
        stream = made.generate(count, seconds, seed=wish.seed, rate=rate, scale=wish.scale)
        mean = (made.arrivals.rate if rate is None else rate) * wish.scale
        name = f"requests of {made.name}" if wish.workload else "requests"
        if made.arrivals.law == "offline" and not closed:
            return stream, f"{name}, all at once", 0.0
        expected = (
            (self.duration or 0.0)
            if closed
            else min(seconds or math.inf, (count or math.inf) / mean)
        )
        return stream, self._words(name, mean), expected

    def _synthetic(self) -> workload.Workload:
        wish = self.wish
        law = Arrivals(rate=self.rate or Rate(1.0))
        each = Class(input=Lengths(mean=wish.input or 1), output=Lengths(mean=wish.output or 1))
        return workload.Workload(title="fixed lengths", arrivals=law, classes=(each,))

    def _words(self, name: str, rate: float | None) -> str:
        if self.closed:
            return f"{name}, {self.closed:,} in flight"
        if rate is None:
            times = f", {self.wish.scale:g} times as fast" if self.wish.scale != 1 else ""
            return f"{name}{times}"
        return f"{name} at {rate:,.6g}/s"

    def _load(self) -> None:
        """Exactly one kind of load, with sane numbers."""
        wish = self.wish
        kinds = [wish.trace is not None, wish.workload is not None, wish.input is not None]
        if sum(kinds) != 1:
            self._fault("--trace", "give one of --trace, --workload, --input with --output")
        if (wish.input is None) != (wish.output is None):
            self._fault("--output", "--input and --output go together")
        if wish.input is not None and (wish.rate is None) == (wish.concurrency is None):
            self._fault("--rate", "give either --rate or --concurrency")
        elif wish.rate is not None and wish.concurrency is not None:
            self._fault("--rate", "give either --rate or --concurrency, not both")
        if wish.trace is not None and wish.rate is not None:
            self._fault("--rate", "a trace has its own times; --scale 2 makes it twice as fast")
        for name in ("input", "output", "concurrency", "requests"):
            value, most = getattr(wish, name), CLIENTS if name == "concurrency" else MOST
            if value is not None and not 1 <= value <= most:
                self._fault(f"--{name}", f"expected 1 to {most:,}, found {value:,}")
        if not SLOWEST <= wish.scale <= FASTEST:
            text = f"expected a factor of {SLOWEST:g} to {FASTEST:,.0f}, found {wish.scale:g}"
            self._fault("--scale", text)
        if wish.seed < 0:
            self._fault("--seed", f"expected 0 or more, found {wish.seed}")

    def _fault(self, flag: str, message: str) -> None:
        self.findings.append(Finding(flag, message))

    def _among(self, flag: str, word: str | None, known: Any) -> None:
        if word is not None and word not in known:
            self.findings.append(unknown(flag, word[:40], known))

    def _quantity(self, flag: str, text: str | None, shape: type[Q]) -> Q | None:
        try:
            found = None if text is None else shape.parse(text, flag)
        except BadInput as fault:
            self.findings += fault.findings
            return None
        if found is not None and not found > 0:
            self._fault(flag, f"expected more than 0, found {text}")
        return found

    def _seconds(self, flag: str) -> Seconds | None:
        """A duration, s, given under this flag."""
        text = getattr(self.wish, flag.strip("-").replace("-", "_"))
        return self._quantity(flag, text, Seconds)

    def _bytes(self, flag: str) -> Bytes | None:
        """A size given under this flag; it is of no use without a prefix cache."""
        text = getattr(self.wish, flag.strip("-").replace("-", "_"))
        try:
            found = None if text is None else Bytes.parse(text, flag)
        except BadInput as fault:
            self.findings += fault.findings
            return None
        if found and self.wish.prefix_cache == "off":
            self._fault(flag, "keeps what the prefix cache drops; leave out --prefix-cache off")
        return found

    def offloading(self, deployment: Deployment) -> Deployment:
        """The deployment with the sizes given by flags; BadInput when its hosts have less."""
        given = {key: size for key, size in self.offload.items() if size is not None}
        offload = msgspec.structs.replace(deployment.offload, **given)
        findings = list(offload_findings(offload, deployment.cluster)) if given else []
        if not all(each.note for each in findings):
            flags = [
                msgspec.structs.replace(each, key=f"--{each.key.replace('.', '-')}")
                for each in findings
            ]
            raise BadInput(flags, "simulate")
        return msgspec.structs.replace(deployment, offload=offload)

    def _window(self) -> tuple[float, float] | None:
        """From and to, s: '10s:12s'."""
        text = self.wish.trace_window
        if text is None:
            return None
        begin, colon, end = text.partition(":")
        read = [Seconds.read(part.strip()) for part in (begin, end)]
        if not colon or any(isinstance(each, str) for each in read):
            self._fault("--trace-window", f"expected two times as in 10s:12s, found {text[:40]!r}")
            return None
        if not float(read[0]) < float(read[1]):
            self._fault("--trace-window", f"ends before it begins: {text[:40]!r}")
            return None
        return float(read[0]), float(read[1])

"""The requests a deployment is planned for: their lengths, and how they come at any rate."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from racktwin.finding import BadInput, Finding
from racktwin.serving import mix
from racktwin.serving.arrivals import Arrivals
from racktwin.serving.generated import SAMPLE, Generated
from racktwin.serving.lengths import Lengths
from racktwin.serving.sessions import Class
from racktwin.serving.slo_class import SloClass
from racktwin.serving.trace import Trace, join, limited
from racktwin.serving.traffic import Traffic
from racktwin.serving.workload import Workload

MOST = 1 << 17  # requests of a trace that are kept
FEWEST = 16  # and of fewer nobody can tell what load holds
BLOCK = 16  # tokens of a prefix block
NAMES = {"poisson": "Poisson"}
TIMELESS = ("offline", "closed")
POISSON = "Poisson arrivals"


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of a kind: made up from a workload, or those of a trace, at a rate to choose.

    name: of the kind, '' for lengths that were given. arrivals: their law in words. lasting: s of
    a session; a run begins with none, so it takes that long until turns of all ages come.
    """

    name: str
    arrivals: str
    traffic: Traffic
    source: Generated | Trace
    lasting: float = 0.0

    @property
    def classes(self) -> tuple[SloClass, ...]:
        """Classes with limits of their own."""
        return self.source.slo_classes if isinstance(self.source, Generated) else ()

    def stream(self, rate: float, requests: int, seed: int) -> Iterator[Trace]:
        """`requests` requests at a mean of `rate` requests/s; a trace may have fewer.

        The same seed gives the same requests at every rate, closer together or farther apart.
        """
        if isinstance(self.source, Generated):
            return self.source.generate(requests, seed=seed, rate=rate)
        return limited(iter([self.source.scaled(rate / self.source.rate)]), requests)


def fixed(traffic: Traffic) -> Demand:
    """Requests that all have the mean lengths of `traffic`; its prefix hits open all prompts."""
    input, output = Lengths(mean=traffic.input), Lengths(mean=traffic.output)
    shared = int(traffic.input * traffic.prefix_hit) if traffic.prefix_hit else 0
    made = Workload(
        title="fixed lengths",
        classes=(Class(input=input, output=output),),
        prompt=shared,
        block_size=BLOCK if shared else 0,
    )
    return Demand(name="", arrivals=POISSON, traffic=traffic, source=made)


def named(name: str) -> Demand:
    """The requests of a workload of the catalog, of a workload's YAML file, or of a trace."""
    if mix.is_traffic(name):
        return _of_workload(mix.load(name))
    from racktwin.serving import traces  # readers of every format: only for a file

    return _of_trace(join(limited(traces.read(name), MOST)))


def _of_workload(found: Generated) -> Demand:
    """Its arrivals at one rate, without a profile over the day; Poisson if they have no times."""
    law, timeless = found.arrivals.law, found.arrivals.law in TIMELESS
    words = POISSON if timeless else f"its {NAMES.get(law, law)} arrivals"
    if isinstance(found, mix.Mix):
        words = "each class by its own law at one rate"
    elif found.arrivals.profile:
        words += " at one rate, not its profile of a day"
    steady = Arrivals() if timeless else msgspec.structs.replace(found.arrivals, profile=())
    source = found.steady(steady)
    sample = source.trace(SAMPLE)
    return Demand(
        name=found.name or found.title,
        arrivals=words,
        traffic=sample.traffic(),
        source=source,
        lasting=_lasting(sample),
    )


def _lasting(sample: Trace) -> float:
    """Mean s from the first request of a session to its last, each request counted once."""
    if not len(sample) or (sample.session < 0).all():
        return 0.0
    _, which, turns = np.unique(sample.session, return_inverse=True, return_counts=True)
    begin, end = np.full(len(turns), np.inf), np.zeros(len(turns))
    np.minimum.at(begin, which, sample.arrival)
    np.maximum.at(end, which, sample.arrival)
    return float(np.average(end - begin, weights=turns))


def _of_trace(found: Trace) -> Demand:
    if len(found) < FEWEST:
        text = f"holds {len(found)} usable requests; a load needs {FEWEST} or more"
        raise BadInput([Finding("trace", text)], found.name)
    law = "its arrivals"
    if not 0 < found.rate < np.inf:
        law = POISSON
        gaps = np.random.default_rng(0).standard_exponential(len(found))
        found = found.having(arrival=np.cumsum(gaps))
    return Demand(name=found.name, arrivals=law, traffic=found.traffic(), source=found)


def asked(
    name: str | None,
    input: float | None,
    output: float | None,
    hit: float | None,
    findings: list[Finding],
) -> Demand | None:
    """The requests of `--workload`, or of `--input` and `--output` tokens; faults to `findings`.

    hit: share of input tokens to be found in the cache, 0..1; None is a workload's own.
    """
    if name is None:
        if input is None and output is None:
            findings.append(Finding("--input", "give --input and --output, or --workload"))
        elif input is None or output is None:
            missing = "--input" if input is None else "--output"
            findings.append(Finding(missing, "is missing; --input and --output go together"))
        else:
            return fixed(Traffic(input=input, output=output, prefix_hit=hit or 0.0))
        return None
    if input is not None or output is not None:
        text = "brings its own lengths; give it or --input and --output"
        findings.append(Finding("--workload", text))
    try:
        found = named(name)
    except BadInput as fault:
        file = "" if fault.source == "catalog" else f"{fault.source}: "
        for each in fault.findings:
            text = f"{file}{each}" if file else each.message
            findings.append(Finding("--workload", text))
        return None
    if hit is None:
        return found
    traffic = msgspec.structs.replace(found.traffic, prefix_hit=hit)
    return msgspec.structs.replace(found, traffic=traffic)

"""What a benchmark's clients would measure: the load that published figures were made under."""

from __future__ import annotations

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.estimate import Estimate
from racktwin.evidence.measurement import Client, Measurement
from racktwin.evidence.prediction import predict
from racktwin.planning.choice import errors
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

CLIENT = Client()


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """Means over all requests of clients that start at once, of one copy.

    requests: of each client, the lengths of all alike.
    """

    requests: int
    ttft: Estimate
    tpot: Estimate
    output_rate: Estimate


def benchmark(served: Served, traffic: Traffic, concurrency: float) -> Benchmark | None:
    """Clients, `concurrency` of them on one copy; None where they are too many to follow."""
    found = predict(_row(served.deployment, traffic, concurrency), served)
    if not found.followed:
        return None
    ttft, tpot, rate = errors(served.deployment)
    return Benchmark(
        requests=CLIENT.waves,
        ttft=ttft.of(found.ttft, "s"),
        tpot=tpot.of(found.tpot, "s"),
        output_rate=rate.of(found.output_rate / served.deployment.gpus, "output tokens/s/GPU"),
    )


def _row(deployment: Deployment, traffic: Traffic, concurrency: float) -> Measurement:
    """The deployment as a table of measurements would have it, nothing measured."""
    return Measurement(
        id="",
        source="",
        line=0,
        system="",
        cluster=deployment.cluster.name,
        model=deployment.model.name,
        precision=deployment.precision.name,
        kv=deployment.precision.kv,
        engine=deployment.engine.name,
        traffic=traffic,
        concurrency=concurrency,
        client=CLIENT,
        serve=deployment.serve,
        prefill=deployment.prefill,
        decode=deployment.decode,
    )

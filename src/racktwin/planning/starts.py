"""What the start of replicas rests on, in words."""

from __future__ import annotations

from collections.abc import Iterator

from racktwin.engine.convention import of_epoch
from racktwin.serving.scheduling import start_up
from racktwin.serving.simulation import Order
from racktwin.serving.steady import Served
from racktwin.units import Seconds


def start_ups(served: Served, order: Order) -> Iterator[str]:
    """What times rest on that nobody gave."""
    deployment, outages = served.deployment, order.outages
    for role, pool in deployment.pools.items():
        drained = outages and any(each.drain and each.role == role for each in outages.planned)
        if drained or (pool.autoscale and pool.autoscale.start_up is None):
            rule, name = of_epoch(deployment.engine), deployment.engine.engine
            yield (
                f"unless a time is given, a {role} replica starts in "
                f"{Seconds(start_up(served, role))}: {rule.start}, and its weights at "
                f"{rule.loading} a GPU (catalog/engines/{name}.yaml, derived or assumed)"
            )

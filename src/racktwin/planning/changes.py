"""Replicas that come and go in a replay, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from racktwin.units import Seconds

if TYPE_CHECKING:
    from racktwin.planning.replay import Replay


def changes(found: Replay, role: str) -> Iterator[str]:
    """What happened to the replicas of a pool, and what that cost; nothing where they stay."""
    use, outages = found.outcome.pools[role], found.order.outages
    if not found.outcome.changes:
        return
    parts = [f"{use.up:,.4g} of {use.replicas:,} take requests on average"]
    counts = {"failure": use.failures, "drain": use.drains}
    parts += [f"{count:,} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
    scale = found.deployment.pools[role].autoscale
    if scale is not None:
        parts += [f"{use.starts:,} started, {use.stops:,} let go"]
    yield ", ".join(parts)
    if scale is not None:
        yield f"autoscale {scale.title}"
    if use.interrupted and outages is not None:
        again = "went on" if outages.recovery.migrate else "began again"
        of = "request" if use.interrupted == 1 else "requests"
        known = Seconds(outages.recovery.detection)
        yield (
            f"{use.interrupted:,} {of} on failed replicas {again} {known} later; "
            f"{use.lost_tokens:,} tokens were lost"
        )


def cost(found: Replay) -> str:
    """GPU-hours of the run, and what they cost."""
    outcome, price = found.outcome, found.deployment.cluster.price
    return f"{outcome.gpu_hours:,.4g} GPU-hours, ${outcome.cost:,.4g} at {price}"

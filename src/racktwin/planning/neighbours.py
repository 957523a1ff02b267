"""Neighbours: several deployments that share a cluster, each with its own requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from racktwin.engine.deployment import Deployment
from racktwin.finding import BadInput, Finding
from racktwin.hardware import Cluster
from racktwin.planning.objective import idle_watts
from racktwin.planning.packing import copies
from racktwin.planning.replay import Ready, Replay, ready
from racktwin.planning.stream_wish import Wish
from racktwin.serving.simulation import Rows, Watch

APART = (
    "each deployment is simulated by itself: they share GPUs, racks and power, "
    "not links; what one sends does not slow another"
)
Subject = Deployment | str | Path


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Deployments of one cluster with what each came to; names: of their files, each once.

    Rates are sums of what each does over its own span that counts.
    """

    names: tuple[str, ...]
    replays: tuple[Replay, ...]

    @property
    def cluster(self) -> Cluster:
        """The cluster they share."""
        return self.replays[0].deployment.cluster

    @property
    def gpus(self) -> int:
        """GPUs of all copies of all deployments."""
        return sum(each.outcome.gpus for each in self.replays)

    @property
    def busy(self) -> float:
        """Share of the time a GPU of theirs is in a step, 0..1."""
        pools = [use for each in self.replays for use in each.outcome.pools.values()]
        return sum(use.busy * use.gpus for use in pools) / self.gpus

    @property
    def watts(self) -> float:
        """IT power of their GPUs, W, their shares of the racks included."""
        return sum(each.watts * each.outcome.powered for each in self.replays)

    @property
    def idle_watts(self) -> float:
        """IT power of the GPUs that nobody has, W, their shares of the racks included."""
        left = self.cluster.gpus - self.gpus
        return left * (self.cluster.chip.idle_power + idle_watts(self.cluster))

    def total(self, name: str) -> float:
        """Sum of a rate of `outcome.Outcome`, requests/s or tokens/s."""
        return float(sum(getattr(each.outcome, name) for each in self.replays))


def together(
    subjects: Sequence[Subject],
    wishes: Sequence[Wish],
    *,
    engine: str | None = None,
    rows: Rows | None = None,
    watch: Watch | None = None,
) -> Neighbours:
    """Check that all fit side by side, and run one after the other; BadInput with every finding.

    Rows have the column `deployment`, and `class` whether there are any or not.
    """
    found: list[Finding] = []
    names = _names(subjects)
    made: list[Ready] = []
    for name, subject, wish in zip(names, subjects, wishes, strict=True):
        try:
            made.append(ready(subject, wish, engine))
        except BadInput as fault:
            found += [Finding(name, str(each)) for each in fault.findings]
    found += _misfits(names, made) if not found else []
    if found:
        raise BadInput(found, "simulate")
    replays = []
    for name, each in zip(names, made, strict=True):
        take = None if rows is None else _named(rows, name)
        replays.append(each.run(rows=take, watch=watch))
        if replays[-1].outcome.stopped:
            break
    return Neighbours(names=tuple(names[: len(replays)]), replays=tuple(replays))


def _names(subjects: Sequence[Subject]) -> list[str]:
    """A name for each: of its file, numbered where several have the same."""
    plain = [
        f"deployment {at}" if isinstance(each, Deployment) else Path(each).stem
        for at, each in enumerate(subjects, 1)
    ]
    often = Counter(plain)
    return [f"{name} ({at})" if often[name] > 1 else name for at, name in enumerate(plain, 1)]


def _misfits(names: Sequence[str], made: Sequence[Ready]) -> list[Finding]:
    """Why they do not stand side by side."""
    cluster = made[0].deployment.cluster
    found = [
        Finding(name, f"is on {_words(each.deployment.cluster)}, {names[0]} on {_words(cluster)}")
        for name, each in zip(names, made, strict=True)
        if each.deployment.cluster != cluster
    ]
    if found:
        return found
    sizes: Counter[int] = Counter()
    for each in made:
        for pool in each.deployment.pools.values():
            sizes[pool.layout.gpus] += pool.most * each.deployment.copies
    taken = [each.deployment.most_gpus * each.deployment.copies for each in made]
    if sum(taken) > cluster.gpus:
        parts = ", ".join(f"{name} {gpus:,}" for name, gpus in zip(names, taken, strict=True))
        over = sum(taken) - cluster.gpus
        text = f"{parts}: together {sum(taken):,} GPUs, {over:,} more than the {cluster.gpus:,} of"
        return [Finding("copies", f"{text} {cluster.name}")]
    if not copies(sizes, cluster, cluster.gpus):
        text = (
            f"{sum(taken):,} GPUs would do, but their replicas do not fit whole into NVLink "
            f"domains of {cluster.gpus_per_domain}"
        )
        return [Finding("copies", text)]
    return []


def _words(cluster: Cluster) -> str:
    return f"{cluster.name} of {cluster.gpus:,} GPUs"


def _named(rows: Rows, name: str) -> Rows:
    def add(told: dict[str, np.ndarray]) -> None:
        count = len(told["request"])
        none = np.full(count, "")
        rows({"deployment": np.full(count, name), "class": none} | told)

    return add

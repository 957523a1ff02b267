"""What is wrong with a question about a collective as it was typed, found before it is answered."""

from __future__ import annotations

from collections.abc import Iterator

from racktwin import hardware
from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware import Cluster
from racktwin.network import dtype
from racktwin.network.algorithm import ALL
from racktwin.network.collective_wish import Wish
from racktwin.network.fault import Fault, read_faults
from racktwin.network.routing import ROUTINGS
from racktwin.network.topology import Topology

OF_EXCHANGES = ("model", "tokens", "payload", "framework")
OF_COLLECTIVES = ("bytes", "algorithm", "sharp", "dtype")


def located(name: str) -> tuple[Cluster | None, list[Finding]]:
    """The cluster of that name or file, else why there is none."""
    try:
        return hardware.cluster(name), []
    except BadInput as bad:
        return None, [_on(each, bad.source) for each in bad.findings]


def _on(finding: Finding, source: str) -> Finding:
    """A finding about the cluster beside those about flags."""
    if finding.line is None:
        return Finding("--on", finding.message)
    return Finding("--on", f"{source} line {finding.line}, {finding.key}: {finding.message}")


def strangers(wish: Wish, names: tuple[str, ...], operation: str) -> Iterator[Finding]:
    """Flags that say nothing about this operation."""
    shown = operation.replace("_", "-")
    for name in names:
        if getattr(wish, name) is not None:
            yield Finding(f"--{name}", f"is not for {shown}")


def words(wish: Wish) -> Iterator[Finding]:
    """Words of collectives that are not known, whatever the cluster."""
    if wish.sharp not in (None, "on", "off"):
        yield Finding("--sharp", f"expected on or off, found {str(wish.sharp)[:40]!r}")
    if wish.algorithm and wish.algorithm.replace("-", "_") not in ALL:
        known = [name.replace("_", "-") for name in ALL]
        yield unknown("--algorithm", wish.algorithm[:40], known)
    if wish.dtype is not None and dtype.named(wish.dtype) is None:
        yield unknown("--dtype", wish.dtype[:40], dtype.KNOWN)


def routing(wish: Wish) -> Iterator[Finding]:
    """A routing that is not known."""
    if wish.routing not in ROUTINGS:
        yield unknown("--routing", wish.routing[:40], ROUTINGS)


def seats(wish: Wish, where: Cluster | None, logged: int = 0) -> Iterator[Finding]:
    """Whether the cluster has room for the ranks; logged: ranks of a log, 0 for none."""
    if wish.stride < 1 or (where is not None and wish.stride > where.gpus):
        most = f"1 to {where.gpus:,}" if where is not None else "1 or more"
        yield Finding("--stride", f"expected {most}, found {wish.stride:,}")
        return
    ranks = logged if wish.gpus is None else wish.gpus
    if wish.gpus is None and not logged:
        return
    key = "--compare" if wish.gpus is None else "--gpus"
    if ranks < 2:
        yield Finding(key, f"a collective needs 2 GPUs or more, found {ranks:,}")
    elif where is not None and ranks > room(wish, where):
        apart = f", {room(wish, where):,} of them {wish.stride:,} apart" if wish.stride > 1 else ""
        yield Finding(key, f"{where.name} has {where.gpus:,} GPUs{apart}, found {ranks:,}")


def room(wish: Wish, where: Cluster) -> int:
    """Ranks that fit, each on every n-th GPU."""
    return -(-where.gpus // max(wish.stride, 1))


def broken(wish: Wish, where: Cluster) -> tuple[tuple[Fault, ...], list[Finding]]:
    """The faults of --fail, and those that name nothing on this cluster."""
    try:
        return read_faults(wish.fail or "", Topology(where)), []
    except BadInput as bad:
        return (), list(bad.findings)

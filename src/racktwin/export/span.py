"""How the replicas of a pool sit on hosts."""

from __future__ import annotations

import msgspec


class Span(msgspec.Struct, frozen=True):
    """One replica on the hosts of a cluster.

    hosts: hosts of one replica; gpus: its GPUs on each of them.
    share: replicas that fit on one host (1 when a replica needs several hosts).
    """

    hosts: int
    gpus: int
    share: int

    def hosts_of(self, replicas: int) -> int:
        """Hosts that `replicas` replicas take."""
        return -(-replicas // self.share) * self.hosts

    def slot(self, replica: int) -> int:
        """Which of the replicas of its host number `replica` is, counted from 0."""
        return replica % self.share


def span(gpus: int, gpus_per_host: int) -> Span:
    """A replica of `gpus` GPUs on the fewest hosts that each hold the same part of it."""
    hosts = next(n for n in range(-(-gpus // gpus_per_host), gpus + 1) if gpus % n == 0)
    return Span(hosts, gpus // hosts, gpus_per_host // gpus if hosts == 1 else 1)

"""Where the ranks of a group sit: how many of them share a host and an NVLink domain."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True, order=True):
    """A group of `ranks` GPUs, `per_host` of them on a host, `per_domain` in an NVLink domain.

    Where the group does not divide evenly, the fullest host and domain count.
    """

    ranks: int
    per_host: int
    per_domain: int

    @property
    def hosts(self) -> int:
        """Hosts the group spans."""
        return -(-self.ranks // self.per_host)

    @property
    def domains(self) -> int:
        """NVLink domains the group spans."""
        return -(-self.ranks // self.per_domain)


def place(ranks: int, stride: int, gpus_per_host: int, gpus_per_domain: int) -> Place:
    """Ranks at every `stride`-th GPU, starting at the first of a domain."""

    def share(size: int) -> int:
        return min(ranks, -(-size // stride))

    return Place(ranks, share(gpus_per_host), share(gpus_per_domain))

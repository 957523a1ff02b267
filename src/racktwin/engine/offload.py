"""Offload: memory beyond a GPU's own where the prefixes of finished requests stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from racktwin.finding import Finding
from racktwin.hardware import Cluster
from racktwin.units import Bandwidth, Bytes

Write = Literal["through", "eviction"]


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """Two tiers below the prefix cache of a GPU; a size of 0 is no tier.

    host: bytes of host memory for each GPU; shared: bytes of the pool of all copies together.
    host_bandwidth, shared_bandwidth: B/s to each GPU, None: what the hardware gives.
    write: when host memory takes a prefix in, None: as the engine does by default.
    """

    host: Bytes = Bytes(0)
    shared: Bytes = Bytes(0)
    host_bandwidth: Bandwidth | None = None
    shared_bandwidth: Bandwidth | None = None
    write: Write | None = None

    @property
    def any(self) -> bool:
        """Whether there is a tier."""
        return self.host > 0 or self.shared > 0

    def of_part(self, share: float) -> Offload:
        """That of a part (fraction) of the deployment: its share of the pool."""
        return msgspec.structs.replace(self, shared=Bytes(self.shared * share))


def offload_findings(offload: Offload, cluster: Cluster) -> Iterator[Finding]:
    """Sizes that the hosts of `cluster` do not have."""
    host = cluster.rack.host
    each = host.memory / host.gpus
    if offload.host > each:
        text = f"{offload.host} for each GPU; a host of {cluster.name} has {Bytes(host.memory)} "
        yield Finding("offload.host", f"{text}for {host.gpus}, {Bytes(each)} each")
    spare = cluster.hosts * max(0.0, host.memory - offload.host * host.gpus)
    if offload.shared > spare:
        text = f"{offload.shared} is more than the {Bytes(spare)} of memory the hosts have left"
        disks = f"; their disks hold {Bytes(cluster.hosts * host.disk)}" if host.disk else ""
        yield Finding("offload.shared", f"{text}{disks}; say its shared_bandwidth", note=True)

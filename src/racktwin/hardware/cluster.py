"""A cluster: racks of one kind, the fabric between them, what a GPU hour costs."""

from __future__ import annotations

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.hardware.chip import Chip
from racktwin.hardware.fabric import Fabric
from racktwin.hardware.facility import Facility
from racktwin.hardware.placement import Place, place
from racktwin.hardware.rack import Rack
from racktwin.hardware.site import Site
from racktwin.hardware.tree import Tree
from racktwin.units import Price

MOST_RACKS = 100_000


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """`hosts` hosts in racks of one kind; the last rack may be part full.

    price, list_price: $/GPU/h; price_note says where the price is from.
    facility: its power chain, None where the file names none.
    source: path of the user's file it was read from; '' for one of the catalog.
    """

    name: str
    title: str
    rack: Rack
    hosts: int
    fabric: Fabric
    site: Site
    price: Price
    price_note: str
    list_price: Price | None = None
    facility: Facility | None = None
    source: str = ""

    @property
    def chip(self) -> Chip:
        """The GPU."""
        return self.rack.host.chip

    @property
    def racks(self) -> int:
        """Racks, a part-full one counted."""
        return -(-self.hosts // self.rack.hosts)

    @property
    def gpus(self) -> int:
        """GPUs in the cluster."""
        return self.hosts * self.rack.host.gpus

    @property
    def cpus(self) -> int:
        """Host CPUs in the cluster."""
        return self.hosts * self.rack.host.cpus

    @property
    def gpus_per_host(self) -> int:
        """GPUs of one host (VM)."""
        return self.rack.host.gpus

    @property
    def gpus_per_rack(self) -> int:
        """GPUs of a full rack."""
        return self.rack.gpus

    @property
    def gpus_per_domain(self) -> int:
        """GPUs of a full NVLink domain."""
        return self.rack.domain

    @property
    def nic(self) -> float:
        """B/s each way between one GPU and the fabric."""
        return self.rack.host.nic_per_gpu

    @property
    def nvlink(self) -> float:
        """B/s each way between one GPU and its NVLink domain."""
        return float(self.chip.nvlink)

    @property
    def rack_power(self) -> float:
        """W of one full rack at its limit."""
        return self.rack.power()

    @property
    def ends(self) -> int:
        """Host ports on the fabric."""
        return self.hosts * self.rack.host.nics

    @property
    def tree(self) -> Tree:
        """One of the equal networks of the fabric."""
        return self.fabric.tree(self.hosts, self.rack.host.nics)

    @property
    def networks(self) -> int:
        """Networks of the fabric that share no switch."""
        return self.fabric.networks(self.rack.host.nics)

    @property
    def fabric_power(self) -> float:
        """W of the fabric's switches and host-side optics (estimate)."""
        return self.fabric.power(self.hosts, self.rack.host.nics)

    @property
    def power(self) -> float:
        """W of IT at its limit, fabric included; storage and management are not."""
        full, rest = divmod(self.hosts, self.rack.hosts)
        racks = full * self.rack.power() + (self.rack.power(rest) if rest else 0.0)
        return racks + self.fabric_power

    @property
    def facility_power(self) -> float:
        """W at the meter: IT x PUE."""
        return self.power * self.site.pue

    @property
    def electricity_cost(self) -> float:
        """Electricity with everything at its limit, $ per hour."""
        return self.facility_power / 1000 * self.site.electricity

    @property
    def rent(self) -> float:
        """Rent of all GPUs, $ per hour."""
        return self.gpus * self.price

    @property
    def fast_memory(self) -> float:
        """HBM (as listed usable) and CPU memory, bytes."""
        return self.hosts * self.rack.host.fast_memory

    def place(self, ranks: int, stride: int = 1) -> Place:
        """How a group of `ranks` GPUs, every `stride`-th one, sits."""
        return place(ranks, stride, self.gpus_per_host, self.gpus_per_domain)

    def with_(self, racks: int | None = None, nodes: int | None = None) -> Cluster:
        """The same cluster with another number of racks or of nodes (hosts)."""
        if racks is None and nodes is None:
            return self
        if racks is not None and nodes is not None:
            raise BadInput([Finding("racks", "give racks or nodes, not both")], self.name)
        key, count = ("racks", racks) if nodes is None else ("nodes", nodes)
        size = 1 if nodes is not None else self.rack.hosts
        most = MOST_RACKS * self.rack.hosts // size
        if type(count) is not int or not 1 <= count <= most:
            message = f"expected a whole number from 1 to {most:,}, found {count!r}"
            raise BadInput([Finding(key, message)], self.name)
        return msgspec.structs.replace(self, hosts=count * size)

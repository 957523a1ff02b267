"""One host: a compute tray or an 8-GPU node, the unit an operating system runs on."""

from __future__ import annotations

import msgspec

from racktwin.catalog.bounds import Count, Number
from racktwin.hardware.chip import Chip, Cpu
from racktwin.hardware.switch import Switch
from racktwin.units import Bitrate, Bytes, Watts


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs, CPUs and NICs of one host.

    nic: B/s of one NIC each way; nic_power, other_power (W): one NIC, everything not listed.
    switch, switches: the NVLink switch ASICs inside, if the NVLink domain is the host.
    vm_memory: bytes a VM of the whole host gets; disk: bytes of local SSD.
    """

    name: str = ""
    title: str
    chip: Chip
    cpu: Cpu
    gpus: Count
    cpus: Count
    nics: Count
    nic: Bitrate
    nic_power: Watts
    other_power: Watts
    switch: Switch | None = None
    switches: Number = 0
    vm_memory: Bytes | None = None
    disk: Bytes | None = None

    @property
    def power(self) -> float:
        """W with every part at its limit."""
        cpu = self.cpu.tdp + self.cpu.memory_power
        parts = self.gpus * self.chip.tdp + self.cpus * cpu + self.nics * self.nic_power
        return parts + self.other_power

    @property
    def nic_per_gpu(self) -> float:
        """B/s each way between one GPU and the cluster fabric."""
        return self.nics * self.nic / self.gpus

    @property
    def memory(self) -> float:
        """CPU memory that software has, bytes: a VM's part of it, else all."""
        return self.cpus * self.cpu.memory if self.vm_memory is None else float(self.vm_memory)

    @property
    def to_gpu(self) -> float:
        """B/s of copies from CPU memory to each GPU at once: the link, or its share of memory."""
        return min(self.cpu.to_gpu, self.cpus * self.cpu.memory_bandwidth / self.gpus)

    @property
    def fast_memory(self) -> float:
        """HBM (as listed usable) and CPU memory, bytes."""
        return self.gpus * self.chip.memory_usable + self.cpus * self.cpu.memory

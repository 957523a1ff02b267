"""One processor: a GPU or a host CPU."""

from __future__ import annotations

from typing import Literal

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.units import Bandwidth, Bytes, Flops, JoulesPerByte, JoulesPerFlop, Watts

Family = Literal["blackwell-ultra", "blackwell", "hopper"]


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU. Peaks are dense; a format missing from `peak` has no tensor cores of its own.

    peak, sparse_peak, other_peak: format ('bf16', 'fp8', 'nvfp4') -> FLOP/s.
    memory_sold, memory_usable, memory_visible: bytes as sold, as vendors list it usable, as an
        engine sees it (nvidia-smi memory.total).
    memory_bandwidth: HBM peak, B/s; nvlink: B/s each way.
    tdp, idle_power: W; joules_per_flop: format -> J/FLOP; joules_per_byte: HBM, J/B.
    power_map: name of the measured watts of kernels, '' where a formula stands in.
    tables: name of the measured kernel tables; sms: streaming multiprocessors; l2: bytes.
    """

    name: str = ""
    title: str
    family: Family
    tables: str
    sms: Count
    l2: Bytes
    peak: dict[str, Flops]
    sparse_peak: dict[str, Flops]
    other_peak: dict[str, Flops]
    memory_sold: Bytes
    memory_usable: Bytes
    memory_visible: Bytes
    memory_bandwidth: Bandwidth
    nvlink: Bandwidth
    tdp: Watts
    idle_power: Watts
    joules_per_byte: JoulesPerByte
    joules_per_flop: dict[str, JoulesPerFlop]
    power_map: str = ""


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """A host CPU with its memory.

    memory: bytes; memory_bandwidth, link (to one GPU, each way), to_gpu (copies to one GPU over
        that link, as measured): B/s; tdp, idle_power, memory_power: W.
    """

    name: str = ""
    title: str
    family: Literal["grace", "x86"]
    cores: Count
    memory: Bytes
    memory_bandwidth: Bandwidth
    link: Bandwidth
    to_gpu: Bandwidth
    tdp: Watts
    memory_power: Watts
    idle_power: Watts = Watts(0.0)

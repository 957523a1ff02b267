"""Published figures beside the tables, against the finished model."""

from __future__ import annotations

from typing import NamedTuple

from racktwin import hardware, network
from racktwin.hardware import Place
from racktwin.network import fabric

GIB = 2.0**30


class Check(NamedTuple):
    """A figure, what was printed and what the model says, in one unit; what it has set, if any."""

    what: str
    source: str
    unit: str
    printed: float
    model: float
    sets: str = "nothing"


def section() -> str:
    """A Markdown table of the checks."""
    rows = ["| figure | printed | model | off | sets | source |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {c.what} | {c.printed:g} {c.unit} | {c.model:.4g} {c.unit} | "
        f"{c.model / c.printed - 1:+.0%} | {c.sets} | {c.source} |"
        for c in [*_inside(), *_between(), *_one_sided(), *_exchanges()]
    ]
    note = "Figures outside the tables; *sets* names the constant that was taken from one."
    return "\n".join(["## Published figures", "", note, "", *rows, ""])


def _bus(cluster_name: str, size: float, ranks: int, domain: int) -> float:
    """All-reduce bus bandwidth, GB/s."""
    cluster = hardware.cluster(cluster_name)
    place = Place(ranks, min(cluster.gpus_per_host, ranks), domain)
    time = float(network.all_reduce(size, place, cluster).seconds)
    return 2 * (ranks - 1) / ranks * size / time / 1e9


def _inside() -> list[Check]:
    gb300, gb200, h100 = "azure-nd-gb300-v6", "azure-nd-gb200-v6", "azure-nd-h100-v5"
    rows = [
        ("72 x GB300, 16 GiB", "az_sku_baseline", 937, (gb300, 16 * GIB, 72, 72)),
        ("4 x GB200, 8 GiB", "az_bench_gb200", 679.6, (gb200, 8 * GIB, 4, 4)),
        ("4 x GB200, 1 MiB", "az_bench_gb200", 80.5, (gb200, 2.0**20, 4, 4)),
        ("8 x GB200, two trays, 8 GiB", "lixueduan.com", 811, (gb200, 8 * GIB, 8, 8)),
        ("8 x H100, 8 GiB", "az_bench_h100", 478.9, (h100, 8 * GIB, 8, 8)),
        ("8 x H200, 8 GiB", "az_bench_h200", 480, ("azure-nd-h200-v5", 8 * GIB, 8, 8)),
    ]
    rows += [
        (f"{n} x H100, NVLS, 4 GiB", "NVIDIA/nccl issue 1455", bus, (h100, 4 * GIB, n, n))
        for n, bus in ((5, 420), (6, 440), (7, 460), (8, 480))
    ]
    return [Check(f"all-reduce, {w}", s, "GB/s", bus, _bus(*run)) for w, s, bus, run in rows]


def _between() -> list[Check]:
    rows = [("1 node", 430, 8), ("2 nodes", 430, 16), ("4 nodes", 320, 32)]
    found = []
    for what, bus, ranks in rows:
        model = _bus("azure-nd-h100-v5", 8 * GIB, ranks, 8)
        sets = "overlap" if ranks > 8 else "nothing"
        name = f"all-reduce, {what} of 8 H100, 8 GiB"
        found.append(Check(name, "NVIDIA/nccl issue 1221", "GB/s", bus, model, sets))
    model = _bus("azure-nd-gb300-v6", 16 * GIB, 32, 4)
    name = "all-reduce, 8 GB300 trays over NICs, 16 GiB"
    return [*found, Check(name, "az_sku_baseline", "GB/s", 200, model, "nic_efficiency")]


def _one_sided() -> list[Check]:
    """Dispatch of 2,048 tokens to 8 ranks, each token to all of them; fp8 was in no table."""
    constants = fabric.experts().libraries["nvlink_one_sided"].phases["gb200"]["dispatch"]["nvfp4"]
    source = "TensorRT-LLM tech blog 18"
    found = []
    for payload, value, time in (("nvfp4", 0.5625, 101.7), ("mxfp8", 1.03125, 172.2)):
        model = float(constants.seconds(2048, 7.0, 7168 * value, 8, 256)) * 1e6
        found.append(Check(f"one-sided dispatch, EP8, {payload}", source, "us", time, model))
    return found


def _exchanges() -> list[Check]:
    printed = {16: (118, 195), 32: (155, 273), 64: (173, 314)}
    found = []
    for ranks, (out, back) in printed.items():
        for run, size, time in ((network.dispatch, 1 + 4 / 128, out), (network.combine, 2.0, back)):
            price = run(
                128,
                hidden=7168,
                bytes_per_value=size,
                top_k=8,
                experts=256,
                place=Place(ranks, 8, 8),
                cluster=hardware.cluster("azure-nd-h100-v5"),
                framework="sglang",
                mode="low_latency",
            )
            name = f"DeepEP low-latency {run.__name__}, EP{ranks}, H800 as H100"
            model = float(price.seconds) * 1e6
            source = "deepseek-ai/DeepEP docs/legacy.md"
            found.append(Check(name, source, "us", time, model, "exchange_start"))
    return found

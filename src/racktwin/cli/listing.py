"""The list of everything in the catalog."""

from __future__ import annotations

from typing import Any

from rich.columns import Columns
from rich.console import RenderableType
from rich.text import Text

from racktwin import catalog, hardware
from racktwin.cli.console import table
from racktwin.units import Bitrate, Watts

GPUS = ("blackwell-ultra", "blackwell", "hopper")


def listing() -> tuple[dict[str, Any], list[RenderableType]]:
    """The JSON answer and the screen."""
    chips = sorted((hardware.chip(name) for name in _gpus()), key=_newest)
    clusters = [hardware.cluster(name) for name in catalog.names("clusters")]
    clusters.sort(key=lambda cluster: _newest(cluster.chip))
    racks = [hardware.rack(name) for name in catalog.names("racks")]
    racks.sort(key=lambda rack: _newest(rack.host.chip))
    models, engines = catalog.names("models"), catalog.names("epochs")
    answer: dict[str, Any] = {
        "kind": "list",
        "clusters": [
            {"name": c.name, "title": c.title, "racks": c.racks, "gpus": c.gpus,
             "chip": c.chip.name, "power": c.power, "price": c.price}
            for c in clusters
        ],
        "racks": [{"name": r.name, "title": r.title, "gpus": r.gpus} for r in racks],
        "chips": [{"name": c.name, "title": c.title, "family": c.family} for c in chips],
        "hosts": catalog.names("hosts"),
        "switches": catalog.names("switches"),
        "models": models,
        "engines": engines,
    }  # fmt: skip
    screen: list[RenderableType] = [_clusters(clusters), "", _racks(racks), "", _chips(chips)]
    for title, names in (("models", models), ("engines", engines)):
        screen += ["", Text(title, style="bold"), Columns(names or ["none yet"], padding=(0, 3))]
    screen += ["", Text("racktwin show NAME; --sources tells where each figure is from", "dim")]
    return answer, screen


def _gpus() -> list[str]:
    """Names of the chips that are GPUs."""
    chips = catalog.names("chips")
    return [name for name in chips if catalog.load("chips", name).data["family"] in GPUS]


def _newest(chip: hardware.Chip) -> tuple[int, float]:
    """Sorts the newest family first, in it the fastest memory-rich chip."""
    return GPUS.index(chip.family), -chip.peak["bf16"] * chip.memory_bandwidth


def _clusters(clusters: list[hardware.Cluster]) -> RenderableType:
    right = ("racks", "GPUs", "NVLink", "per GPU", "IT power", "$/GPU/h")
    made = table("", "racks", "GPUs", "chip", "NVLink", "per GPU", "IT power", "$/GPU/h",
                 title="clusters", right=right)  # fmt: skip
    for c in clusters:
        nic, power = Bitrate(c.nic).text(3), Watts(c.power).text(3)
        made.add_row(c.name, f"{c.racks:,}", f"{c.gpus:,}", c.chip.name,
                     f"{c.gpus_per_domain}", nic, power, f"{c.price:.2f}")  # fmt: skip
    return made


def _racks(racks: list[hardware.Rack]) -> RenderableType:
    made = table("", "GPUs", "hosts", "NVLink", "power", "", title="racks",
                 right=("GPUs", "hosts", "NVLink", "power"))  # fmt: skip
    for r in racks:
        made.add_row(r.name, f"{r.gpus}", f"{r.hosts}", f"{r.domain}",
                     Watts(r.power()).text(3), r.title)  # fmt: skip
    return made


def _chips(chips: list[hardware.Chip]) -> RenderableType:
    made = table("", "dense NVFP4", "FP8", "BF16", "memory", "seen", "bandwidth", "NVLink", "TDP",
                 title="chips", right=("dense NVFP4", "FP8", "BF16", "memory", "seen",
                                       "bandwidth", "NVLink", "TDP"))  # fmt: skip
    for c in chips:
        peaks = [str(c.peak[name]) if name in c.peak else "-" for name in ("nvfp4", "fp8", "bf16")]
        made.add_row(c.name, *peaks, str(c.memory_sold), c.memory_visible.text(3),
                     str(c.memory_bandwidth), str(c.nvlink), str(c.tdp))  # fmt: skip
    return made

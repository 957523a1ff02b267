"""The lists of the catalog: everything, or one kind."""

from __future__ import annotations

from typing import Any

from rich.columns import Columns
from rich.console import RenderableType
from rich.text import Text

from racktwin import catalog, hardware
from racktwin.cli.console import table
from racktwin.units import Bitrate, Watts

Section = tuple[list[dict[str, Any]], RenderableType]
NEWEST = ("blackwell-ultra", "blackwell", "hopper")
HINT = "racktwin show NAME for one of them; --sources tells where each figure is from"


def listing(kind: str = "") -> tuple[dict[str, Any], list[RenderableType]]:
    """The JSON answer and the screen; `kind` limits both to 'clusters', 'models' and so on."""
    sections = {kind: DETAILED[kind]} if kind else LISTS
    answer: dict[str, Any] = {"kind": "list"}
    screen: list[RenderableType] = []
    for name, section in sections.items():
        answer[name], shown = section()
        screen += [shown, ""]
    return answer, [*screen, Text(HINT, "dim")]


def clusters() -> Section:
    """Clusters, the newest chip first."""
    found = [hardware.cluster(name) for name in catalog.names("clusters")]
    found.sort(key=lambda cluster: _age(cluster.chip))
    columns = ("racks", "GPUs", "chip", "NVLink", "per GPU", "IT power", "$/GPU/h")
    made = table("", *columns, title="clusters", right=tuple({*columns} - {"chip"}))
    for c in found:
        nic, power = Bitrate(c.nic).text(3), Watts(c.power).text(3)
        size = (f"{c.racks:,}", f"{c.gpus:,}", c.chip.name, f"{c.gpus_per_domain}")
        made.add_row(c.name, *size, nic, power, f"{c.price:.2f}")
    answer = [
        {"name": c.name, "title": c.title, "racks": c.racks, "gpus": c.gpus}
        | {"chip": c.chip.name, "power": c.power, "price": c.price}
        for c in found
    ]
    return answer, made


def racks() -> Section:
    """Racks, the newest chip first."""
    found = [hardware.rack(name) for name in catalog.names("racks")]
    found.sort(key=lambda rack: _age(rack.host.chip))
    right = ("GPUs", "hosts", "NVLink", "power")
    made = table("", *right, "", title="racks", right=right)
    for r in found:
        counts = (f"{r.gpus}", f"{r.hosts}", f"{r.domain}")
        made.add_row(r.name, *counts, Watts(r.power()).text(3), r.title)
    answer = [{"name": r.name, "title": r.title, "gpus": r.gpus, "power": r.power()} for r in found]
    return answer, made


def chips() -> Section:
    """GPUs, the newest first."""
    entries = [catalog.load("chips", name) for name in catalog.names("chips")]
    found = [hardware.chip(each.name) for each in entries if each.data["family"] in NEWEST]
    found.sort(key=_age)
    right = ("dense NVFP4", "FP8", "BF16", "memory", "seen", "bandwidth", "NVLink", "TDP")
    made = table("", *right, title="chips", right=right)
    for c in found:
        peaks = [
            c.peak[name].text(3) if name in c.peak else "-" for name in ("nvfp4", "fp8", "bf16")
        ]
        memory = (str(c.memory_sold), c.memory_visible.text(3), str(c.memory_bandwidth))
        made.add_row(c.name, *peaks, *memory, str(c.nvlink), str(c.tdp))
    return [{"name": c.name, "title": c.title, "family": c.family} for c in found], made


def models() -> Section:
    """Models with their size, by name."""
    from racktwin import models

    found = [models.model(name) for name in catalog.names("models")]
    made = table("", "billions", "active", "context", "published", title="models",
                 right=("billions", "active", "context"))  # fmt: skip
    answer = []
    for m in found:
        counts = models.parameters(m.architecture)
        total, active = (f"{count / 1e9:,.1f}" for count in (counts.total, counts.active))
        made.add_row(m.name, total, active, f"{m.architecture.context:,}", m.precision.name)
        answer.append({"name": m.name, "title": m.title, "total": counts.total,
                       "active": counts.active, "context": m.architecture.context})  # fmt: skip
    return answer, made


def workloads() -> Section:
    """Workloads with how their requests come and how many the sample had, by name."""
    from racktwin.cli.workload_card import arrivals
    from racktwin.serving.workload import workload

    found = [workload(name) for name in catalog.names("workloads")]
    made = table("", "requests", "arrivals", "fit: KS in, out", title="workloads",
                 right=("requests",))  # fmt: skip
    answer = []
    for w in found:
        fit = [w.fit.get(f"{name}_ks") for name in ("input", "output")]
        shown = ", ".join("-" if value is None else f"{value:.3f}" for value in fit)
        made.add_row(w.name, f"{w.requests:,}", arrivals(w), shown)
        answer.append({"name": w.name, "title": w.title, "requests": w.requests, "fit": w.fit})
    return answer, made


def names(title: str, kind: str) -> Section:
    """Names only, in columns."""
    found, own = catalog.names(kind), catalog.own(kind)
    made = table("", title=title)
    made.add_row(Columns(found or ["none yet"], padding=(0, 3)))
    if own:
        made.add_row(Columns(["yours:", *own], padding=(0, 3)))
    return [{"name": name} for name in (*found, *own)], made


def _age(chip: hardware.Chip) -> tuple[int, float]:
    """Sorts the newest family first, in it the fastest chip."""
    return NEWEST.index(chip.family), -chip.peak["bf16"] * chip.memory_bandwidth


LISTS = {
    "clusters": clusters,
    "racks": racks,
    "chips": chips,
    "hosts": lambda: names("hosts", "hosts"),
    "switches": lambda: names("switches", "switches"),
    "models": lambda: names("models", "models"),
    "engines": lambda: names("engines", "epochs"),
    "workloads": lambda: names("workloads", "workloads"),
}
DETAILED = {**LISTS, "models": models, "workloads": workloads}

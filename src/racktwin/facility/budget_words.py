"""A power budget in words, the same on the screen and in the report."""

from __future__ import annotations

from collections.abc import Iterator

from racktwin.facility.budget import Budget
from racktwin.units import Watts

LOADS = {0.0: "idle", 1.0: "at full load"}


def title(found: Budget) -> str:
    """What was asked."""
    cluster = found.cluster
    load = LOADS.get(found.load, f"{found.load:.0%} of the way from idle to full load")
    size = f"{cluster.racks:,} racks, {cluster.gpus:,} GPUs {load}"
    top = float(cluster.chip.tdp)
    capped = found.each.gpu < top and found.load == 1
    cap = f", GPUs capped at {Watts(found.each.gpu).text(4)}" if capped else ""
    return size + cap


def verdict(found: Budget) -> Iterator[tuple[str, str]]:
    """What follows from the limits: a head and a sentence each."""
    first = found.binding
    when = f" when one of {found.facility.feeds} feeds is lost" if found.feed_lost else ""
    share = f"{first.name}, {first.use:.1%} of {Watts(first.limit).text(3)}{when}"
    if first.use > 1:
        yield "overloaded", share
        cap = found.fitting_cap
        fit = "no cap on GPUs helps" if not cap else f"GPUs capped at {Watts(cap).text(4)} fit"
        top = Watts(found.cluster.chip.tdp)
        yield "", fit + (f" (of {top})" if cap else "")
    else:
        yield "binds first", share
        yield "growth", f"every load could grow by {found.growth - 1:.1%} until it binds"
    if found.dark:
        yield "dark", f"{found.dark:,} racks have no feed left"
    power = found.power
    lost = power.site - power.house - power.it
    parts = (
        f"IT {Watts(power.it).text(4)}, lost on the way {Watts(lost).text(3)}, "
        f"cooling and house {Watts(power.house).text(3)}"
    )
    pue = found.cluster.site.pue
    said = f"what is left of the cluster file's PUE {pue:g}; `power year` computes its own"
    yield "meter", f"{Watts(power.site).text(4)}: {parts} ({said})"


def grounds(found: Budget) -> Iterator[tuple[str, str]]:
    """What it rests on."""
    cluster, facility = found.cluster, found.facility
    own = cluster.facility is not None
    said = "" if own else " (assumed: the cluster's file names none)"
    yield (
        "chain",
        f"{facility.title}{said}; ratings and losses mostly assumed, see `show --sources`",
    )
    yield "limits", "what a unit may pass on for hours; each feed alone has to carry every rack"
    yield (
        "load",
        "GPUs and CPUs follow it; NICs, optics, switches and fans draw the same throughout",
    )
    yield "not counted", "storage, management network, generators"

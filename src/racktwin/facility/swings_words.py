"""Swings in words and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from racktwin.facility.spectrum import BANDS
from racktwin.facility.swings import Limit, Swings, Variant
from racktwin.units import Seconds, Watts

POINTS = 2_000  # of a series as data


def title(found: Swings) -> str:
    """What was asked."""
    kind, cluster = found.kind, found.cluster
    cap = f", GPUs capped at {Watts(found.cap).text(4)}" if found.cap else ""
    return f"{cluster.racks:,} racks, {cluster.gpus:,} GPUs; {kind.title}{cap}"


def verdict(found: Swings, limit: Limit) -> Iterator[tuple[str, str]]:
    """What follows: a head and a sentence each."""
    plain, last = found.variants[0], found.variants[-1]
    step = Seconds(found.step).text(3)
    slower = f", x{found.slower:.3f} for the cap" if found.slower > 1 else ""
    kind = found.kind
    yield "step", f"{step}{slower}; {kind.working} of it at {kind.high} of TDP, else {kind.low}"
    if last is not plain:
        cut = 1 - last.peak / plain.peak
        way = "lower" if cut >= 0 else "higher"
        yield (
            "smoothing",
            f"{last.name}: peak {abs(cut):.1%} {way}, {last.burnt:.1%} more energy, "
            f"{last.held:.1%} of the work waits for the ramp",
        )
    if limit.stated:
        for each in found.variants:
            broken = limit.broken(each)
            said = f"exceeds {' and '.join(broken)}" if broken else "within the utility's limits"
            yield "limits" if each is plain else "", f"{each.name}: {said}"


def grounds(found: Swings) -> Iterator[tuple[str, str]]:
    """What it rests on."""
    yield "GPUs", "no trace of a GPU is at hand: levels, ramps and floor are assumed or given"
    yield (
        "racks",
        "all but the GPUs draws as at full load throughout; losses follow the power",
    )
    store = float(found.cluster.rack.storage)
    if store:
        gpus = found.cluster.rack.gpus
        yield (
            "storage",
            f"{store / 1e3:.3g} kJ a rack, {store / gpus:.0f} J a GPU",
        )
    yield "meter", "cooling is taken as steady; series at 1 ms, job between two idle ends"


def record(found: Swings, limit: Limit) -> dict[str, Any]:
    """Everything in SI units; of the series every so many ticks."""
    return {
        "cluster": found.cluster.name,
        "racks": found.cluster.racks,
        "gpus": found.cluster.gpus,
        "step_s": found.step,
        "slower": found.slower,
        "gpu_cap": found.cap,
        "limits": {"ramp": limit.ramp, "range": limit.reach, "band": limit.band},
        "variants": [_variant(each, limit) for each in found.variants],
    }


def _variant(each: Variant, limit: Limit) -> dict[str, Any]:
    every = max(1, len(each.site) // POINTS)
    return {
        "name": each.name,
        "rack": {"least": float(each.rack.min()), "peak": float(each.rack.max())},
        "site": {
            "least": float(each.site.min()),
            "mean": float(each.site.mean()),
            "peak": each.peak,
        },
        "rise": each.rise,
        "fall": each.fall,
        "fastest": each.fastest,
        "range": each.reach,
        "bands": [
            {"low_hz": low, "high_hz": high, "rms_watts": value}
            for (low, high), value in zip(BANDS, each.bands, strict=True)
        ],
        "burnt": each.burnt,
        "held": each.held,
        "exceeds": limit.broken(each),
        "tick_s": every * 1e-3,
        "site_watts": each.site[::every].round(0).tolist(),
    }

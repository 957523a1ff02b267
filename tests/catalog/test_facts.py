"""The numbers of the catalog: each has an origin, and agrees with the collected facts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from racktwin import catalog, hardware
from racktwin.catalog import Entry
from racktwin.catalog.document import Node, leaves

KINDS = ("chips", "hosts", "racks", "switches", "clusters", "prices")
ORIGINS = ("datasheet", "measured", "derived", "assumed")
WORDS = ("title", "family", "tables", "name")


def entries() -> list[Entry]:
    return [catalog.load(kind, name) for kind in KINDS for name in catalog.names(kind)]


def own(entry: Entry) -> list[tuple[str, Node]]:
    return [(key, node) for key, node in leaves(entry.node) if key.split(".")[-1] not in WORDS]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_value_has_an_origin(entry: Entry) -> None:
    assert [key for key, node in own(entry) if not node.is_fact] == []
    for fact in entry.facts():
        assert fact.kind in ORIGINS, fact
        assert fact.source or fact.note, fact
        assert fact.note or fact.kind != "assumed", fact
        assert fact.source in ("", *catalog.sources()), fact
        assert fact.source or fact.kind in ("assumed", "derived"), fact


def test_every_source_is_used_and_described() -> None:
    text = (
        " ".join(path.read_text() for path in Path(catalog.__file__).parent.glob("*/*.yaml"))
        + Path(catalog.__file__).with_name("prices.yaml").read_text()
    )
    for name, source in catalog.sources().items():
        assert source.title
        assert source.url.startswith("https://") or not source.url
        assert name in text, f"{name} is cited nowhere"


ENTITIES = {"gb300": "GB300", "gb200": "GB200", "b300": "B300_HGX", "b200": "B200_HGX",
            "h200": "H200_SXM", "h100": "H100_SXM"}  # fmt: skip
METRICS = {
    "fp4": ("peak.nvfp4", 1e12),
    "fp8": ("peak.fp8", 1e12),
    "bf16": ("peak.bf16", 1e12),
    "tf32": ("other_peak.tf32", 1e12),
    "fp32": ("other_peak.fp32", 1e12),
    "fp64": ("other_peak.fp64", 1e12),
    "hbm_raw": ("memory_sold", 1e9),
    "hbm_usable": ("memory_usable", 1e9),
    "hbm_bw": ("memory_bandwidth", 1e12),
    "nvlink_dir": ("nvlink", 1e9),
    "l2": ("l2", 1e6),
    "tdp": ("tdp", 1.0),
}


@pytest.mark.parametrize("name", ENTITIES)
def test_chips_agree_with_the_collected_facts(shared: Path, name: str) -> None:
    with (shared / "facts" / "facts.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["entity"] == ENTITIES[name]]
    chip = hardware.chip(name)
    compared = 0
    for row in rows:
        if row["metric"] not in METRICS:
            continue
        key, scale = METRICS[row["metric"]]
        value: object = chip
        for word in key.split("."):
            value = value[word] if isinstance(value, dict) else getattr(value, word)
        assert value == pytest.approx(float(row["value"]) * scale), key
        fact = catalog.load("chips", name).fact(key)
        assert fact.source == row["source_id"] or row["basis"] == "known", key
        compared += 1
    assert compared >= 8


def test_int8_is_not_offered_on_ultra() -> None:
    assert "int8" not in hardware.chip("gb300").other_peak
    assert "int8" not in hardware.chip("b300").other_peak
    assert hardware.chip("b200").other_peak["int8"] == 4.5e15


def test_default_prices_follow_their_stated_rule() -> None:
    """Geometric middle of the market range; the two unpublished ones scale with rack prices."""
    clusters = [hardware.cluster(name) for name in catalog.names("clusters")]
    price = {cluster.chip.name: cluster.price for cluster in clusters}
    for name, low, high in (("h100", 1.47, 6.98), ("h200", 2.5, 7.0), ("b200", 2.25, 6.03)):
        assert price[name] == pytest.approx((low * high) ** 0.5, abs=0.01)
    assert price["b300"] == pytest.approx(price["b200"] * 3.7 / 3.0, abs=0.01)
    assert price["gb300"] == pytest.approx(price["gb200"] * 3.7 / 3.0, abs=0.01)

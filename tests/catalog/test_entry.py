"""Entries: names, extension of one file by another, and what stands behind each value."""

from __future__ import annotations

from pathlib import Path

import pytest

from racktwin import catalog
from racktwin.finding import BadInput, unknown


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{next(iter(files))}.yaml"


def test_names_are_what_the_issue_asks_for() -> None:
    chips = {"gb300", "gb200", "b300", "b200", "h200", "h100", "grace"}
    assert chips <= set(catalog.names("chips"))
    assert {"gb300-nvl72", "gb200-nvl72"} <= set(catalog.names("racks"))
    assert catalog.names("clusters") == [
        "azure-nd-gb200-v6",
        "azure-nd-gb300-v6",
        "azure-nd-h100-v5",
        "azure-nd-h200-v5",
        "hgx-b200",
        "hgx-b300",
        "hgx-b300-spectrum-x",
    ]
    assert catalog.names("no-such-kind") == []


def test_a_name_means_one_thing() -> None:
    kinds = ("clusters", "racks", "hosts", "chips", "switches", "models", "epochs")
    names = [name for kind in kinds for name in catalog.names(kind)]
    assert len(names) == len(set(names))


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'gb300'"):
        catalog.load("chips", "GB-300")


def test_case_does_not_matter() -> None:
    assert catalog.load("chips", "GB300").name == "gb300"


def test_extension_merges_mappings_and_replaces_values(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        mine="extends: gb300\ntdp: 1.2 kW\npeak: {fp8: 4 PFLOP/s}",
    )
    entry = catalog.load("chips", path)
    assert entry.data["tdp"] == "1.2 kW"
    assert entry.data["peak"] == {"nvfp4": "15 PFLOP/s", "fp8": "4 PFLOP/s", "bf16": "2.5 PFLOP/s"}
    assert "extends" not in entry.data
    assert (entry.fact("tdp").kind, entry.fact("tdp").source) == ("given", "mine.yaml")
    kept = entry.fact("peak.nvfp4")
    assert (kept.kind, kept.source, kept.date) == ("datasheet", "nv_bu_blog", "2025-08")


def test_files_extend_files_and_the_outermost_wins(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        outer="extends: middle.yaml\ntdp: 1 kW",
        middle="extends: gb200\ntdp: 900 W\nsms: 100",
    )
    data = catalog.load("chips", path).data
    assert (data["tdp"], data["sms"], data["memory_sold"]) == ("1 kW", 100, "192 GB")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": "extends: b.yaml", "b": "extends: a.yaml"}, "circle: a.yaml -> b.yaml -> a.yaml"),
        ({"a": "extends: a.yaml"}, "circle: a.yaml -> a.yaml"),
        ({"a": "x: 1\nextends: gb30"}, "line 2   extends: 'gb30' is not known; did you mean"),
        ({"a": "extends: [gb300]"}, "expected a name or a file"),
        ({"a": "extends: gone.yaml"}, "gone.yaml: 1 finding"),
        ({"a": "tdp: {value: 1 kW, surce: x}"}, "did you mean 'source'"),
        ({"a": "tdp: {value: 1 kW, kind: rumour}"}, "rumour"),
    ],
)
def test_bad_extension(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        catalog.load("chips", write(tmp_path, **files))
    assert message in str(caught.value)


def test_a_long_chain_ends(tmp_path: Path) -> None:
    files = {f"f{i}": f"extends: f{i + 1}.yaml" for i in range(40)}
    with pytest.raises(BadInput):
        catalog.load("chips", write(tmp_path, **files))


def test_a_fact_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        catalog.load("chips", "gb300").fact("peak.int4")


def test_a_base_that_links_to_itself_or_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    for base, message in (("loop.yaml", "symbolic links"), ('"a\\0.yaml"', r"holds '.x00'")):
        file = tmp_path / "mine.yaml"
        file.write_text(f"extends: {base}\n")
        with pytest.raises(BadInput, match=message):
            catalog.load("clusters", file)


def test_where_nothing_is_known_that_is_said() -> None:
    assert unknown("level", "storage", []).message == "'storage' is not known; known: none"
    assert unknown("level", "xyz", ["b", "a"]).message == "'xyz' is not known; known: a, b"

"""`racktwin fabric`: what it prints, draws and refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

CLUSTER = "azure-nd-gb300-v6"
TRAFFIC = """
cluster: azure-nd-gb300-v6
racks: 4
jobs:
  training: {pattern: all_to_all, gpus: 0-143:4, bytes: 64 MB}
  kv: {pattern: incast, gpus: 0-71, to: 100-101, bytes: 1 MB, start: 10 us}
"""


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["fabric", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.yaml"
    path.write_text(TRAFFIC)
    return path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["fabric", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_the_reference_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Counts of NVIDIA's table for 4,608 GPUs; half of them send 800 Gb/s each."""
    found = answer(capsys, "show", CLUSTER)
    assert [(each["name"], each["switches"]) for each in found["tiers"]] == [
        ("leaf", 64), ("spine", 36),
    ]  # fmt: skip
    assert found["cables"] == {"host_leaf": 4608, "leaf_spine": 4608, "spine_core": 0}
    assert found["links_per_leaf_and_spine"] == 2
    assert found["bisection"] == pytest.approx(2304 * 1e11)
    assert found["vms"] == 1152
    assert found["nvlink"] == {
        "domains": 64, "gpus": 72, "asics": 18, "trays": 9, "links_per_gpu": 18.0,
        "rate": 9e11, "bisection": pytest.approx(36 * 9e11),
    }  # fmt: skip
    assert found["optics"] == {"hosts": 4608, "switches": (4608 + 2 * 4608) // 2}
    assert found["left"] is None


def test_faults_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "show", CLUSTER, "--fail", "nic:rack3/host2/1,spine:0,asic:rack1/5")
    left = found["left"]
    assert left["cut_off"] == [{"gpu": "rack3/host2/1", "fault": "nic:rack3/host2/1"}]
    assert left["bisection"] / found["bisection"] == pytest.approx(1 - 1 / 36)
    assert left["nvlink_share"] == pytest.approx(17 / 18)


def test_screens_fit(capsys: pytest.CaptureFixture[str], traffic: Path) -> None:
    words = (
        f"show {CLUSTER} --fail leaf:3,plane:leaf7/12/2", "show hgx-b300-spectrum-x",
        "show azure-nd-h100-v5", f"show {CLUSTER} --racks 1400", "show hgx-b200 --nodes 1",
        f"simulate {traffic}", f"simulate {traffic} --routing static --draws 3",
        f"simulate {traffic} --congestion none --fail spine:0",
    )  # fmt: skip
    for each in words:
        assert main(["fabric", *each.split()]) == 0
        out = capsys.readouterr().out
        assert out
        assert max(map(len, out.splitlines())) <= 100, each


def test_documented_keys_are_printed_keys(
    capsys: pytest.CaptureFixture[str], traffic: Path, root: Path
) -> None:
    shown = answer(capsys, "show", CLUSTER, "--fail", "leaf:0")
    assert set(printed(shown)) - {"schema"} == documented(root, "fabric show")
    run = answer(capsys, "simulate", str(traffic), "--routing", "static", "--draws", "2")
    assert set(printed(run)) - {"schema"} == documented(root, "fabric simulate")


def test_drawings_are_well_formed(
    capsys: pytest.CaptureFixture[str], traffic: Path, tmp_path: Path
) -> None:
    drawing, chart = tmp_path / "fabric.svg", tmp_path / "chart.svg"
    for cluster in (CLUSTER, "azure-nd-h100-v5", "hgx-b300-spectrum-x"):
        assert main(["fabric", "show", cluster, "--svg", str(drawing), "--fail", "leaf:7"]) == 0
        text = " ".join(ElementTree.parse(drawing).getroot().itertext())
        assert "leaf switches" in text
        assert "leaf7" in text
    assert main(["fabric", "simulate", str(traffic), "--svg", str(chart)]) == 0
    assert "training" in " ".join(ElementTree.parse(chart).getroot().itertext())
    assert f"wrote {chart}" in capsys.readouterr().out


def test_help_lists_the_second_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric"]) == 0
    assert "simulate" in capsys.readouterr().out
    assert "did you mean 'show'" in refused(capsys, "shwo")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("show azure-nd-gb300", "did you mean 'azure-nd-gb300-v6'"),
        ("show azure-nd-gb300-v6 --fail spine:36,foo:1", "2 findings"),
        ("show azure-nd-gb300-v6 --svg /nowhere/x.svg", "its folder does not exist"),
        ("show azure-nd-gb300-v6 --svg drawing.png", "'drawing.png' ends in .png; expected .svg"),
        ("show azure-nd-gb300-v6 --racks 0", "whole number"),
        ("simulate nowhere.yaml", "cannot be read"),
        ("simulate {traffic} --routing statik", "did you mean 'static'"),
        ("simulate {traffic} --congestion tele", "did you mean 'telemetry'"),
        ("simulate {traffic} --draws 0", "expected 1 to 1,000"),
        ("simulate {traffic} --draws 3 --routing spray", "only static paths are drawn"),
        ("simulate {traffic} --fail leaf:0", r"cut off from the fabric: rack0/host0/0 (leaf:0)"),
    ],
)
def test_bad_input(
    words: str, message: str, capsys: pytest.CaptureFixture[str], traffic: Path
) -> None:
    assert message in refused(capsys, *words.format(traffic=traffic).split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x: {pattern: permutatoin, bytes: 1 MB}", "did you mean 'permutation'"),
        ("x: {pattern: incast, bytes: 1 MB}", "needs receivers"),
        ("x: {pattern: permutation, to: 1, bytes: 1 MB}", "has no receivers of its own"),
        ("x: {pattern: random, bytes: 1 MB}", "jobs.x.flows: is missing: how many"),
        ("x: {pattern: pairs, flows: 3, bytes: 1 MB}", "sets its own"),
        ("x: {pattern: pairs, bytes: 0 MB}", "nothing to send"),
        ("x: {pattern: pairs, bytes: -1 MB}", "out of range"),
        ("x: {pattern: all_reduce, bytes: 100 TB}", "a buffer of 100 TB does not fit"),
        ("x: {pattern: pairs, bytes: .nan}", "jobs.x.bytes"),
        ("x: {pattern: pairs, gpus: 5, bytes: 1 MB}", "name at least two GPUs"),
        ("x: {pattern: pairs, gpus: 0-144, bytes: 1 MB}", "GPU 144 does not exist; there are 0"),
        ("x: {pattern: pairs, gpus: 9-1, bytes: 1 MB}", "expected numbers such as '0-71'"),
        ("x: {pattern: pairs, gpus: [1], bytes: 1 MB}", "expected numbers such as '0-71'"),
        ("x: {pattern: pairs, racks: 2, bytes: 1 MB}", "rack 2 does not exist"),
        ("x: {pattern: pairs, racks: 0, gpus: 1-2, bytes: 1 MB}", "give gpus or racks, not both"),
        ("x: {pattern: pairs, bytes: 1 MB, level: gold}", "'gold' is not known"),
        ("x: {pattern: pairs, bytes: 1 MB, every: 1 ms}", "jobs.x.every: says nothing without"),
        ("x: {pattern: transfer, gpus: 0-7, to: 9-10, bytes: 1 MB}", "found 8 senders and 2"),
        ("x: {pattern: transfer, gpus: 0-3, to: '0,9-11', bytes: 1 MB}", "0 would send to itself"),
        ("x: {pattern: random, bytes: 1 MB, flows: 1000000}", "jobs.x.flows: more than 200,000"),
        ('"a\\e[31m": {pattern: pairs, bytes: 1 MB}', "jobs: a key holds '\\x1b'"),
        ("x: {pattern: pairs, bytes: 1 MB, repeat: 3}", "jobs.x.every: is missing"),
        ("x: {pattern: pairs, bytes: 1 MB, repeat: 900000, every: 1 ms}", "repeat less"),
        ("x: {pattern: random, flows: 1, over: -1 s, bytes: 1 MB}", "out of range"),
        ("x: {pattern: pairs, over: 1 s, bytes: 1 MB}", "start together"),
        ("x: 3", "expected a mapping"),
    ],
)
def test_jobs_that_do_not_fit(
    line: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"cluster: azure-nd-gb300-v6\nracks: 2\njobs:\n  {line}\n")
    said = refused(capsys, "simulate", str(path))
    assert message in said
    assert "line 4" in said


def test_no_jobs_at_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("cluster: azure-nd-gb300-v6\njobs: {}\n")
    assert "there are none" in refused(capsys, "simulate", str(path))
    path.write_text("")
    assert "expected 'key: value' lines" in refused(capsys, "simulate", str(path))


def test_no_more_levels_than_queues(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    levels = ", ".join(f"l{each}: {{}}" for each in range(17))
    path.write_text(f"{TRAFFIC}levels: {{{levels}}}\n")
    assert "17 levels are more than 16" in refused(capsys, "simulate", str(path))


def test_a_cluster_file_lies_beside_the_traffic(
    capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    found = answer(capsys, "simulate", str(root / "examples/fabric/permutation.yaml"))
    assert found["gpus"] == 128


def test_faults_that_touch_nothing_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """GPUs 0 and 100 send; the NIC of GPU 20 is nobody's, and a spine is everybody's."""
    path = tmp_path / "traffic.yaml"
    job = "x: {pattern: transfer, gpus: 0, to: 100, bytes: 64 MB}"
    path.write_text(f"cluster: azure-nd-gb300-v6\nracks: 4\njobs:\n  {job}\n")
    words = ("simulate", str(path), "--fail", "nic:20,spine:0,plane:leaf3/3/2")
    assert answer(capsys, *words)["idle_faults"] == ["nic:20", "plane:leaf3/3/2"]
    assert main(["fabric", *words]) == 0
    assert "touch no link that the jobs use: nic:20, plane:leaf3/3/2" in capsys.readouterr().out


def test_all_is_over_when_the_last_job_is(
    capsys: pytest.CaptureFixture[str], traffic: Path
) -> None:
    found = answer(capsys, "simulate", str(traffic))
    ends = [each["finish_s"] for each in found["jobs"]]
    starts = [each["start_s"] for each in found["jobs"]]
    assert found["seconds"] == pytest.approx(max(ends) - min(starts), rel=1e-12)


def test_nothing_is_broken_by_an_empty_list(
    capsys: pytest.CaptureFixture[str], traffic: Path
) -> None:
    with traffic.open("a") as file:
        file.write("faults: spine:0\n")
    assert answer(capsys, "simulate", str(traffic))["faults"] == ["spine:0"]
    assert answer(capsys, "simulate", str(traffic), "--fail", "")["faults"] == []
    assert answer(capsys, "show", "azure-nd-gb300-v6", "--fail", "")["left"] is None


def test_planes_that_no_nic_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: azure-nd-gb300-v6\nfabric: {planes: 1000000}\n")
    said = refused(capsys, "show", str(path))
    assert "line 2   fabric.planes: 1,000,000 networks cannot share a NIC" in said


def test_a_report_and_its_data(
    capsys: pytest.CaptureFixture[str], traffic: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "answer"
    words = ("simulate", str(traffic), "--routing", "static", "--draws", "2")
    answered = answer(capsys, *words, "--out", str(folder))
    assert json.loads((folder / "fabric-simulate.json").read_text()) == answered
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == page.count("</svg>") > 1
    for job in answered["jobs"]:
        assert f"<td>{job['name']}</td>" in page
        assert f"x{job['slowdown']:.2f}" in page
    assert "2 draws of the hashes" in page
    assert answered["busiest"][0]["link"] in page
    (tmp_path / "file").write_text("")
    assert "file" in refused(capsys, *words, "--out", str(tmp_path / "file"))


def test_one_host_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "show", "azure-nd-gb300-v6", "--nodes", "1"]) == 0
    out = capsys.readouterr().out
    assert "4 GPUs, 1 rack, 1 host (VM)" in out
    assert "1 domain of 4 GPUs over 18 ASICs" in out

"""`racktwin show`, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from racktwin import catalog
from racktwin.cli import main

KINDS = ("clusters", "racks", "hosts", "chips", "switches", "epochs")
NAMES = [name for kind in KINDS for name in catalog.names(kind)]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, err = run(capsys, *words, "--json")
    assert (code, err) == (0, "")
    return dict(json.loads(out))


def test_the_headline_screen(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show", "azure-nd-gb300-v6")
    assert (code, err) == (0, "")
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["GPUs (gb300)"][-6:-3] == ["1", "72", "4,608"]
    assert rows["CPUs (grace)"][2:4] == ["36", "2,304"]
    assert rows["NVFP4 dense"][2:] == ["15", "PFLOP/s", "1.08", "EFLOP/s", "69.1", "EFLOP/s"]
    assert rows["NVFP4 sparse"][2:] == ["20", "PFLOP/s", "1.44", "EFLOP/s", "92.2", "EFLOP/s"]
    assert "37.4 TB" in out
    assert "130 TB/s" in out
    assert "800 Gb/s" in out
    assert "137 kW" in out
    assert "64 leaf and 36 other switches" in out
    assert "not published" in out


@pytest.mark.parametrize("flag", ["", "--sources"])
@pytest.mark.parametrize("name", ["", *NAMES])
def test_screens_fit_and_are_plain(
    capsys: pytest.CaptureFixture[str], name: str, flag: str
) -> None:
    code, out, _ = run(capsys, *[word for word in ("show", name, flag) if word])
    assert code == 0
    for line in out.splitlines():
        assert len(line) <= 100 or line.strip().startswith("http"), line
        assert line == line.rstrip()
        assert "\x1b" not in line


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show")
    listed = answer(capsys, "show")
    assert listed["schema"] == "racktwin/show/1"
    for kind in ("clusters", "racks", "chips"):
        for entry in listed[kind]:
            assert entry["name"] in out
    for key, kind in (("models", "models"), ("engines", "epochs"), ("hosts", "hosts")):
        names = [entry["name"] for entry in listed[key]]
        assert names == catalog.names(kind)
        assert all(name in out for name in names)


def test_one_kind_with_its_details(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "models")
    row = next(line for line in out.splitlines() if line.startswith("deepseek-r1 "))
    assert row.split() == ["deepseek-r1", "671.0", "36.6", "163,840", "fp8_block"]
    listed = answer(capsys, "show", "Clusters")
    assert listed["clusters"][0]["name"] == "azure-nd-gb300-v6"


@pytest.mark.parametrize("name", ["deepseek-r1", "gpt-oss-120b", "qwen3.5-397b", "qwen2.5-vl-72b"])
def test_a_model(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _ = run(capsys, "show", name)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "billion active" in out
    found = answer(capsys, "show", name)
    assert (found["kind"], found["name"]) == ("model", name)
    assert found["model"]["parameters"]["total"] > 1e9


def test_a_workload_says_how_well_it_repeats_its_sample(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "show", "mooncake-conversation")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "gamma of CV 1.49 at 3.04/s" in out
    assert "CV of the gaps: 2.67 generated, 2.85 in the sample" in out
    found = answer(capsys, "show", "mooncake-conversation", "--sources")
    assert (found["kind"], found["workload"]["requests"]) == ("workload", 2500)
    drawn, fit = found["workload"]["tokens"]["output"], found["workload"]["fit"]
    assert drawn["p50"] == pytest.approx(360, rel=0.1)
    told = [f"{fit['output_ks']:.3f}"]
    told += [f"{fit[f'output_{point}']:+.1%}" for point in ("mean", "p50", "p90", "p99")]
    assert any(line.split() == ["output", "tokens", *told] for line in out.splitlines())


def test_workloads_are_listed_with_their_fit(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "workloads")
    rows = {line.split()[0]: line for line in out.splitlines() if line}
    assert set(catalog.names("workloads")) <= set(rows)
    assert rows["azure-conv-2023"].split()[1] == "19,366"
    assert rows["azure-conv-2023"].endswith("0.004, 0.009")
    assert max(map(len, out.splitlines())) <= 100


def test_a_users_workload(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    lengths = "input: {law: uniform, most: 1000, ratio: 80 %}, output: {mean: 50}"
    images = "images: {count: {mean: 2}, tokens: {mean: 500}}"
    law = "arrivals: {law: closed, concurrency: 8}"
    path.write_text(f"title: Mine\n{law}\nclasses: [{{{lengths}, {images}}}]\n")
    _, out, _ = run(capsys, "show", str(path))
    assert "closed loop, 8 in flight" in out
    assert "1,000 tokens of the input on average" in out
    path.write_text("extends: azure-conv-2023\nrequests: 7\n")
    assert answer(capsys, "show", str(path))["workload"]["requests"] == 7


def test_json_of_a_cluster_holds_si_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "show", "azure-nd-gb300-v6", "--nodes", "36")
    assert (found["schema"], found["kind"]) == ("racktwin/show/1", "cluster")
    figures = {figure["key"]: figure for figure in found["figures"]}
    assert figures["gpus"] == {"key": "gpus", "title": "GPUs (gb300)", "unit": "count", "gpu": 1,
                               "rack": 72, "cluster": 144, "how": "4 a host"}  # fmt: skip
    assert figures["fabric"]["unit"] == "B/s"
    assert figures["fabric"]["gpu"] == 1e11
    assert sum(part["power"] for part in found["cluster_power"]) == pytest.approx(
        figures["power"]["cluster"]
    )
    assert found["price"] == 5.6


def test_json_sources(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "show", "gb300", "--sources")
    facts = {fact["key"]: fact for fact in found["facts"]}
    assert facts["peak.nvfp4"] == {"key": "peak.nvfp4", "value": "15 PFLOP/s", "kind": "datasheet",
                                   "source": "nv_bu_blog", "date": "2025-08",
                                   "note": "the 20 PFLOP/s headline is sparse"}  # fmt: skip
    assert found["values"]["peak"]["nvfp4"] == 1.5e16
    assert set(found["sources"]) >= {"nv_bu_blog", "verda_gb300"}


@pytest.mark.parametrize("name", NAMES)
def test_json_of_everything(capsys: pytest.CaptureFixture[str], name: str) -> None:
    found = answer(capsys, "show", name, "--sources")
    assert found["name"] == name
    assert found["facts"]


def test_a_users_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: azure-nd-gb300-v6\nracks: 8\nprice: $4.50/GPU/h\n")
    _, out, _ = run(capsys, "show", str(path))
    assert "576" in out
    assert "given in mine.yaml" in out
    path.write_text("extends: azure-nd-gb300-v6\nracks: 0\nprice: $4.50/h\n")
    code, out, err = run(capsys, "show", str(path))
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"{path}: 2 findings"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "azure-gb300"], "did you mean 'azure-nd-gb300-v6'?"),
        (["show", "gb30"], "did you mean 'gb300'?"),
        (["shwo"], "did you mean 'show'?"),
        (["show", "--jsn"], "--json"),
        (["show", "gb300", "--racks", "4"], "--racks: only a cluster has a size"),
        (["show", "hgx-b200", "--racks", "0"], "expected a whole number"),
        (["show", "hgx-b200", "--racks", "two"], "--racks"),
        (["show", "none.yaml"], "No such file"),
    ],
)
def test_mistakes_end_in_one_message_and_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert "1 finding\n" in err
    assert message in err


def test_help_loads_nothing() -> None:
    """What makes it quick; how quick it is stands in the benchmarks."""
    script = (
        "import sys, racktwin.cli\n"
        "racktwin.cli.main(['--help'])\n"
        "assert not {'numpy', 'rich', 'cyclopts', 'yaml'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m racktwin.cli show | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("clusters")
    assert done.stderr == ""


def test_an_interrupt_ends_quietly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(name: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("racktwin.cli.show.find", interrupted)
    assert run(capsys, "show", "gb300") == (130, "", "interrupted\n")


def test_a_mix_shows_its_classes(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    path = str(root / "examples/workloads/chat-and-batch.yaml")
    _, out, _ = run(capsys, "show", path)
    assert "12/s of 2 classes" in out
    assert "batch       poisson at 2/s, priority 1, within E2E 1 min" in out
    assert answer(capsys, "show", path)["workload"]["rate"] == 12.0

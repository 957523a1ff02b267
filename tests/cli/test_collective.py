"""The verb `collective`: screens, JSON, chart, refusals."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

ROOT = Path(__file__).resolve().parents[2]
LOG = str(ROOT / "examples" / "nccl-tests-h100.log")
RACK = ("--on", "azure-nd-gb300-v6")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["collective", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_size(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "all-reduce", *RACK, "--gpus", "4608", "--bytes", "1GB")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "all-reduce of 1 GB  on 4,608 GPUs of Microsoft Azure ND GB300 v6"
    for head in ("calibrated ", "NCCL model ", "ideal ", "best ", "bound "):
        assert any(line.startswith(head) for line in lines), head
    assert "not collnet_direct: needs SHARP, which is off" in out
    assert max(map(len, lines)) <= 100


def test_faults_and_routing_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("all-to-all", *RACK, "--bytes", "1GB", "--fail", "spine:3,spine:9")
    _, out, _ = run(capsys, *words)
    head = (
        "adaptive routing, spine:3, spine:9: left of what bounds them on a whole fabric: NICs and"
    )
    assert f"{head} cables 94.4%, NVLink 100.0%" in " ".join(out.split())
    _, out, _ = run(capsys, *words[:5], "--routing", "static")
    assert "static routing: left of what bounds them" in out


def test_the_table_has_the_sizes_of_nccl_tests(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "all-reduce", *RACK, "--gpus", "72", "--table")
    rows = [line for line in out.splitlines() if " KiB " in line or " MiB " in line]
    rows += [line for line in out.splitlines() if " GiB " in line]
    assert len(rows) == 25
    assert rows[0].split()[:2] == ["1", "KiB"]
    assert rows[-1].split()[:2] == ["16", "GiB"]
    assert "nvls Simple" in rows[-1]
    assert max(map(len, out.splitlines())) <= 100


def test_a_run_is_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    words = ("all-reduce", "--on", "azure-nd-h100-v5", "--compare", LOG, "--svg", str(chart))
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert "8 ranks on 1 host, " in out
    assert "rings instead of the reducing switch" in out
    drawing = ET.fromstring(chart.read_text())
    assert len(drawing.findall("{*}circle")) == out.count("expected\n") - 1 + out.count("slow\n")
    assert len(drawing.findall("{*}polyline")) == 3  # one tier: no ideal


@pytest.mark.parametrize("compare", [False, True])
def test_json_has_the_documented_keys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, compare: bool
) -> None:
    log = tmp_path / "log"
    log.write_text(Path(LOG).read_text() + "8 2 float sum -1 1e-300 1 1 0\n")
    words = ("all-reduce", "--on", "azure-nd-h100-v5", "--gpus", "8", "--json")
    sizes = ("--compare", str(log)) if compare else ("--bytes", "1MiB")
    code, out, _ = run(capsys, *words, *sizes)
    answer = json.loads(out)
    assert code == 0
    assert answer["schema"] == "racktwin/collective/1"
    keys = set(printed(answer)) - {"schema"}
    assert keys <= documented(ROOT, "collective")
    if compare:
        exchange = json.loads(run(capsys, "dispatch", *RACK, "--gpus", "8", "--json")[1])
        assert documented(ROOT, "collective") == keys | set(printed(exchange)) - {"schema"}


def test_dispatch_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """8 experts over 8 ranks: 8 (1 - (7/8)^8) = 5.25 touched, 7/8 of them elsewhere; 2 B x 7168."""
    words = ("dispatch", *RACK, "--gpus", "8", "--tokens", "4096", "--json")
    entry = json.loads(run(capsys, *words)[1])["exchanges"][0]
    copies = 8 * (1 - (7 / 8) ** 8) * 7 / 8
    assert entry["bytes_per_rank"] == pytest.approx(4096 * 7168 * 2 * copies)
    assert entry["seconds"] > entry["bound_s"] == pytest.approx(entry["bytes_per_rank"] / 900e9)
    _, out, _ = run(capsys, "combine", *RACK, "--gpus", "144", "--payload", "fp8")
    assert "2 NVLink domains; fp8 on the wire" in out


def test_figures_agree(capsys: pytest.CaptureFixture[str]) -> None:
    """8 x H100, 1 GiB: busbw is 14/8 of algbw, and bytes over seconds is algbw."""
    words = ("all-reduce", "--on", "azure-nd-h100-v5", "--gpus", "8", "--bytes", "1GiB", "--json")
    size = json.loads(run(capsys, *words)[1])["sizes"][0]
    assert size["algbw"] == pytest.approx(2**30 / size["seconds"])
    assert size["busbw"] == pytest.approx(size["algbw"] * 14 / 8)
    assert size["bound_s"] <= size["low_s"] <= size["seconds"] <= size["high_s"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("all-redoce", *RACK), "did you mean 'all_reduce'?"),
        (("all-reduce", *RACK, "--gpus", "5000"), "has 4,608 GPUs, found 5,000"),
        (
            ("all-reduce", *RACK, "--gpus", "100", "--stride", "72"),
            "64 of them 72 apart, found 100",
        ),
        (("all-reduce", *RACK, "--gpus", "1"), "2 GPUs or more"),
        (("all-reduce", *RACK, "--gpus", "-3"), "2 GPUs or more"),
        (("all-reduce", *RACK, "--bytes", "0B"), "expected 1 B or more"),
        (("all-reduce", *RACK, "--bytes", "100TB"), "do not fit"),
        (("all-reduce", *RACK, "--bytes", "1 gig"), "--bytes"),
        (("all-reduce", *RACK, "--sharp", "yes"), "expected on or off"),
        (("all-reduce", *RACK, "--gpus", "72", "--sharp", "on"), "one NVLink domain"),
        (("all-to-all", *RACK, "--algorithm", "ring"), "has no choice"),
        (("all-reduce", *RACK, "--compare", "/absent"), "cannot be read"),
        (("all-gather", "--on", "azure-nd-h100-v5", "--compare", LOG), "the log is of all-reduce"),
        (("all-reduce", *RACK, "--svg", "/absent/x.svg"), "its folder does not exist"),
        (("all-reduce", *RACK, "--routing", "statik"), "did you mean 'static'?"),
        (("all-reduce", *RACK, "--fail", "spin:3"), "did you mean 'spine'?"),
        (("all-reduce", *RACK, "--fail", "nic:rack0/host0/1"), "cuts rank 1"),
        (("all-reduce", *RACK, "--gpus", "0"), "2 GPUs or more, found 0"),
        (("all-reduce", *RACK, "--gpus", "-4"), "2 GPUs or more, found -4"),
        (("all-reduce", *RACK, "--stride", "5000"), "--stride: expected 1 to 4,608"),
        (("all-reduce", *RACK, "--framework", "trtllm"), "--framework: is not for all-reduce"),
        (("all-to-all", *RACK, "--tokens", "5"), "--tokens: is not for all-to-all"),
        (("all-reduce", *RACK, "--dtype", "floot32"), "did you mean 'float32'?"),
        (("all-reduce", *RACK, "--table", "--bytes", "1GB"), "--table gives its own"),
        (("all-reduce", *RACK, "--compare", LOG, "--bytes", "1GB"), "--compare gives its own"),
        (("all-reduce", *RACK, "--compare", LOG, "--table"), "--table: gives sizes"),
        (("combine", *RACK, "--algorithm", "ring"), "--algorithm: is not for combine"),
        (("combine", *RACK, "--bytes", "x"), "--bytes: is not for combine"),
        (("dispatch", *RACK, "--fail", "spin:3"), "did you mean 'spine'?"),
        (("dispatch", *RACK, "--routing", "statik"), "did you mean 'static'?"),
        (("dispatch", *RACK, "--framework", "vlm"), "did you mean 'vllm'?"),
        (("dispatch", *RACK, "--gpus", "144", "--fail", "nic:rack0/host0/1"), "cuts rank 1"),
        (("dispatch", *RACK, "--gpus", "512"), "512 ranks for 256 experts"),
        (("dispatch", *RACK, "--model", "llama-3.1-70b"), "has no experts"),
        (("combine", *RACK, "--payload", "fp7"), "did you mean 'fp8'?"),
        (("combine", *RACK, "--tokens", "0"), "expected 1 to 1,048,576"),
        (("combine", *RACK, "--compare", LOG), "is not for combine"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("operation", ["all-reduce", "dispatch"])
def test_every_fault_at_once_whatever_the_cluster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, operation: str
) -> None:
    """An unknown cluster hides no other fault, and a file of one keeps its lines."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: azure-nd-gb300-v6\nracks: -3\n")
    other = "--dtype" if operation == "all-reduce" else "--payload"
    words = ("--gpus", "0", "--routing", "x", other, "y")
    for on, said in (("azure-nd-gb30", "did you mean 'azure-nd-gb300-v6'?"), (str(mine), "line 2")):
        _, _, err = run(capsys, operation, "--on", on, *words)
        assert f"--on: {str(mine) if 'line' in said else repr(on)}" in err
        assert said in err
        for key in ("--gpus", "--routing", other):
            assert f"  {key}: " in err
    _, _, err = run(capsys, operation, *RACK, *words, "--fail", "spin:3")
    assert "6 findings" not in err
    assert "4 findings" in err


def test_faults_slow_the_exchange_of_experts(capsys: pytest.CaptureFixture[str]) -> None:
    """A plane of a NIC: 3/4 of it, beside NVLink at work; a tray of nine: 8/9 of NVLink."""
    far = ("dispatch", *RACK, "--gpus", "144", "--tokens", "65536", "--json")
    whole, hurt = (
        json.loads(run(capsys, *far, *more)[1])["exchanges"][0]["seconds"]
        for more in ((), ("--fail", "plane:leaf0/12/2"))
    )
    assert 1.2 < hurt / whole <= 4 / 3
    near = ("combine", *RACK, "--gpus", "72", "--tokens", "65536", "--json")
    answers = [json.loads(run(capsys, *near, *m)[1]) for m in ((), ("--fail", "tray:rack0/2"))]
    times = [each["exchanges"][0]["seconds"] for each in answers]
    assert times[1] / times[0] == pytest.approx(9 / 8, rel=0.01)
    assert answers[1]["question"]["nvlink_share"] == pytest.approx(8 / 9)
    assert "88.9% of the links left" in answers[1]["evidence"]


def test_a_log_line_that_contradicts_itself_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text(Path(LOG).read_text() + "8 2 float sum -1 15.5 9.9 9.9 0\n")
    number = len(log.read_text().splitlines())
    words = ("all-reduce", "--on", "azure-nd-h100-v5", "--compare", str(log))
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert f"line {number} is left out: algbw is 9.9, and size over time" in out

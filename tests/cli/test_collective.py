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
    head = "adaptive routing, spine:3, spine:9: NICs and cables keep 94.4% of their rate"
    assert head in out
    _, out, _ = run(capsys, *words[:5], "--routing", "static")
    assert "static routing: NICs and cables keep" in out


def test_the_table_has_the_sizes_of_nccl_tests(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "all-reduce", *RACK, "--gpus", "72", "--table", "--bytes", "1GB")
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
    assert "8 ranks on 1 hosts" in out
    assert "rings instead of the reducing switch" in out
    drawing = ET.fromstring(chart.read_text())
    assert len(drawing.findall("{*}circle")) == out.count("expected\n") - 1 + out.count("slow\n")
    assert len(drawing.findall("{*}polyline")) == 4


@pytest.mark.parametrize("compare", [False, True])
def test_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str], compare: bool) -> None:
    words = ("all-reduce", "--on", "azure-nd-h100-v5", "--gpus", "8", "--bytes", "1MiB", "--json")
    code, out, _ = run(capsys, *words, *(("--compare", LOG) if compare else ()))
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
        (("all-reduce", *RACK, "--gpus", "100", "--stride", "72"), "every 72th"),
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

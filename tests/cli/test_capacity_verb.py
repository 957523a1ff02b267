"""The verb `capacity` and what `plan` shows of simulated finalists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main
from racktwin.engine.deployment_file import read_deployment

SMALL = ("--input", "1000", "--output", "100", "--requests", "2000")
MODEL = ("llama-3.1-8b", "--on", "hgx-b200", "--gpus", "2", "--top", "1", *SMALL)
FILE = """\
model: llama-3.1-8b
cluster: {extends: hgx-b200, nodes: 1}
engine: vllm
serve: {replicas: 2, max_batch: 64, max_batch_tokens: 4096}
"""


@pytest.fixture(autouse=True)
def _fixed(fixed_intervals: None) -> None:
    """Every answer here takes the same intervals."""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "deployment.yaml"
    path.write_text(FILE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_the_screen_and_the_keys(capsys: pytest.CaptureFixture[str], file: str, root: Path) -> None:
    words = ("capacity", file, *SMALL, "--slo-tpot", "p99:20ms", "--rate", "20", "--spare", "1")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    for text in ("p99 TPOT <= 20 ms", "#1 takes ", "and 1 spare", "#1 stops there", "simulated:"):
        assert text in out
    shown = out
    code, out, err = run(capsys, *words, "--json")
    answer = json.loads(out)
    assert (code, err, answer["schema"]) == (0, "", "racktwin/capacity/1")
    assert set(printed(answer)) - {"schema"} == documented(root, "capacity")
    best = answer["answers"][0]
    rates = [each["rate"] for each in best["curve"]]
    assert rates == sorted(rates)
    low, high = best["sustained"]["low"], best["sustained"]["high"]
    assert f"{low:,.4g}-{high:,.4g}" in shown
    assert "±" not in shown
    assert best["at"]["rate"] == best["sustained"]["value"]
    assert best["at"]["tpot"]["p99"] <= 0.02
    run_again = run(capsys, *words, "--json")[1]
    assert run_again == out


def test_a_share_of_good_requests_is_an_objective(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    words = ("capacity", file, *SMALL, "--slo-tpot", "20ms", "--slo-e2e", "p95:4s")
    code, out, _ = run(capsys, *words, "--slo-goodput", "90%")
    assert code == 0
    assert "p95 E2E <= 4 s, goodput >= 90.0% within TPOT 20 ms, E2E 4 s" in out
    assert max(map(len, out.splitlines())) <= 100
    answer = json.loads(run(capsys, *words, "--slo-goodput", "90%", "--json")[1])
    at, after = answer["answers"][0]["at"], answer["answers"][0]["limit"]
    assert at["good_requests_per_s"] >= 0.9 * at["requests_per_s"]
    assert at["e2e"]["p95"] <= 4.0
    assert after
    assert [each["figure"] for each in answer["objectives"]] == ["e2e", "goodput"]
    code, _, err = run(capsys, "capacity", file, *SMALL, "--slo-goodput", "90%")
    assert (code, "--slo-goodput: of which limits? give --slo-ttft" in err) == (2, True)


def test_files(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    folder = tmp_path / "answer"
    words = ("capacity", file, *SMALL, "--slo-tpot", "20ms", "--rate", "20", "--spare", "1")
    code, screen, _ = run(capsys, *words, "--out", str(folder))
    assert code == 0
    assert f"wrote {folder}/report.html, " in " ".join(screen.split())
    answer = json.loads((folder / "capacity.json").read_text())
    need = answer["answers"][0]["need"]
    deployment = read_deployment(folder / "deployment.yaml")[0]
    assert deployment.copies == need["copies"] + need["spare_copies"]
    assert deployment.gpus * deployment.copies == need["gpus"]
    page = (folder / "report.html").read_text()
    assert "<script" not in page
    assert not re.search(r'(src|href)="http', page)
    assert page.count("<svg") == 4  # TTFT, TPOT, goodput, its share
    for trial in answer["answers"][0]["curve"]:
        assert f">{trial['rate']:,.4g}</td>" in page
    code, _, err = run(capsys, *words, "--out", file)
    assert (code, "is not a folder" in err) == (2, True)


def test_a_model_is_planned_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "capacity", *MODEL, "--slo-ttft", "p90:1s")
    assert (code, err) == (0, "")
    assert "p90 TTFT <= 1 s" in out
    assert re.search("requests/s +p50 TTFT s +p90 TTFT s +p50 TPOT ms +p99 TPOT ms", out)


@pytest.mark.parametrize("extra", [(), ("--rate", "10/s")])
def test_what_no_load_keeps_ends_with_1(
    capsys: pytest.CaptureFixture[str], file: str, extra: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, "capacity", file, *SMALL, "--slo-tpot", "1us", *extra)
    assert (code, err) == (1, "")
    assert "no load is within the objectives; this comes closest:" in out
    assert "#1 fails at the smallest load tried" in out


def test_a_cluster_too_small_ends_with_1(capsys: pytest.CaptureFixture[str], file: str) -> None:
    words = ("capacity", file, *SMALL, "--slo-tpot", "20ms", "--rate", "100000")
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert "more than the 8 GPUs there are" in " ".join(out.split())


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str], file: str) -> None:
    bad = ("--slo-ttft", "p98:1s", "--slo-tpot", "25", "--rate", "0", "--spare", "-1")
    words = ("capacity", "lama-3.1-8b", *bad, "--requests", "4", "--workload", "azure-con")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    flags = ("--slo-ttft", "--slo-tpot", "--rate", "--spare", "--requests", "--workload", "--on")
    for flag in (*flags, "MODEL"):
        assert f"  {flag}: " in err
    code, _, err = run(capsys, "capacity", file, "--on", "x", "--gpus", "4", "--input", "3")
    assert code == 2
    for flag in ("--on", "--gpus", "--output"):
        assert f"  {flag}: " in err
    code, _, err = run(capsys, "capacity", file, *SMALL, "--spare", "2")
    assert code == 2
    assert "--spare: 2 leave no copy" in err


def test_plan_shows_its_finalists_simulated(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    words = ("plan", *MODEL[:-6], "--workload", "azure-conv-2023", "--tpot", "20ms")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert "azure-conv-2023: 1,158 in / 212 out on average" in out
    assert "simulated at 95% of the planned load" in out
    code, out, _ = run(capsys, *words, "--json")
    answer = json.loads(out)
    assert set(printed(answer)) - {"schema"} <= documented(root, "plan")
    assert len(answer["confirmed"]["trials"]) == len(answer["choices"]) == 1
    code, out, _ = run(capsys, *words, "--no-confirm", "--json")
    assert json.loads(out)["confirmed"] is None


def test_plan_takes_a_workload_or_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "plan", "llama-3.1-8b", "--on", "hgx-b200")
    assert (code, "--input: give --input and --output, or --workload" in err) == (2, True)
    words = ("--input", "5", "--workload", "sharegpt")
    code, _, err = run(capsys, "plan", "llama-3.1-8b", "--on", "hgx-b200", *words)
    assert (code, "--workload: brings its own lengths" in err) == (2, True)


def test_a_plan_without_confirmation_loads_no_compiler() -> None:
    words = ["plan", *MODEL[:-2]]
    program = (
        "import sys; from racktwin.cli import main; "
        f"code = main({words!r}); sys.exit(code or 10 * ('numba' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr

"""The verb `calibrate`: screen, JSON, exit codes, and other verbs under the engine it kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

DEPLOYMENT = """\
model: minimax-m2.5
cluster: azure-nd-h200-v5
engine: my-cluster
precision: {weights: fp8_block, kv: bf16}
serve: {tensor: 8, expert: 8, max_batch: 64}
"""
LOAD = ("--input", "1024", "--output", "1024", "--concurrency", "32")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without anything of their own."""
    monkeypatch.setenv("RACKTWIN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_an_engine_is_fitted_kept_and_used(
    capsys: pytest.CaptureFixture[str], root: Path, home: Path, tmp_path: Path
) -> None:
    points = str(root / "examples/points.csv")
    code, out, err = run(capsys, "calibrate", points)
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines() if "/" not in line) <= 100
    for start in (
        "my-cluster  vllm-0.16 as 12 points have it",
        "h200, minimax-m2.5, aggregated",
        "TPOT               12 ",
        "gap ",
        "use it: engine: my-cluster in a deployment.yaml, --engine my-cluster",
    ):
        assert any(line.startswith(start) for line in out.splitlines()), start
    assert (home / "epochs/my-cluster.yaml").is_file()

    code, out, err = run(capsys, "calibrate", points)
    assert code == 2
    assert "'my-cluster' is taken" in err

    code, out, _ = run(capsys, "show", "engines")
    assert "yours:   my-cluster" in out
    code, out, _ = run(capsys, "show", "my-cluster")
    assert "fit on points.csv, 12 rows" in " ".join(out.split())

    path = tmp_path / "deployment.yaml"
    path.write_text(DEPLOYMENT)
    code, out, _ = run(capsys, "predict", str(path), *LOAD)
    assert code == 0
    assert "evidence: TPOT 12 points of my-cluster (80 % of errors within " in out
    code, mine, _ = run(capsys, "predict", str(path), *LOAD, "--json")
    path.write_text(DEPLOYMENT.replace("my-cluster", "vllm"))
    code, theirs, _ = run(capsys, "predict", str(path), *LOAD, "--engine", "my-cluster", "--json")
    assert json.loads(theirs) == json.loads(mine)
    code, _, err = run(capsys, "predict", str(path), *LOAD, "--engine", "my-clustr")
    assert code == 2
    assert "did you mean 'my-cluster'?" in err


def test_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    code, out, _ = run(capsys, "calibrate", str(root / "examples/points.csv"), "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer.pop("schema") == "racktwin/calibrate/1"
    assert set(printed(answer)) == documented(root, "calibrate")
    tpot = answer["figures"][0]
    assert tpot["figure"] == "tpot"
    assert tpot["left_out"]["mean"] < tpot["before"]["mean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--name", "vllm"], "is an engine that ships"),
        (["--name", "My Cluster"], "expected a letter"),
        (["--nam", "x"], "did you mean '--name'?"),
    ],
)
def test_bad_input_is_one_message(
    capsys: pytest.CaptureFixture[str], root: Path, home: Path, words: list[str], said: str
) -> None:
    code, out, err = run(capsys, "calibrate", str(root / "examples/points.csv"), *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not home.exists()


def test_wrong_columns_name_the_nearest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("gpu_system,framework,model,isl,osl,concurency,ttft_ms,tpot_mean_ms\n")
    code, _, err = run(capsys, "calibrate", str(path))
    assert code == 2
    assert "concurrency: column is missing; is it 'concurency'?" in err
    assert not home.exists()

"""`simulate` asked for what cannot be, or for a run in which nobody is served."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_simulate import LENGTHS, PAIR, SERVE, run

from racktwin.cli.console import ONCE
from racktwin.compiled import Compiler

SHORT = (*LENGTHS, "--requests", "200")
RATE = (*SHORT, "--rate", "20/s")
SCALED = SERVE.replace("copies: 4\n", "").replace(
    "max_batch: 64,", "replicas: 2, autoscale: {min: 1, max: 4, outstanding: 8}, max_batch: 64,"
)


def written(folder: Path, text: str) -> str:
    path = folder / "deployment.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "role", "load"),
    [
        (SERVE, "serve", (*SHORT, "--rate", "20/s")),
        (SERVE, "serve", (*SHORT, "--concurrency", "20")),
        (PAIR, "prefill", (*SHORT, "--rate", "20/s")),
        (PAIR, "decode", (*SHORT, "--rate", "20/s")),
    ],
)
def test_nobody_is_ever_served(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, role: str, load: tuple[str, ...]
) -> None:
    words = (written(tmp_path, text), *load, "--fail", f"{role}:*@0s")
    code, screen, err = run(capsys, *words, "--out", str(tmp_path / "out"))
    assert (code, err) == (1, "")
    assert "200 requests were never served: no replica is left to take them" in screen
    assert "0/s out (0/s/GPU)" in screen
    found = json.loads((tmp_path / "out" / "simulate.json").read_text())
    assert found["requests"]["never_served"] == 200
    assert found["ttft"]["mean"] is None


def test_a_queue_that_waits_for_a_start_is_no_overload(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Both replicas fail at once; those that autoscaling starts in their place serve everyone."""
    words = (written(tmp_path, SCALED), *RATE, "--fail", "serve:*@0s", "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert (code, found["overloaded"], found["requests"]["finished"]) == (0, False, 200)
    assert found["pools"]["serve"]["starts"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--duration", "-5s"), ["--duration: '-5s' is out of range"]),
        (("--offload-host", "-5GB"), ["--offload-host: '-5GB' is out of range"]),
        (("--detection", "-3s"), ["--detection: '-3s' is out of range"]),
        (("--resolution", "1e-300s"), ["--resolution: expected 1 ms or more, found 1e-300s"]),
        (
            ("--concurrency", "100000000"),
            ["--concurrency: expected 1 to 10,000,000, found 100,000,000", "--rate: give either"],
        ),
        (("--scale", "1e-300"), ["--scale: expected a factor of 1e-06 to 1,000,000"]),
        (("--fail", "serve:0@-1s"), ["--fail: serve:0@-1s: '-1s' is out of range"]),
        (
            ("--router", "x", "--fail", "serve:9@1s", "--on-failure", "x", "--detection", "x"),
            ["--router: 'x'", "--fail: serve:9: ", "--on-failure: 'x'", "--detection: 'x'"],
        ),
        (
            ("--events", "none.yaml", "--seed", "-1"),
            ["none.yaml: file: cannot be read", "--seed: "],
        ),
    ],
)
def test_all_findings_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], said: list[str]
) -> None:
    code, out, err = run(capsys, written(tmp_path, SERVE), *RATE, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"simulate: {len(said)} finding")
    missing = [each for each in said if each not in err]
    assert not missing, err


@pytest.mark.parametrize("rate", ["1e-300/s", "0/s", "1e-7/s"])
def test_a_rate_too_low_to_be_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rate: str
) -> None:
    code, _, err = run(capsys, written(tmp_path, SERVE), *SHORT, "--rate", rate)
    assert code == 2
    assert f"--rate: '{rate}' is out of range; expected 1e-06 /s to" in err


def test_a_bad_file_and_bad_flags_and_bad_events(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every finding names its file and line; one file alone stands in the head."""
    file, events = written(tmp_path, SERVE.replace("tensor: 1", "tensr: 1")), tmp_path / "e.yaml"
    events.write_text("fail:\n  - {replica: serve:0, at: -5s}\n")
    words = (*RATE, "--router", "x", "--events", str(events))
    code, _, err = run(capsys, file, *words)
    assert code == 2
    assert err.startswith("simulate: 3 findings")
    assert f"{file}: line 5   serve.tensr" in err
    assert f"{events}: line 2   fail[0].at: '-5s'" in err
    _, _, err = run(capsys, file, *RATE)
    assert err.startswith(f"{file}: 1 finding")


def test_nothing_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """'' for --fail is nothing, as it is to the fabric's verbs."""
    file = written(tmp_path, SERVE)
    plain, none = (run(capsys, file, *RATE, *words, "--json") for words in ((), ("--fail", "")))
    assert none[0] == 0
    assert json.loads(none[1])["ttft"] == json.loads(plain[1])["ttft"]


def test_a_first_run_says_why_it_takes_long(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compiler, "fresh", True)
    code, out, err = run(capsys, written(tmp_path, SERVE), *RATE)
    assert code == 0
    assert err == f"{ONCE}\n"
    assert "compiling" not in out


def test_a_resolution_beyond_the_run_keeps_times_between_tokens(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, load = written(tmp_path, SERVE), RATE
    fine = json.loads(run(capsys, file, *load, "--json")[1])
    coarse = json.loads(run(capsys, file, *load, "--json", "--resolution", "1000s")[1])
    assert coarse["itl"]["count"] > 0
    assert coarse["itl"]["mean"] == pytest.approx(fine["itl"]["mean"], rel=0.02)
    assert coarse["tpot"]["p99"] == fine["tpot"]["p99"]

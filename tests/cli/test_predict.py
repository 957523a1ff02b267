"""The verb `predict`: screen, JSON, exit codes, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin.cli import main

SERVE = """\
model: llama-3.1-8b
cluster: hgx-b200
engine: trtllm-1.3
precision: {weights: fp8, kv: fp8}
serve: {tensor: 1, max_batch: 64, max_batch_tokens: 4096}
copies: 8
"""
LENGTHS = ("--input", "2000", "--output", "400")
LOAD = (*LENGTHS, "--concurrency", "80")
HEADS = (
    "Llama 3.1 8B  aggregated TP1, chunks of 4,096",
    "on 8 x 1 GPUs of hgx-b200, trtllm-1.3, FP8 weights, FP8 KV",
    "2,000 in / 400 out, 80 requests in flight, 10 per copy",
    "of one copy  ",
    *("TTFT  ", "TPOT  ", "output  ", "input + output  ", "cost  "),
    *("TTFT of a benchmark  ", "TPOT of a benchmark  ", "requests  ", "batch  "),
    *("prefill work  ", "IT power  "),
    "decode step ",
    "evidence: TPOT a fixed interval of tpot",
    "          TTFT a fixed interval of ttft",
    "price:    $",
)


@pytest.fixture(autouse=True)
def _fixed(fixed_intervals: None) -> None:
    """Every answer here takes the same intervals."""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "deployment.yaml"
    path.write_text(SERVE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["predict", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_screen_has_its_form(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, err = run(capsys, file, *LOAD)
    assert (code, err) == (0, "")
    lines = iter(out.splitlines())
    missing = [head for head in HEADS if not any(line.startswith(head) for line in lines)]
    assert not missing  # in this order
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize("load", [("--concurrency", "80"), ("--rate", "10/s")])
def test_documented_keys_are_printed_keys(
    capsys: pytest.CaptureFixture[str], file: str, root: Path, load: tuple[str, str]
) -> None:
    _, out, _ = run(capsys, file, *LENGTHS, *load, "--json")
    answer = json.loads(out)
    assert answer.pop("schema") == "racktwin/predict/1"
    assert set(printed(answer)) == documented(root, "predict")


def test_the_screen_says_what_the_json_says(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, screen, _ = run(capsys, file, *LOAD)
    found = json.loads(run(capsys, file, *LOAD, "--json")[1])
    assert f"{found['tpot']['value'] * 1e3:,.2f}" in screen
    assert f"{found['ttft']['low']:,.2f} to {found['ttft']['high']:,.2f}" in screen
    assert f"{found['watts_per_gpu']:,.0f}" in screen


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (("--concurrency", "100000"), r"requests queue for [\d,.]+ s \((KV memory|max_batch)"),
        (("--rate", "100000/s"), r"requests queue without end \((KV memory|max_batch)"),
    ],
)
def test_too_much_load_exits_with_one(
    capsys: pytest.CaptureFixture[str], file: str, load: tuple[str, str], says: str
) -> None:
    code, out, err = run(capsys, file, *LENGTHS, *load)
    assert (code, err) == (1, "")
    assert re.search(says, out)
    found = json.loads(run(capsys, file, *LENGTHS, *load, "--json")[1])
    assert found["overloaded"]
    if load[0] == "--rate":
        assert found["ttft"]["value"] is None
        assert found["queued_s"] is None
        assert "no end" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (LENGTHS, "give either --concurrency or --rate"),
        ((*LOAD, "--rate", "3/s"), "give either --concurrency or --rate"),
        ((*LENGTHS, "--rate", "3"), ""),
        ((*LENGTHS, "--rate", "-3/s"), "--rate"),
        ((*LENGTHS, "--concurrency", "0"), "--concurrency: expected more than 0"),
        ((*LENGTHS, "--concurrency", "nan"), "--concurrency"),
        (("--input", "0", "--output", "1", "--concurrency", "8"), "2 findings"),
        ((*LOAD, "--price", "cheap"), "--price: 'cheap'"),
        ((*LOAD, "--prefix-hit", "1.5"), "--prefix-hit"),
    ],
)
def test_bad_loads_are_refused_without_output(
    capsys: pytest.CaptureFixture[str], file: str, words: tuple[str, ...], says: str
) -> None:
    code, out, err = run(capsys, file, *words)
    if not says:  # a bare number is requests per second
        assert code == 0
        return
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SERVE.replace("trtllm-1.3", "trtlm-1.3"), "did you mean 'trtllm-1.3'"),
        (SERVE.replace("tensor: 1", "tensor: 3"), "cannot split 32 attention heads"),
        (SERVE.replace("copies: 8", "copies: 1000000"), "copies"),
        (SERVE.replace("llama-3.1-8b", "llama-3.1-405b"), "does not load"),
        (SERVE.replace("serve:", "srve:"), "did you mean 'serve'"),
        (SERVE + "memory_fraction: 0\n", "memory_fraction: 0 leaves no memory"),
        ("model: [", "yaml"),
        ("", "expected 'key: value' lines"),
    ],
)
def test_bad_files_are_refused_with_their_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "deployment.yaml"
    path.write_text(text)
    code, out, err = run(capsys, str(path), *LOAD)
    assert (code, out) == (2, "")
    assert says in err
    assert "deployment.yaml" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("llama-3.1-70b-b200", "times between tokens"),
        ("deepseek-r1-gb300-disaggregated", "prompts take"),
    ],
)
def test_simulate_has_the_first_token_where_predict_has_it(
    capsys: pytest.CaptureFixture[str], root: Path, file: str, says: str
) -> None:
    """Both add what was fitted on measurements; at a rate that hardly queues the means agree."""
    load = ("--input", "2000", "--output", "300", "--rate", "4/s", "--json")
    means = []
    for more in (("predict",), ("simulate", "--requests", "3000")):
        assert main([more[0], str(root / "examples" / f"{file}.yaml"), *load, *more[1:]]) == 0
        told = json.loads(capsys.readouterr().out)
        means.append(told["ttft"])
    assert means[1]["mean"] == pytest.approx(means[0]["value"], rel=0.03)
    assert any("TTFT has, beyond the schedule" in each and says in each for each in told["notes"])


def test_small_rates_keep_their_digits(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    load = ("--input", "2000", "--output", "3", "--concurrency", "1")
    file = root / "examples" / "deepseek-r1-gb300-disaggregated.yaml"
    assert main(["predict", str(file), *load]) == 0
    (line,) = (each for each in capsys.readouterr().out.splitlines() if each.startswith("output"))
    assert line.split()[1:4] != ["0", "0", "to"]

"""What `simulate` says of a trace it cannot use, and of hardly any request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_simulate import LENGTHS, run
from tests.cli.test_simulate import file as file  # a fixture

APART = """\
model: llama-3.1-8b
cluster: {extends: hgx-b200, nodes: 1}
engine: vllm
prefill: {replicas: 1, max_batch_tokens: 8192}
decode: {replicas: 1, max_batch: 64}
"""


def test_refused_and_skipped_are_told_together(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,99999999,10\nx,1,1\n-1,5,5\n")
    code, out, err = run(capsys, file, "--trace", str(path))
    assert (code, out) == (2, "")
    assert "1 request of up to 100,000,009 tokens refused" in err
    assert "1 line skipped: cannot be read (line 3)" in err
    assert "1 line skipped: a time before 0 (line 4)" in err


def test_a_wrong_date_in_a_trace_is_one_finding(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    rows = "2023-11-16 18:15:46,48,10", "9999-11-16 18:15:50,31,8"
    path.write_text("\n".join(("TIMESTAMP,ContextTokens,GeneratedTokens", *rows)))
    code, out, err = run(capsys, file, "--trace", str(path))
    assert (code, out) == (2, "")
    assert "comes 2,913,174 days after the first request (line 2); expected 366 days" in err
    assert "t.csv: 1 finding" in err


def test_a_load_without_end_is_told_though_one_request_is_too_long(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    """120 long prompts within a second, of which none ends in two; another does not fit."""
    path = tmp_path / "t.csv"
    long = [f"{each / 120},120000,5000" for each in range(120)]
    path.write_text("\n".join(("arrival_s,input_tokens,output_tokens", "0,200000,9", *long)))
    code, out, _ = run(capsys, file, "--trace", str(path), "--json")
    requests = json.loads(out)["requests"]
    assert (code, json.loads(out)["overloaded"]) == (1, True)
    assert (requests["arrived"], requests["finished"], requests["refused"]) == (120, 0, 1)
    code, out, _ = run(capsys, file, "--trace", str(path))
    assert code == 1
    assert "more than it can carry: the queue grows by" in out
    assert "1 request of up to 200,009 tokens refused" in out


def test_an_absurd_time_in_a_trace_is_short(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n0,500,50\n8.64e302,500,50\n")
    code, _, err = run(capsys, file, "--trace", str(path))
    assert code == 2
    assert "line 3   trace: comes 1e+298 days after the first request" in err


def test_one_request_is_one(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, out, _ = run(capsys, file, *LENGTHS, "--rate", "1/s", "--requests", "1")
    assert "\n1 request at 1/s, router" in out
    code, _, err = run(capsys, file, *LENGTHS, "--rate", "1/s", "--duration", "1us")
    assert (code, "requests: there are none in the time asked" in err) == (2, True)


def test_where_nothing_decodes_prompts_fill_little_of_the_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Prompts that share what they begin with, at once on a replica that only reads prompts."""
    path, file = tmp_path / "t.jsonl", tmp_path / "deployment.yaml"
    line = (
        '{{"timestamp": {}, "input_length": 2000, "output_length": 9, "hash_ids": [1, 2, 3, {}]}}'
    )
    path.write_text("\n".join(line.format(10 * each, 9 + each) for each in range(400)))
    file.write_text(APART)
    code, out, err = run(capsys, str(file), "--trace", str(path), "--json")
    pools = json.loads(out)["pools"]
    assert (code, err) == (0, "")
    assert 0 < pools["prefill"]["kv"] < 0.01
    assert pools["prefill"]["kv"] < pools["decode"]["kv"] < 1

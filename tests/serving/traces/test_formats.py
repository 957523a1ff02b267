from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.serving.traces import load
from racktwin.serving.traces.formats import FORMATS, recognise
from racktwin.serving.traces.source import Source

HEADS = {
    "Azure LLM": "\n\ufeffTIMESTAMP,ContextTokens,GeneratedTokens\n",
    "BurstGPT": "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n",
    "plain table": '"arrival_s","input_tokens","output_tokens"\r\n',
    "Mooncake": 'broken\n{"input_length": 1, "output_length": 2}\n',
    "agent sessions": '{"timestamp": 1, "event": {}}\n',
    "AIPerf records": '{"metadata": {}, "metrics": {}, "error": null}\n',
    "AIPerf summary": '{\n "request_count": {},\n "input_sequence_length": {}\n}\n',
    "vLLM benchmark": '{"date": "x", "completed": 3, "total_input_tokens": 9}',
    "racktwin Parquet": "PAR1....",
}


def test_every_format_has_its_case() -> None:
    assert HEADS.keys() == {each.name for each in FORMATS}


@pytest.mark.parametrize("name", [name for name in HEADS if name != "Mooncake"])
def test_a_format_is_told_by_its_contents(tmp_path: Path, name: str) -> None:
    path = tmp_path / "misleading.csv.jsonl"
    path.write_text(HEADS[name], encoding="utf-8")
    assert recognise(Source(path)).name == name


def test_the_first_lines_may_be_broken(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"half": \n{"input_length": 1, "output_length": 2, "timestamp": 0}\n')
    assert recognise(Source(path)).name == "Mooncake"
    assert load(path).skipped[0].lines == (1,)


def test_an_unknown_format_shows_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text("name,cpu_milli,memory_mib\na,1,2\n")
    with pytest.raises(BadInput) as caught:
        load(path)
    first, *known = caught.value.findings
    assert first.message == "is in no known format; it begins with 'name,cpu_milli,memory_mib'"
    assert [each.key for each in known] == [*(each.name for each in FORMATS), "ServeGen clients"]
    assert all(each.note for each in known)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_called_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(BadInput, match="is empty"):
        load(tmp_path / "t")


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: b"{" + text.encode()))
def test_any_bytes_are_answered_by_a_finding(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    with pytest.raises(BadInput):
        load(path)


def test_deep_nesting_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"a":' * 100_000)
    with pytest.raises(BadInput, match="no known format"):
        load(path)

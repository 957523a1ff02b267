from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.serving.trace import Trace, join
from racktwin.serving.traces import load, read
from racktwin.serving.traces.reading import UNREADABLE

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


def trace(folder: Path, text: str, **options: int) -> Trace:
    path = folder / "trace.txt"
    path.write_text(text, encoding="utf-8")
    return load(path, **options)


def test_azure_by_hand(tmp_path: Path) -> None:
    text = f"{AZURE}2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n"
    made = trace(tmp_path, text)
    assert made.arrival == pytest.approx([0.0, 0.052], abs=1e-6)
    assert made.input.tolist() == [4808, 3180]
    assert made.output.tolist() == [10, 8]
    with_zone = "2024-05-10 01:00:00+01:00,1,1\r\n2024-05-10T00:00:00.5Z,2,2\r\n"
    assert trace(tmp_path, AZURE + with_zone).arrival.tolist() == [0.0, 0.5]


def test_burstgpt_by_hand(tmp_path: Path) -> None:
    rows = "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n"
    made = trace(tmp_path, BURST + rows)
    assert made.arrival.tolist() == [0.0, 40.0]
    assert [made.models[index] for index in made.model] == ["ChatGPT", "GPT-4"]
    assert (made.input.tolist(), made.output.tolist()) == ([472, 1087], [18, 230])


def test_e01_a_late_start_is_warned_of(tmp_path: Path) -> None:
    """HPMLL/BurstGPT#11: 0.0343 requests/s in the first 400 bins of 180 s, 3.1713 in later ones."""
    early = np.linspace(0, 400 * 180, round(0.0343 * 400 * 180), endpoint=False)
    late = 72_000 + np.linspace(0, 100 * 180, round(3.1713 * 100 * 180), endpoint=False)
    rows = [f"{time:.3f},ChatGPT,100,10,110,API log" for time in [*early, *late]]
    made = trace(tmp_path, BURST + "\n".join(rows))
    rates = made.rates(180.0)
    assert rates[:400].mean() == pytest.approx(0.0343, rel=0.01)
    assert rates[400:500].mean() == pytest.approx(3.1713, rel=0.01)
    (warning,) = made.warnings
    assert "0.0344 requests/s in the first tenth" in warning
    assert "3.17 after it (92 times)" in warning
    assert join(read(tmp_path / "trace.txt", chunk=1000)).warnings == made.warnings


def test_a_plain_table_may_know_sessions_and_priorities(tmp_path: Path) -> None:
    text = (
        "arrival_s,input_tokens,output_tokens,session,priority\n0,5,1,a,2\n1,6,1,b,0\n2,9,1,a,2\n"
    )
    made = trace(tmp_path, text)
    assert made.session.tolist() == [0, 1, 0]
    assert made.after.tolist() == [-1, -1, 0]
    assert made.priority.tolist() == [2, 0, 2]


BAD = {
    "a,b": UNREADABLE,
    "0,1,1,1": UNREADABLE,
    "nan,1,1": "no finite time",
    "inf,1,1": "no finite time",
    "-1,1,1": "a time before 0",
    "1,0,1": "input of less than 1 token",
    "1,-5,1": "input of less than 1 token",
    "1,1,0": "output of less than 1 token",
    "1,1.5,1": "no whole number of input tokens",
    "1,1,nan": "no whole number of output tokens",
    "1,1e300,1": "input of more than 1,000,000,000 tokens",
    "1,900,200": "input and output longer than 1,000 tokens",
    '"1,1,1': UNREADABLE,
}


def test_every_bad_line_is_counted_under_its_reason(tmp_path: Path) -> None:
    text = "arrival_s,input_tokens,output_tokens\n0,7,7\n\n" + "\n".join([*BAD, "3,8,8"])
    made = trace(tmp_path, text, limit=1000)
    assert made.input.tolist() == [7, 8]
    told = {line: each.reason for each in made.skipped for line in each.lines}
    assert told == {4 + index: reason for index, reason in enumerate(BAD.values())}


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(0, 2**32))
def test_no_line_whatever_makes_it_fail(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    good = [b"0.5,10,20", b"1.5,30,40"]
    every = [*lines, *good]
    np.random.default_rng(seed).shuffle(every)
    path.write_bytes(b"arrival_s,input_tokens,output_tokens\n" + b"\n".join(every))
    made = load(path)
    assert {10, 30} <= set(made.input.tolist())
    assert (made.input >= 1).all()
    whole = sum(bool(line.strip()) for row in every for line in row.split(b"\n"))
    assert len(made) + sum(each.count for each in made.skipped) == whole


def test_nothing_usable_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no usable request: 2 lines skipped"):
        trace(tmp_path, AZURE + "x,1,1\ny,1,1\n")
    with pytest.raises(BadInput, match="holds no request"):
        trace(tmp_path, AZURE)


def test_the_shared_traces(shared: Path) -> None:
    code = load(shared / "traces/AzureLLMInferenceTrace_code.csv")
    conversation = load(shared / "traces/AzureLLMInferenceTrace_conv.csv")
    lengths = load(shared / "traces/sharegpt_lengths_300.csv")
    assert [len(each) for each in (code, conversation, lengths)] == [8819, 19366, 300]
    assert code.notes == conversation.notes == lengths.notes == ()
    assert code.duration == pytest.approx(3435.948, abs=1e-3)
    assert conversation.output.mean() == pytest.approx(211.126, abs=1e-3)
    assert lengths.input.sum() == 257_239


def test_a_class_is_a_word(tmp_path: Path) -> None:
    text = "arrival_s,class,input_tokens,output_tokens\n0,chat,5,1\n1,,5,1\n2,batch,5,1\n"
    made = trace(tmp_path, text)
    assert (made.classes, made.slo_class.tolist()) == (("chat", "batch"), [0, -1, 1])

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.serving.trace import Trace, join
from racktwin.serving.traces import load, read


def line(time: float = 0, input: int = 600, ids: Any = (0, 1), **rest: Any) -> str:
    return json.dumps(
        {"timestamp": time, "input_length": input, "output_length": 9, "hash_ids": ids} | rest
    )


def trace(folder: Path, *lines: str) -> Trace:
    path = folder / "trace"
    path.write_text("\n".join(lines))
    return load(path)


def test_time_is_in_milliseconds_and_blocks_have_512_tokens(tmp_path: Path) -> None:
    made = trace(tmp_path, line(0), line(0.2, 513, [0, 5]), line(27_000, 1, [2**64 - 1]))
    assert made.arrival == pytest.approx([0, 0.0002, 27.0])
    assert made.block_size == 512
    assert made.blocks.tolist() == [0, 1, 0, 5, -1]
    assert made.starts.tolist() == [0, 2, 4, 5]


def test_e03_hash_ids_must_cover_the_input(tmp_path: Path) -> None:
    """vllm-project/guidellm#948: n ids hold 512 (n - 1) + 1 to 512 n tokens."""
    four = [0, 1, 2, 3]
    bad = [line(1, 20, [0, 1]), line(2, 1536, four), line(3, 2049, four), line(4, 5, [])]
    good = [line(5, 513), line(6, 1024), line(7, 1537, four), line(8, 2048, four)]
    made = trace(tmp_path, *bad, *good)
    assert made.input.tolist() == [513, 1024, 1537, 2048]
    (skipped,) = made.skipped
    assert skipped.reason == "hash ids do not cover the input in blocks of 512"
    assert (skipped.count, skipped.lines) == (4, (1, 2, 3, 4))


def test_turns_by_session_and_delay(tmp_path: Path) -> None:
    made = trace(
        tmp_path,
        line(1000, session_id="a"),
        line(2000, session_id="b"),
        json.dumps(
            {"input_length": 5, "output_length": 1, "session_id": "a", "delay": 1500}
        ).replace("}", ', "hash_ids": [9]}'),
        json.dumps({"input_length": 5, "output_length": 1, "session_id": "new", "delay": 5}),
    )
    assert made.arrival.tolist() == [0.0, 1.0, 1.5]
    assert made.after.tolist() == [-1, -1, 0]
    assert made.pause.tolist() == [0.0, 0.0, 1.5]
    assert made.skipped[0].reason == "neither a timestamp nor a delay after an earlier turn"


def test_lengths_alone_are_enough(tmp_path: Path) -> None:
    made = trace(tmp_path, '{"timestamp": 3, "input_length": 5, "output_length": 1}')
    assert (made.block_size, len(made.blocks)) == (0, 0)


BROKEN = ["{", '{"timestamp": null, "input_length": 1}', "[1]", '{"input_length": "x"}', "{}"]


@given(st.lists(st.sampled_from(BROKEN) | st.text(max_size=20), max_size=8))
def test_broken_lines_are_counted(
    tmp_path_factory: pytest.TempPathFactory, broken: list[str]
) -> None:
    broken = [each.replace("\n", " ") for each in broken if each.strip()]
    path = tmp_path_factory.getbasetemp() / "broken.jsonl"
    path.write_text("\n".join([line(0), *broken, line(1)]), encoding="utf-8")
    made = load(path)
    assert len(made) == 2
    assert sum(each.count for each in made.skipped) == len(broken)


def test_negative_and_oversized_ids_are_broken_lines(tmp_path: Path) -> None:
    made = trace(tmp_path, line(0), line(1, ids=[-1, 2]), line(2, ids=[0, 2**64]))
    assert made.skipped[0].lines == (2, 3)
    with pytest.raises(BadInput, match="holds no usable request"):
        trace(tmp_path, line(0, ids=[1]))


@pytest.mark.parametrize(
    ("name", "count", "hits"),
    [
        ("mooncake_conversation_2500", 2500, 0.306060),
        ("mooncake_synthetic_1500", 1500, 0.244775),
        ("dynamo_mooncake_1000", 1000, 0.390745),
    ],
)
def test_the_shared_traces(shared: Path, name: str, count: int, hits: float) -> None:
    path = shared / f"traces/{name}.jsonl"
    made = load(path)
    assert (len(made), made.notes) == (count, ())
    assert made.traffic().prefix_hit == pytest.approx(hits, abs=1e-6)
    streamed = list(read(path, chunk=300))
    assert [len(part) for part in streamed[:-1]] == [300] * (count // 300 - (count % 300 == 0))
    assert join(streamed).blocks.tobytes() == made.blocks.tobytes()
    assert (np.diff(made.arrival) >= 0).all()


def test_a_class_is_a_word(tmp_path: Path) -> None:
    rest = {"class": "chat", "priority": 2}
    made = trace(tmp_path, line(0, **rest), line(1))
    assert (made.classes, made.slo_class.tolist()) == (("chat",), [0, -1])
    assert made.priority.tolist() == [2, 0]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    line = b'{"timestamp": 0, "input_length": 10, "output_length": 5, "hash_ids": [1]}\r\n'
    path = tmp_path / "marked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line + line)
    found = load(path)
    assert len(found) == 2
    assert not found.notes

"""Headers of safetensors files as an enemy would write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkpoints.made import blob, normal, write_file

from racktwin.checkpoints.header import LONGEST, read_header
from racktwin.checkpoints.shard import Shard
from racktwin.finding import BadInput


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def refused(tmp_path: Path, raw: bytes) -> str:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with pytest.raises(BadInput) as caught:
        read_header(path)
    return str(caught.value)


def test_a_right_file_is_read(tmp_path: Path) -> None:
    tensors = {"a": normal(3, 5), "b": normal(2, 16).astype(np.float16), "c": np.float32(7)[None]}
    path = write_file(tmp_path / "x.safetensors", tensors)
    with Shard(path) as shard:
        for name, right in tensors.items():
            assert np.array_equal(shard.rows(name), right)
        assert np.array_equal(shard.rows("a", 1, 3), tensors["a"][1:3])
        assert shard.rows("a", 3, 9).shape == (0, 5)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "0 bytes are no safetensors file"),
        (b"\1\0\0", "3 bytes are no safetensors file"),
        (b"\0" * 8, "is empty"),
        ((1 << 63).to_bytes(8, "little"), "at most 100,000,000"),
        ((LONGEST + 1).to_bytes(8, "little") + b"{}", "at most 100,000,000"),
        ((500).to_bytes(8, "little") + b"{}", "says it has 500 bytes, and the file has 10"),
        (blob(b"{]"), "is no JSON"),
        (blob(b"\xff\xfe{}"), "is no JSON"),
        (blob(b"[]"), "is no JSON object"),
        (blob(b"[" * 90_000), "is no JSON"),
        (blob(b'{"a":' * 50_000), "is no JSON"),
        (blob(b'{"a": NaN}'), "NaN is no number"),
        (blob(b'{"a": ' + b"9" * 9000 + b"}"), "is no JSON"),
        (blob({"__metadata__": {"a": 1}}), "__metadata__: expected texts"),
        (blob({"__metadata__": []}), "__metadata__: expected texts"),
        (blob({"a": 3}), "a: expected dtype, shape and data_offsets"),
        (blob({"a": entry() | {"more": 1}}, b"\0" * 8), "a: expected dtype, shape"),
        (blob({"a": entry("F31")}, b"\0" * 8), "dtype 'F31' is not known"),
        (blob({"a": entry(dtype={})}, b"\0" * 8), "is not known"),  # type: ignore[arg-type]
        (blob({"a": entry(shape=[-2])}, b"\0" * 8), "shape: expected whole numbers"),
        (blob({"a": entry(shape=[2.0])}, b"\0" * 8), "shape: expected whole numbers"),
        (blob({"a": entry(shape=[True, 2])}, b"\0" * 8), "shape: expected whole numbers"),
        (blob({"a": entry(shape=2)}, b"\0" * 8), "shape: expected whole numbers"),
        (blob({"a": entry(shape=[1 << 62] * 8)}), "take more than any file's bytes"),
        (blob({"a": entry(shape=[10**30])}), "shape: expected whole numbers"),
        (blob({"a": entry(shape=[3])}, b"\0" * 8), "3 of F32 take 12 bytes, and its place has 8"),
        (blob({"a": entry("F4", [3], [0, 2])}, b"\0" * 2), "3 of F4 take 1 bytes"),
        (blob({"a": entry(offsets=[8, 0])}, b"\0" * 8), "data_offsets"),
        (blob({"a": entry(offsets=[0])}, b"\0" * 8), "data_offsets"),
        (blob({"a": entry(offsets=[-8, 0])}, b"\0" * 8), "data_offsets"),
        (blob({"a": entry(), "b": entry(offsets=[4, 12])}, b"\0" * 12), "b lies on a"),
        (blob({"a": entry(), "b": entry()}, b"\0" * 8), "b lies on a"),
        (blob({"a": entry(), "b": entry(offsets=[9, 17])}, b"\0" * 17), "1 bytes in front of b"),
        (blob({"a": entry()}, b"\0" * 7), "the tensors take 8 bytes, and 7 follow"),
        (blob({"a": entry()}, b"\0" * 9), "1 bytes behind the last tensor"),
        (blob(b'{"a":1,"a":2}'), "a occurs twice"),
        (blob({"a\x1b[31m": entry()}, b"\0" * 8), "is no name of a tensor"),
        (blob({"": entry()}, b"\0" * 8), "is no name of a tensor"),
        (blob(json.dumps({"a": entry()}).encode("utf-16"), b"\0" * 8), "is no JSON"),
        (blob(b"\xef\xbb\xbf{}"), "is no JSON"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, raw: bytes, message: str) -> None:
    assert message in refused(tmp_path, raw)


def test_doubled_names_of_a_nested_object(tmp_path: Path) -> None:
    text = json.dumps(entry())[1:-1]
    raw = blob(f'{{"a": {{{text}, "shape": [1]}}}}'.encode(), b"\0" * 8)
    assert "shape occurs twice" in refused(tmp_path, raw)


def test_all_faults_at_once_but_not_endless(tmp_path: Path) -> None:
    raw = blob({f"t{i}": entry("F31") for i in range(20)}, b"")
    text = refused(tmp_path, raw)
    assert text.count("is not known") == 8
    assert "and 12 more faults" in text


def test_names_that_would_move_the_cursor_are_shown_plain(tmp_path: Path) -> None:
    text = refused(tmp_path, blob({"a\x1b[2J" + "b" * 5000: entry()}, b"\0" * 8))
    assert "\x1b" not in text
    assert len(text) < 500


def test_a_file_cut_off_while_it_is_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.safetensors", {"a": normal(4, 4)})
    with Shard(path) as shard:
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(BadInput, match="a: the file ended at byte"):
            shard.rows("a")


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    path.write_bytes(blob(raw))
    try:
        assert read_header(path).start == 8 + len(raw)
    except BadInput as fault:
        assert "header" in str(fault)  # noqa: PT017

"""YAML in: YAML 1.2 scalars, lines, and everything that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.catalog import parse, read
from racktwin.catalog.document import LARGEST
from racktwin.finding import BadInput


def test_scalars_follow_yaml_1_2() -> None:
    text = "a: 1e9\nb: no\nc: 1:30\nd: 010\ne: true\nf: ~\ng: 1_000\nh: 2026-11-30\ni: .5\nj: '3'"
    plain = parse(text).plain()
    assert plain == {
        "a": 1e9,
        "b": "no",
        "c": "1:30",
        "d": 10,
        "e": True,
        "f": None,
        "g": "1_000",
        "h": "2026-11-30",
        "i": 0.5,
        "j": "3",
    }
    assert type(plain["a"]) is float
    assert type(plain["d"]) is int


def test_nodes_know_their_lines() -> None:
    node = parse("# head\na:\n  b: 1\n  c: [x, y]\n", "some.yaml")
    inner = node.value["a"].value["b"]
    assert (inner.value, inner.line, inner.file) == (1, 3, "some.yaml")


def test_facts_read_as_their_values() -> None:
    node = parse("tdp: {value: 1.4 kW, kind: datasheet, source: x}")
    assert node.plain() == {"tdp": "1.4 kW"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'key: value' lines"),
        ("- 1\n- 2", "expected 'key: value' lines"),
        ("a: 1\na: 2", "line 2   a: stands twice"),
        ("a: [1, 2\nb: 3", "line 2   yaml: not valid"),
        ("a: 'open", "not valid"),
        ("a:\n\tb: 1", "line 2"),
        ("a: &x 1\nb: *x", "anchors and aliases are not supported"),
        ("a: !!python/object/apply:os.system [ls]", "tags are not supported"),
        ("a: !mine x", "tags are not supported"),
        ("? [1, 2]\n: 3", "a key must be a word"),
        ("a: " + "[" * 5000, "nesting depth"),
        ("a: " + "[" * 900 + "]" * 900, "nested too deeply"),
        ("a: \x00", "not valid"),
        ("a: " + "9" * 5000, "is not a number that can be read"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert message in str(caught.value)


def test_all_findings_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        parse("a: 1\na: 2\nb: !x 3\nc: 4\nc: 5")
    assert [finding.line for finding in caught.value.findings] == [2, 3, 5]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    large, latin = tmp_path / "large.yaml", tmp_path / "latin.yaml"
    large.write_text("a: " + "x" * LARGEST)
    latin.write_bytes(b"a: 1\nb: \xe9")
    for path, message in (
        (large, "larger than 1 MiB"),
        (latin, "line 2   file: is not UTF-8 text"),
        (tmp_path, "cannot be read"),
        (tmp_path / "a\0b.yaml", "cannot be read"),
        (tmp_path / "none.yaml", "cannot be read: No such file"),
    ):
        with pytest.raises(BadInput, match=message):
            read(path)


def test_a_byte_order_mark_is_no_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read(path).plain() == {"a": 1, "b": 2}


@given(st.text(alphabet="ab:-[]{}&*!?#'\"\n 1.e~%@`|>,", max_size=60))
def test_any_text_is_a_document_or_a_finding(text: str) -> None:
    try:
        found = parse(text).plain()
    except BadInput:
        return
    assert isinstance(found, dict)

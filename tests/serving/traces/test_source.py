from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from racktwin.finding import BadInput
from racktwin.serving.traces import source
from racktwin.serving.traces.source import Source

TEXT = b"one\ntwo\n\nfour"


def packed(path: Path, data: bytes, how: str) -> Path:
    if how == "gzip":
        path.write_bytes(gzip.compress(data))
    elif how == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", data)
    else:
        path.write_bytes(data)
    return path


def content(path: Path) -> bytes:
    return b"".join(block.data for block in Source(path).blocks())


@pytest.mark.parametrize("how", ["plain", "gzip", "zip"])
def test_blocks_hold_whole_lines_with_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = packed(tmp_path / "any.name", TEXT, how)
    monkeypatch.setattr(source, "BLOCK", 5)
    blocks = list(Source(path).blocks())
    assert b"".join(block.data for block in blocks) == TEXT
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])
    for block in blocks:
        assert block.line == TEXT[: TEXT.index(block.data)].count(b"\n") + 1
    assert Source(path).head == TEXT


@pytest.mark.parametrize("how", ["gzip", "zip"])
def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = packed(tmp_path / "bomb", b"0\n" * 4_000_000, how)
    monkeypatch.setattr(source, "FREELY", 1 << 20)
    with pytest.raises(BadInput, match="unpacks to more than 100 times its size"):
        content(path)
    with pytest.raises(BadInput, match="unpacks to more than"):
        Source(path).whole()


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "long", b"x\n" + b"y" * 100, "plain")
    monkeypatch.setattr(source, "BLOCK", 8)
    monkeypatch.setattr(source, "LONGEST", 32)
    with pytest.raises(BadInput, match=r"line 2 .*longer than"):
        content(path)


def test_what_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d\n" % n for n in range(100_000)))
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="cannot be read"):
        content(tmp_path / "cut.gz")
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04" + b"\0" * 50)
    with pytest.raises(BadInput, match="cannot be read"):
        Source(tmp_path / "bad.zip")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("b", "2")
    with pytest.raises(BadInput, match="archive of 2 files"):
        Source(tmp_path / "two.zip")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        Source(tmp_path / "nothing")
    with pytest.raises(BadInput, match="is not a plain file"):
        Source("/dev/null")


def test_members_of_folders_and_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / name).write_bytes(name.encode())
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.add(folder, "set")
    (tmp_path / "set.tgz").write_bytes(stream.getvalue())
    assert list(Source(folder).members()) == [("a", b"a"), ("b", b"b")]
    assert Source(tmp_path / "set.tgz").is_tar
    assert sorted(Source(tmp_path / "set.tgz").members()) == [("a", b"a"), ("b", b"b")]
    monkeypatch.setattr(source, "WHOLE", 1)
    with pytest.raises(BadInput, match="unpacks to more"):
        list(Source(tmp_path / "set.tgz").members())

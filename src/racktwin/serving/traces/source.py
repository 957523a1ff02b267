"""Source: a trace file as blocks of whole lines, unpacked on the way, within bounds."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from racktwin.finding import BadInput, Finding

BLOCK = 1 << 20  # bytes read at once
HEAD = 1 << 16  # bytes looked at to recognise a format
LONGEST = 64 << 20  # bytes of one line
WHOLE = 512 << 20  # bytes of a document that must be held at once
FREELY = 256 << 20  # bytes any archive may unpack to
FACTOR = 100  # times its size a larger one may unpack to; traces pack 5 to 30 times
MARK = b"\xef\xbb\xbf"  # that some editors write in front of UTF-8
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
BROKEN = (EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, RuntimeError, OSError)


class Block(msgspec.Struct, frozen=True):
    """Whole lines; `line` is the number of the first."""

    line: int
    data: bytes


class Source:
    """A plain, gzip or zip file, or a folder. Reading raises BadInput with what is wrong."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self.is_folder = self.path.is_dir()
        if not self.is_folder and not self.path.is_file():
            reason = "is not a plain file" if self.path.exists() else "does not exist"
            raise self.fault(reason)
        self.head = b"" if self.is_folder else self._start()

    @property
    def is_tar(self) -> bool:
        """Whether it holds a tar archive."""
        return self.head[257:262] == b"ustar"

    def fault(self, message: str, line: int | None = None) -> BadInput:
        """What is wrong with the file, to be raised."""
        return BadInput([Finding("trace", message, line)], str(self.path))

    def blocks(self) -> Iterator[Block]:
        """The file, block by block; empty at the end of a line only."""
        number, rest = 1, b""
        with self.open() as stream:
            for piece in iter(lambda: stream.read(BLOCK), b""):
                rest = (rest + piece).removeprefix(MARK) if number == 1 else rest + piece
                cut = rest.rfind(b"\n") + 1
                if cut:
                    yield Block(number, rest[:cut])
                    number += rest.count(b"\n", 0, cut)
                    rest = rest[cut:]
                elif len(rest) > LONGEST:
                    raise self.fault(f"a line is longer than {LONGEST >> 20} MiB", number)
        if rest:
            yield Block(number, rest)

    def whole(self) -> bytes:
        """All of the file, for documents that are one value."""
        with self.open() as stream:
            data = stream.read(WHOLE + 1).removeprefix(MARK)
        if len(data) > WHOLE:
            raise self.fault(f"is one document of more than {WHOLE >> 20} MiB")
        return data

    def members(self) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files in the folder or tar archive, in order of name."""
        if self.is_folder:
            for path in sorted(self.path.iterdir()):
                if path.is_file():
                    yield path.name, Source(path).whole()
            return
        with self.open() as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            total = 0
            for each in archive:
                total += each.size
                if total > WHOLE:
                    raise self.fault(f"unpacks to more than {WHOLE >> 20} MiB")
                content = archive.extractfile(each) if each.isfile() else None
                if content:
                    yield Path(each.name).name, content.read()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The unpacked bytes; what goes wrong while reading them is the file's fault."""
        try:
            with self.path.open("rb") as raw:
                yield _unpacked(raw, self)
        except BROKEN as error:
            detail = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise self.fault(f"cannot be read: {detail}") from error

    def _start(self) -> bytes:
        with self.open() as stream:
            return stream.read(HEAD).removeprefix(MARK)


class Bounded(io.RawIOBase):
    """A stream that refuses to unpack to far more than its packed size."""

    def __init__(self, stream: IO[bytes], source: Source) -> None:
        self.stream, self.source = stream, source
        self.most = max(FREELY, FACTOR * source.path.stat().st_size)
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            size = self.most + 1
        data = self.stream.read(size)
        self.count += len(data)
        if self.count > self.most:
            raise self.source.fault(f"unpacks to more than {FACTOR} times its size: not a trace")
        return data


def _unpacked(raw: IO[bytes], source: Source) -> IO[bytes]:
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(GZIP):
        return Bounded(gzip.GzipFile(fileobj=raw), source)  # type: ignore[return-value, arg-type]
    if magic == ZIP:
        archive = zipfile.ZipFile(raw)
        files = [each for each in archive.infolist() if not each.is_dir()]
        if len(files) != 1:
            raise source.fault(f"is a zip archive of {len(files)} files; expected one")
        return Bounded(archive.open(files[0]), source)  # type: ignore[return-value]
    return raw

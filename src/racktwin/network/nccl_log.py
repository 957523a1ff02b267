"""What nccl-tests prints: the lines of a run, read without trust."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from racktwin.finding import BadInput, Finding

MOST_BYTES = 16 << 20  # of a log; a run over 30 sizes prints 10 kB
MOST_LINES = 100_000
LONGEST = 2_000  # characters of a line
STARTS = re.compile(r"(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv)_perf")
NAMES = {"alltoall": "all_to_all", "sendrecv": "send_recv"}
RANK = re.compile(r"^#\s+Rank\s+(\d{1,7})\b.*?\bon\s+(\S+)\s+device\s+\S+\s+(?:\[\S+\]\s*)?(.*)$")
FIGURE = re.compile(r"[0-9]+\.[0-9]*|N/A|nan|inf|-?[0-9.e+-]+")
WORDS = 8  # columns of a line at least: size, count, type, redop, root, time, algbw, busbw


class Line(msgspec.Struct, frozen=True):
    """One size. size: bytes; seconds: s out of place; wrong: values that were wrong, 0 if not told.

    number: 1-based line of the log.
    """

    number: int
    size: float
    seconds: float
    dtype: str
    wrong: int = 0


class Log(msgspec.Struct, frozen=True):
    """A run: its operation and ranks where the log tells them ('' and 0), its hosts and lines.

    skipped: lines that look like results and could not be read.
    """

    operation: str
    ranks: int
    hosts: int
    device: str
    lines: tuple[Line, ...]
    skipped: tuple[int, ...] = ()


def read(path: str | Path) -> Log:
    """Read the output of an nccl-tests program; BadInput when it holds no result."""
    text = _text(Path(path))
    operation, hosts, devices, lines, skipped = "", [], [], [], []
    for number, line in enumerate(text.splitlines()[:MOST_LINES], 1):
        line = line[:LONGEST].strip()
        if started := STARTS.search(line):
            operation = NAMES.get(started[1], started[1])
        if line.startswith("#"):
            if rank := RANK.match(line):
                hosts.append(rank[2])
                devices.append(rank[3].strip())
            continue
        words = line.split()
        if not words or not words[0].isdigit() or len(words) < WORDS:
            continue
        found = _line(number, words)
        if found is None:
            skipped.append(number)
        elif found.size > 0:
            lines.append(found)
    if not lines:
        message = "holds no line of results (size, count, type, redop, root, time, algbw, busbw)"
        raise BadInput([Finding("--compare", message)], str(path))
    lines.sort(key=lambda each: each.size)
    device = devices[0] if devices else ""
    return Log(operation, len(hosts), len(set(hosts)), device, tuple(lines), tuple(skipped))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as fault:
        message = f"cannot be read: {fault.strerror or fault}"
        raise BadInput([Finding("--compare", message)], str(path)) from None
    if len(data) > MOST_BYTES:
        message = f"is larger than {MOST_BYTES >> 20} MiB; an nccl-tests log is a few kB"
        raise BadInput([Finding("--compare", message)], str(path))
    return data.decode("utf-8", errors="replace")


def _line(number: int, words: list[str]) -> Line | None:
    """A line of results; its redop and root may be missing in old versions."""
    try:
        size, dtype = float(words[0]), words[2]
        at = 5 if FIGURE.fullmatch(words[5]) else 3
        seconds = float(words[at]) * 1e-6
        wrong = words[at + 3] if len(words) > at + 3 else "0"
    except ValueError:
        return None
    if not 0 <= size < 1e16 or not 0 < seconds < 1e6:
        return None
    return Line(number, size, seconds, dtype, int(wrong) if wrong.isdigit() else 0)

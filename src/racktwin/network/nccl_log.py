"""What nccl-tests prints: the lines of a run, read without trust."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.network.nccl_row import WORDS, Line, row

MOST_BYTES = 16 << 20  # of a log; a run over 30 sizes prints 10 kB
MOST_LINES = 100_000
LONGEST = 2_000  # characters of a line
SHOWN = 6  # lines of a log without results that are named
STARTS = "Collective test starting"
PROGRAM = re.compile(r"\b([a-z][a-z0-9_]*)_perf\b")
NAMES = {
    **{name: name for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast")},
    "alltoall": "all_to_all",
    "sendrecv": "send_recv",
}
LABEL = re.compile(r"^(\[\d+,\d+\]<std(out|err)>:|\d+:\s)")  # of mpirun and srun
RANK = re.compile(r"^#\s+Rank\s+(\d{1,7})\b.*?\bon\s+(\S+)\s+device\s+\S+\s+(?:\[\S+\]\s*)?(.*)$")


class Skipped(msgspec.Struct, frozen=True):
    """A line (1-based) that looks like a result and is not believed, and why."""

    number: int
    reason: str


class Log(msgspec.Struct, frozen=True):
    """A run: its operation and ranks where the log tells them ('' and 0), its hosts and lines."""

    operation: str
    ranks: int
    hosts: int
    device: str
    lines: tuple[Line, ...]
    skipped: tuple[Skipped, ...] = ()


def read(path: str | Path) -> Log:
    """Read the output of an nccl-tests program; BadInput when it holds no result."""
    every = [
        LABEL.sub("", line[:LONGEST]).strip()
        for line in _text(Path(path)).splitlines()[:MOST_LINES]
    ]
    operation = _operation(every, path)
    ranks = {int(found[1]): found for line in every if (found := RANK.match(line))}
    lines: list[Line] = []
    skipped: list[Skipped] = []
    for number, text in enumerate(every, 1):
        words = text.split()
        if len(words) < WORDS or not words[0].isdigit():
            continue
        said = row(number, words, operation, len(ranks))
        if isinstance(said, str):
            skipped.append(Skipped(number, _shown(said)))
        elif said.size > 0:
            lines.append(said)
    if not lines:
        wanted = "size, count, type, redop, root, time, algbw, busbw, #wrong"
        findings = [Finding("--compare", f"holds no line of results that agrees ({wanted})")]
        findings += [Finding("--compare", each.reason, each.number) for each in skipped[:SHOWN]]
        raise BadInput(findings, str(path))
    lines.sort(key=lambda each: each.size)
    hosts = {each[2] for each in ranks.values()}
    device = next((_shown(each[3].strip()) for each in ranks.values()), "")
    return Log(operation, len(ranks), len(hosts), device, tuple(lines), tuple(skipped))


def _operation(lines: list[str], path: str | Path) -> str:
    """The program that ran, '' where nothing says; BadInput for several and for unknown ones."""
    ran: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        for name in PROGRAM.findall(line):
            if name in NAMES or line.lstrip("# ").startswith(STARTS):
                ran.setdefault(name, number)
    findings = [
        Finding("--compare", f"a run of {_shown(name)[:40]}_perf; expected {', '.join(NAMES)}", at)
        for name, at in ran.items()
        if name not in NAMES
    ]
    if len(ran) > 1 and not findings:
        findings = [
            Finding("--compare", f"a run of {name}_perf; give one program's at a time", at)
            for name, at in ran.items()
        ]
    if findings:
        raise BadInput(findings, str(path))
    return next((NAMES[name] for name in ran), "")


def _shown(text: str) -> str:
    """Text as it may go to a terminal."""
    return "".join(letter for letter in text if letter.isprintable())


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as fault:
        message = f"cannot be read: {getattr(fault, 'strerror', None) or fault}"
        raise BadInput([Finding("--compare", message)], str(path)) from None
    if len(data) > MOST_BYTES:
        message = f"is larger than {MOST_BYTES >> 20} MiB; an nccl-tests log is a few kB"
        raise BadInput([Finding("--compare", message)], str(path))
    return data.decode("utf-8", errors="replace")

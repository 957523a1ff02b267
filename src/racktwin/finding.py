"""Findings: what is wrong with an input, said once, in one form, all together.

Every reader of outside input collects `Finding`s and raises one `BadInput` with all of them.
The command line prints it and exits with code 2; from Python it is an ordinary exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import msgspec

CLOSE, CLOSE_SHORT = 0.65, 0.5  # share of letters alike, from which a name may be meant
SHORT = 3  # letters: of a name of so few one weighs much, and so many begin a name


class Finding(msgspec.Struct, frozen=True):
    """One fault in one place.

    key: dotted path of the faulty value ('decode.expert'), or the name of a flag ('--tpot').
    message: what was found and what was expected, in one sentence.
    line: 1-based line in the file, when it is known.
    note: True for a remark that does not stop the work.
    """

    key: str
    message: str
    line: int | None = None
    note: bool = False

    def __str__(self) -> str:
        place = f"line {self.line} ".ljust(9) if self.line is not None else ""
        remark = "  [note]" if self.note else ""
        return f"{place}{self.key}: {self.message}{remark}"


class BadInput(Exception):
    """An input that cannot be used; carries every finding, and the file it concerns."""

    def __init__(self, findings: Sequence[Finding], source: str = "") -> None:
        self.findings = tuple(findings)
        self.source = source
        super().__init__(str(self))

    def __str__(self) -> str:
        count = len(self.findings)
        head = f"{self.source or 'input'}: {count} finding{'s' if count != 1 else ''}"
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])


def gathered(faults: Sequence[BadInput], source: str) -> BadInput:
    """Several as one: a single one as it is, else all findings of `source`, other places named."""
    if len(faults) == 1:
        return faults[0]
    findings = [
        each if fault.source == source else Finding(fault.source, str(each))
        for fault in faults
        for each in fault.findings
    ]
    return BadInput(findings, source)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name closest in spelling to `name`, or one that begins like it; None without."""
    known = {each.lower(): each for each in names}
    cutoff = CLOSE_SHORT if len(name) <= SHORT else CLOSE
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=cutoff)
    if close:
        return known[close[0]]
    return next((full for each, full in known.items() if _begins(name.lower(), each)), None)


def _begins(one: str, other: str) -> bool:
    """Whether one name is the beginning of the other ('tele', 'telemetry')."""
    short, long = sorted((one, other), key=len)
    return len(short) >= SHORT and long.startswith(short)


def unknown(key: str, name: str, names: Iterable[str], line: int | None = None) -> Finding:
    """The finding for a name that is not among `names`, with the nearest valid one."""
    names = list(names)
    close = nearest(name, names)
    every = ", ".join(sorted(names)[:12]) or "none"
    hint = f"did you mean {close!r}?" if close else f"known: {every}"
    return Finding(key, f"{name!r} is not known; {hint}", line)

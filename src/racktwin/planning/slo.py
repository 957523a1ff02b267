"""Service-level objectives: a level of a latency over all requests, and the most it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from racktwin.finding import BadInput, Finding, unknown
from racktwin.units import Seconds

if TYPE_CHECKING:
    from racktwin.planning.trial import Trial

LEVELS = ("mean", "p50", "p90", "p95", "p99")
USUAL = "p99"
MOST = 1e9


class Slo(msgspec.Struct, frozen=True):
    """`level` of `figure` ('ttft' or 'tpot') is at most `limit`, s."""

    figure: str
    level: str
    limit: float

    def value(self, trial: Trial) -> float:
        """The level in a trial, s."""
        return float(getattr(getattr(trial, self.figure), self.level))

    @property
    def name(self) -> str:
        """In words: 'p99 TTFT'."""
        return f"{self.level} {self.figure.upper()}"

    def __str__(self) -> str:
        return f"{self.name} <= {Seconds(self.limit)}"


def read(flag: str, text: str | None, findings: list[Finding]) -> Slo | None:
    """`p99:2s`, or `2s` for the usual level; faults go to `findings`. flag: --slo-FIGURE."""
    if text is None:
        return None
    level, colon, limit = text.partition(":")
    if not colon:
        level, limit = USUAL, text
    if level not in LEVELS:
        findings.append(unknown(flag, level[:20], LEVELS))
    try:
        seconds = float(Seconds.parse(limit.strip(), flag))
    except BadInput as fault:
        findings += fault.findings
        return None
    if not 0 < seconds < MOST:
        findings.append(Finding(flag, f"expected a time above 0, found {limit[:20]}"))
    return Slo(flag.removeprefix("--slo-"), level, seconds)

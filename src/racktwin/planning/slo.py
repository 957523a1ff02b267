"""Service-level objectives: a level of a latency over all requests, and the most it may be; or the
share of requests within the limits of each, and the least it may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from racktwin.finding import BadInput, Finding, unknown
from racktwin.serving.limits import Limits
from racktwin.serving.slo_class import SloClass
from racktwin.units import Fraction, Seconds

if TYPE_CHECKING:
    from racktwin.planning.trial import Trial

LATENCIES = ("ttft", "tpot", "itl", "e2e")
OF_A_REQUEST = ("ttft", "tpot", "e2e")
LEVELS = ("mean", "p50", "p90", "p95", "p99")
USUAL = "p99"
GOODPUT = "goodput"
MOST = 1e9


class Slo(msgspec.Struct, frozen=True):
    """`level` of `figure`, one of `LATENCIES`, is at most `limit`, s; or the `share` of goodput is
    at least `limit`, 0..1.
    """

    figure: str
    level: str
    limit: float

    def value(self, trial: Trial) -> float:
        """The level in a trial, s; or the share of requests within their limits, 0..1."""
        if self.figure == GOODPUT:
            return trial.attained
        return float(getattr(getattr(trial, self.figure), self.level))

    def excess(self, trial: Trial) -> float:
        """How many times the limit the value is (1), at most 1 where the objective is kept."""
        value = self.value(trial)
        if self.figure == GOODPUT:
            return self.limit / value if value else math.inf
        return value / self.limit

    def keeps(self, trial: Trial) -> bool:
        """Whether a trial keeps it; what has no value does not."""
        return self.excess(trial) <= 1

    def found(self, trial: Trial) -> str:
        """The value in words: 'p99 TTFT 2.1 s'."""
        return f"{self.name} {self._text(self.value(trial))}"

    @property
    def name(self) -> str:
        """In words: 'p99 TTFT'."""
        return GOODPUT if self.figure == GOODPUT else f"{self.level} {self.figure.upper()}"

    def _text(self, value: float) -> str:
        return f"{value:.1%}" if self.figure == GOODPUT else str(Seconds(value))

    def __str__(self) -> str:
        sign = ">=" if self.figure == GOODPUT else "<="
        return f"{self.name} {sign} {self._text(self.limit)}"


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


def read_share(flag: str, text: str | None, findings: list[Finding]) -> Slo | None:
    """`95%` of the requests; faults go to `findings`."""
    if text is None:
        return None
    try:
        share = float(Fraction.parse(text, flag))
    except BadInput as fault:
        findings += fault.findings
        return None
    if share <= 0:
        findings.append(Finding(flag, f"expected a share above 0, found {text[:20]}"))
    return Slo(GOODPUT, "share", share)


def read_all(
    given: dict[str, str | None], share: str | None, findings: list[Finding]
) -> tuple[tuple[Slo, ...], Limits]:
    """The objectives, and the limits of a good request; faults go to `findings`.

    given: texts by latency; share: of good requests, with which a time without a level is a limit
    of a request and no objective.
    """
    texts = {name: read(f"--slo-{name}", text, findings) for name, text in given.items()}
    found = [each for each in texts.values() if each is not None]
    limits = Limits(**{each.figure: each.limit for each in found if each.figure in OF_A_REQUEST})
    least = read_share("--slo-goodput", share, findings)
    if least is None:
        return tuple(found), limits
    levelled = [each for each in found if ":" in str(given[each.figure])]
    return (*levelled, least), limits


def check_share(
    slos: Sequence[Slo], limits: Limits, classes: Sequence[SloClass]
) -> Iterator[Finding]:
    """A share of good requests needs a limit, s, that makes them good."""
    known = [limits, *(each.limits for each in classes)]
    if any(each.figure == GOODPUT for each in slos) and all(each == Limits() for each in known):
        flags = ", ".join(f"--slo-{name}" for name in OF_A_REQUEST)
        yield Finding("--slo-goodput", f"of which limits? give {flags}")


def means(slos: Sequence[Slo], limits: Limits) -> dict[str, float]:
    """The lowest limits, s, on the mean TTFT and TPOT that objectives and `limits` come to.

    A mean stays below the upper percentiles, so their limits hold for it.
    """
    upper = [each for each in slos if each.level != "p50"]
    shared = any(each.figure == GOODPUT for each in slos)
    found = {}
    for name, figures in {"ttft": ("ttft",), "tpot": ("tpot", "itl")}.items():
        most = [each.limit for each in upper if each.figure in figures]
        most += [getattr(limits, name)] if shared else []
        if math.isfinite(least := min(most, default=math.inf)):
            found[name] = least
    return found

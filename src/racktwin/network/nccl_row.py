"""A line of results that an nccl-tests program printed, and whether its columns agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from racktwin.network import dtype as dtypes
from racktwin.network.volume import OPERATIONS, wire_share

WORDS = 7  # columns at least: size, count, type, time, algbw, busbw, #wrong
WITHOUT_ROOT = (8, 12)  # columns where redop is followed by the time
MOST_BYTES = 1e16
LEAST_TIME, MOST_TIME = 1e-3, 1e12  # us
ROUNDING = 0.006  # of a bandwidth printed with two digits, GB/s
LOOSE = 0.02  # a share, of times printed with few digits
COUNTED_APART = ("all_gather", "reduce_scatter", "all_to_all")  # count is of one rank's part
FIGURE = re.compile(r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
WHOLE = re.compile(r"-?[0-9]+")


class Line(msgspec.Struct, frozen=True):
    """One size. size: bytes; seconds: s out of place; wrong: values that were wrong, 0 if not told.

    number: 1-based line of the log.
    """

    number: int
    size: float
    seconds: float
    dtype: str
    wrong: int = 0


def row(number: int, words: list[str], operation: str, ranks: int) -> Line | str:
    """What a line says, or why it cannot be believed; ranks: 0 where the log names none."""
    if dtypes.named(words[2]) is None or not WHOLE.fullmatch(words[1]):
        return f"{words[1][:20]} {words[2][:20]} is no count and type of values"
    at = _time_at(words)
    figures, wrong = words[at : at + 3], (words[at + 3 : at + 4] or ["0"])[0]
    if figures and figures[0] == "N/A":
        return "no time out of place"
    strange = [each for each in figures if not FIGURE.fullmatch(each)]
    if strange or len(figures) < 3:
        return f"{(strange or ['nothing'])[0][:20]} stands for a time or a bandwidth"
    if wrong != "N/A" and not FIGURE.fullmatch(wrong):  # old versions print an error, as 2e-07
        return f"{wrong[:20]} values were wrong"
    size, count = float(words[0]), float(words[1]) * dtypes.BYTES[dtypes.named(words[2]) or "int8"]
    time, algbw, busbw = map(float, figures)
    if size > 0:
        doubts = _doubts(size, count, (time, algbw, busbw), operation, ranks)
        if doubt := next(doubts, ""):
            return doubt
    return Line(number, size, time * 1e-6, words[2], int(wrong) if wrong.isdigit() else 0)


def _time_at(words: list[str]) -> int:
    """Where the time stands: after the type, the redop, or the root."""
    if FIGURE.fullmatch(words[3]):
        return 3
    return 5 if WHOLE.fullmatch(words[4]) and len(words) not in WITHOUT_ROOT else 4


def _doubts(
    size: float, count: float, figures: tuple[float, float, float], operation: str, ranks: int
) -> Iterator[str]:
    time, algbw, busbw = figures
    if size > MOST_BYTES or not LEAST_TIME <= time <= MOST_TIME:
        yield f"{size:g} bytes in {time:g} us"
    parts = size / count if count else 0.0
    apart = operation in (*COUNTED_APART, "") and parts == int(parts) and parts > 0
    if parts != 1 and not (apart and (not ranks or parts == ranks)):
        yield f"its count is of {count:,.0f} bytes, its size {size:,.0f}"
    rate = size / time / 1e3
    if abs(algbw - rate) > ROUNDING + LOOSE * rate:
        yield f"algbw is {algbw:g}, and size over time {rate:.4g} GB/s"
    share = 1.0
    if operation in OPERATIONS and ranks > 1:
        share = wire_share(operation, ranks)
    elif operation != "send_recv":
        return
    if abs(busbw - share * algbw) > 2 * ROUNDING + LOOSE * busbw:
        yield f"busbw is {busbw:g}, and of {ranks} ranks {share:.4g} times algbw"

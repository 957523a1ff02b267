"""Feeds that are lost: which racks still hang on which feed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from racktwin.finding import BadInput, Finding, unknown
from racktwin.hardware.facility import Facility

LETTERS = "ABCDEFGH"
UNIT = re.compile(r"([0-9]+)/([A-Za-z])")


def lost_feeds(text: str, facility: Facility, racks: int) -> NDArray[np.bool_]:
    """Which of `racks` racks (a row each) are on each feed (a column), with faults as in `text`.

    text: 'feed:A' for a whole feed, 'row:2/A' for unit 2 of a stage on feed A; commas between.
    BadInput names everything in it that is not there.
    """
    alive = np.ones((racks, facility.feeds), bool)
    faults = [word.strip() for word in text.split(",") if word.strip()]
    found = [each for word in faults for each in _fault(word, facility, alive)]
    if found:
        raise BadInput(found, "power")
    return alive


def _fault(word: str, facility: Facility, alive: NDArray[np.bool_]) -> Iterator[Finding]:
    """Take one fault out of `alive`; a finding where there is no such thing."""
    kind, _, place = word.partition(":")
    names = {each.name: each for each in facility.stages}
    letters = LETTERS[: facility.feeds]
    if kind == "feed":
        if place.upper() not in tuple(letters):
            yield Finding("--fail", f"{word!r}: expected feed:{' or feed:'.join(letters)}")
            return
        alive[:, letters.index(place.upper())] = False
        return
    if kind not in names:
        yield unknown("--fail", kind, ["feed", *names])
        return
    match, size = UNIT.fullmatch(place), names[kind].racks
    units = -(-len(alive) // size)
    if match is None or match[2].upper() not in letters or int(match[1]) >= units:
        example = f"{kind}:0/A to {kind}:{units - 1}/{letters[-1]}"
        yield Finding("--fail", f"{word!r}: expected {example}")
        return
    at = int(match[1])
    alive[at * size : (at + 1) * size, letters.index(match[2].upper())] = False

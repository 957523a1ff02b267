"""Following: which request of a trace goes on with the conversation of which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.trace import Trace

Ints = NDArray[np.int64]
WHOLE = 0.9  # of the full blocks of a prompt that its successor shares


def recorded(trace: Trace) -> Ints:
    """Index of the turn before in the same session, -1 for an opening."""
    last: dict[int, int] = {}
    before = []
    for row, session in enumerate(trace.session.tolist()):
        before.append(last.get(session, -1))
        last[session] = row
    return np.array(before)


def by_prefix(trace: Trace) -> tuple[Ints, int]:
    """The same from shared blocks, and how many blocks all requests begin with.

    A request goes on with the last one that had its deepest known block, when it shares nearly
    all full blocks of that one's prompt and more than everybody does.
    """
    rows = np.split(trace.blocks, trace.starts[1:-1])
    common = 0
    while all(len(row) > common and row[common] == rows[0][common] for row in rows):
        common += 1
    owner: dict[int, int] = {}
    before = []
    for index, row in enumerate(rows):
        blocks = row.tolist()
        known = next((n for n, block in enumerate(blocks) if block not in owner), len(blocks))
        parent = owner[blocks[known - 1]] if known > common else -1
        full = trace.input[parent] // trace.block_size if parent >= 0 else 0
        before.append(parent if known > common and known >= WHOLE * full else -1)
        owner.update(dict.fromkeys(blocks, index))
    return np.array(before), common

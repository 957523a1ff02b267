"""Turns: classes of sessions, with what each later request adds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.trace import Trace
from workload_fit.laws import lengths

Ints = NDArray[np.int64]


def classes(trace: Trace, before: Ints, parts: int, completed: bool) -> list[dict[str, Any]]:
    """Sessions in `parts` classes of equal number by the input of their first request.

    before: index of the turn before, -1 for a first one. completed: whether pauses are known from
    completion (s); else they run from arrival to arrival, and only sessions that open in the first
    half of the trace tell how they go on, for the end cuts the others off.
    """
    openings = np.flatnonzero(before < 0)
    root = np.arange(len(trace))
    for row in np.flatnonzero(before >= 0):
        root[row] = root[before[row]]
    early = root < len(trace) if completed else trace.arrival[root] < trace.arrival[-1] / 2
    ranked = openings[np.argsort(trace.input[openings], kind="stable")]
    found = []
    for first in np.array_split(ranked, parts):
        later = np.flatnonzero(np.isin(root, first) & early & (before >= 0))
        each = {
            "share": round(len(first) / len(openings), 4),
            "input": lengths(trace.input[first]),
            "output": lengths(trace.output[first]),
        }
        if len(later):
            counts = np.bincount(root, minlength=len(trace))[first[early[first]]]
            each["turns"] = {"count": lengths(counts)} | _turns(trace, before, later, completed)
        found.append(each)
    return found


def _turns(trace: Trace, before: Ints, later: Ints, completed: bool) -> dict[str, Any]:
    earlier = before[later]
    grown = trace.input[later] - trace.input[earlier]
    kept = np.median(np.abs(grown - trace.output[earlier])) < np.median(np.abs(grown))
    added = np.maximum(grown - kept * trace.output[earlier], 0)
    pause = trace.pause[later] if completed else trace.arrival[later] - trace.arrival[earlier]
    if completed:  # time spent in sub-agents is not the session's own
        pause = pause[trace.after[later] == earlier]
    return {
        "added": lengths(added),
        "output": lengths(trace.output[later]),
        "pause": lengths(pause, digits=3),
        "pause_from": "completion" if completed else "arrival",
        "kept": int(kept),
    }

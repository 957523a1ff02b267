"""What users feel of a request, as the benchmark tools define it; limits on it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.serving.fleet import Floats, Rules
from racktwin.serving.limits import Bounds, Limits
from racktwin.serving.prompting import Added

FIGURES = ("ttft", "tpot", "e2e", "queue", "ttst")


class Definition(msgspec.Struct, frozen=True):
    """How a tool counts; docs/reference/metrics.md says it at length.

    pooled: ITL is the time between any two chunks of any request, else the mean of a request.
    rank: percentiles are values that occurred (see `Sample.spread`), else lines between them.
    whole: every request counts, else those outside warm-up and drain.
    """

    name: str
    pooled: bool
    rank: bool
    whole: bool


DEFINITIONS = {
    each.name: each
    for each in (
        Definition("vllm", pooled=True, rank=False, whole=False),
        Definition("aiperf", pooled=False, rank=False, whole=False),
        Definition("mlperf", pooled=False, rank=True, whole=True),
    )
}


def figures(results: NDArray[Any], added: Added) -> Floats:
    """`FIGURES` of finished requests (`fleet.RESULT`), s, a row each; NaN where one has none.

    results: times in s. added: to the end of a prompt's step, and so to all later tokens; an answer
    of one token waits for no others. A prompt is not at its end before its first step begins.
    """
    arrival, first, finish = results["arrival"], results["first"], results["finish"]
    gaps = results["output"] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.where(gaps > 0, (finish - first) / gaps, np.nan)
        ttst = np.where(gaps > 0, results["second"] - first, np.nan)
    longer = np.maximum(added.prompts * results["read"], results["admitted"] - first)
    later = added.reply + longer + added.waits * np.where(gaps > 0, tpot, 0.0)
    return np.stack(
        [
            first - arrival + later,
            tpot,
            finish - arrival + later,
            results["admitted"] - arrival,
            ttst,
        ]
    )


def good(found: Floats, limits: Limits | Bounds) -> NDArray[np.bool_]:
    """Requests within every limit; `found` as `figures` gives it, s. One token has no TPOT."""
    ttft, tpot, e2e = found[:3]
    within: NDArray[np.bool_] = (ttft <= limits.ttft) & (e2e <= limits.e2e)
    quick: NDArray[np.bool_] = within & ~(tpot > limits.tpot)
    return quick


def gaps(log: NDArray[Any], rules: Rules) -> tuple[Floats, Floats, NDArray[Any]]:
    """Times between chunks, s, how often each occurred, and steps to look at with the next log.

    log: `fleet.STEP`, times in s. Where prompts stall all ranks a gap also holds the steps with
    prompts before it, for the sequences that decoded then. Those behind the last decode step are
    left over.
    """
    length = log["end"] - log["begin"]
    if rules.mixed or rules.singly:
        rests = log["steps"] == 0
        often = np.where(rests, log["batch"], log["usual"]).astype(float)
        return length / np.maximum(log["steps"], 1), often, log[:0]
    order = np.lexsort((log["begin"], log["replica"]))
    log, length = log[order], length[order]
    loaded = log["tokens"] > 0
    rows = np.flatnonzero(~loaded)
    stalled = np.concatenate([[0.0], np.cumsum(np.where(loaded, length, 0.0))])
    opening = np.searchsorted(log["replica"], log["replica"][rows])
    after = np.maximum(np.concatenate([[0], rows[:-1] + 1]), opening)
    stall = stalled[rows] - stalled[after]
    step, batch = length[rows] / log["steps"][rows], log["batch"][rows]
    held = np.where(stall > 0, log["batch"][np.maximum(rows - 1, 0)], batch)
    seconds = np.concatenate([step + stall, step])
    often = np.concatenate([held, log["steps"][rows] * batch - np.minimum(held, batch)])
    last = np.full(len(log) and int(log["replica"][-1]) + 1, -1)
    last[log["replica"][rows]] = rows
    left = log[np.arange(len(log)) > last[log["replica"]]]
    return seconds, often.astype(float), left

"""Traces with prefixes through a deployment: what is found in its caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serving.test_simulation import rows, run

from racktwin.serving import traces
from racktwin.serving.fleet import PREFILLED
from racktwin.serving.outcome import outcome, readings
from racktwin.serving.prefixes import units
from racktwin.serving.simulation import Simulation
from racktwin.serving.trace import Trace

UNIT = 512  # a block of the trace, 32 of the engine


@pytest.fixture(scope="module")
def conversation(shared: Path) -> Trace:
    """Part of the Mooncake conversation sample."""
    return traces.load(shared / "traces/mooncake_conversation_2500.jsonl").part(0, 800)


def endless(trace: Trace) -> int:
    """Tokens found in full units when nothing is ever dropped and every prompt is done at once."""
    rows, seen, found = units(trace, UNIT), set[int](), 0
    for row in range(len(trace)):
        ids = rows.part(row, row + 1).values.tolist()
        hits = next((place for place, unit in enumerate(ids) if unit not in seen), len(ids))
        found += min(hits, (int(trace.input[row]) - 1) // UNIT) * UNIT
        seen.update(ids)
    return found


def computed(done: Simulation) -> float:
    """Prompt tokens that were prefilled."""
    return float(readings(done, "serve", PREFILLED)[-1])


def test_no_more_is_found_than_was_there(conversation: Trace) -> None:
    found = {}
    for router in ("round_robin", "least_outstanding", "prefix_aware", "kv_aware"):
        done, told = rows(conversation, router=router)
        assert not told["losses"].any()
        assert computed(done) == (told["input"] - told["cached"]).sum()
        found[router] = told["cached"].sum()
        assert 0 < found[router] <= endless(conversation) <= conversation.cached.sum()
    assert found["prefix_aware"] > 1.5 * found["round_robin"]


def test_with_time_for_every_prompt_all_is_found(conversation: Trace) -> None:
    first = conversation.part(0, 60)  # little enough for the caches
    slow = first.having(arrival=np.arange(len(first)) * 100.0)
    _, told = rows(slow, router="prefix_aware")
    assert told["cached"].sum() == endless(slow)


def test_switched_off_everything_is_computed(conversation: Trace) -> None:
    done, told = rows(conversation, prefix_cache=False)
    assert not told["cached"].any()
    assert outcome(done).hits == 0
    assert computed(done) == conversation.input.sum()


def test_the_share_is_of_input_tokens(conversation: Trace) -> None:
    from racktwin.serving.metrics import DEFINITIONS

    done, told = rows(conversation, definition=DEFINITIONS["mlperf"])
    assert outcome(done).hits == pytest.approx(told["cached"].sum() / told["input"].sum())


@pytest.mark.parametrize("router", ["round_robin", "kv_aware"])
def test_stretches_of_the_stream_change_nothing(conversation: Trace, router: str) -> None:
    def result(chunk: int) -> dict[str, Any]:
        return rows(conversation, chunk=chunk, router=router)[1]

    whole, pieces = result(4000), result(37)
    for name in ("first", "finish", "cached"):
        assert np.array_equal(whole[name], pieces[name])


def test_an_agent_finds_its_own_words_again(shared: Path) -> None:
    trace = traces.load(shared / "traces/dynamo_pi_agent_request_trace.jsonl.gz")
    done = run(trace, router="prefix_aware")
    assert done.finished == len(trace)
    assert computed(done) < trace.input.sum() - trace.cached.sum()  # answers are found too

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agent_sessions
from racktwin.serving.traces import agent, load


def end(session: str, start: float, seconds: float, parent: str = "", tokens: int = 32) -> str:
    request: dict[str, Any] = {
        "input_tokens": tokens,
        "output_tokens": 4,
        "request_received_ms": start * 1000,
        "total_time_ms": seconds * 1000,
        "model": "m",
        "replay": {"trace_block_size": 16, "input_sequence_hashes": [2**63 + 1, 7]},
    }
    context = {"session_id": session} | ({"parent_session_id": parent} if parent else {})
    event = {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}
    return json.dumps(
        {"timestamp": 1, "event": event | {"agent_context": context, "request": request}}
    )


TOOL = json.dumps({"timestamp": 2, "event": {"schema": "x", "event_type": "tool_start"}})


def test_turns_wait_for_their_session_and_for_what_it_started(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    lines = [
        end("root", 100.0, 10.0),
        TOOL,
        end("one", 111.0, 5.0, "root"),
        end("two", 111.5, 20.0, "root"),
        end("one", 117.0, 2.0, "root"),
        end("root", 132.0, 3.0),
        '{"event": {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}}',
    ]
    path.write_text("\n".join(lines))
    made = load(path)
    assert made.arrival.tolist() == [0.0, 11.0, 11.5, 17.0, 32.0]
    assert made.session.tolist() == [0, 1, 2, 1, 0]
    # the second turn of root waits for `two`, which completes last, at 31.5
    assert made.after.tolist() == [-1, 0, 0, 1, 2]
    assert made.pause == pytest.approx([0, 1.0, 1.5, 1.0, 0.5])
    assert made.block_size == 16
    assert made.blocks[:2].tolist() == [1 - 2**63, 7]
    assert made.skipped[0].lines == (7,)


def test_the_shared_sessions(shared: Path) -> None:
    path = shared / "traces/dynamo_pi_agent_request_trace.jsonl.gz"
    made = load(path)
    assert len(made) == 17
    assert made.skipped == ()
    assert made.after.tolist() == [-1, -1, 1, 2, 2, 2, 3, 4, 6, 5, 8, 7, 10, 12, 13, 14, 15]
    assert made.pause[14] == pytest.approx(0.022, abs=0.001)  # sub-agents done, root goes on
    told = agent.measured(path)
    assert [each.input_tokens for each in told] == made.input.tolist()
    cached = sum(each.cached_tokens for each in told)
    assert cached / made.input.sum() == pytest.approx(0.7555, abs=1e-4)
    early = made.unpaced()
    assert (early.arrival <= np.sort(made.arrival)).all()


def test_a_replay_finds_what_was_measured_to_be_cached(shared: Path) -> None:
    """And times between tokens that are the measured ones but for one factor: the GPU's."""
    path = shared / "traces/dynamo_pi_agent_request_trace.jsonl.gz"
    told, found = agent.measured(path), agent_sessions.simulated(path)
    figures = agent_sessions.compared(told, found)
    cached, itl = figures["cached"], figures["itl"]
    assert cached.simulated.sum() == pytest.approx(cached.measured.sum(), rel=0.05)
    assert (np.abs(cached.simulated - cached.measured) <= 16).sum() >= 9
    # its session waited for sub-agents: what the turn before them answered is found
    assert cached.simulated[14] == cached.measured[14] == 6064
    assert itl.left.max() < 0.1

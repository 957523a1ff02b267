"""Agent sessions as Dynamo's request trace records them: JSON lines of requests and tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.lines import Row, requests
from racktwin.serving.traces.mooncake import hashes
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

MILLI = 1e-3


class Context(msgspec.Struct):
    """The session a request belongs to, and the one that started it."""

    session_id: str = ""
    parent_session_id: str = ""


class Replay(msgspec.Struct):
    """Prefix blocks of `trace_block_size` tokens."""

    trace_block_size: int
    input_sequence_hashes: list[int]


class Request(msgspec.Struct):
    """One request; times in ms, lengths in tokens; latencies and cache hits are as measured.

    ttft_ms is prefill_wait_time_ms (from its arrival at the front end) and prefill_time_ms.
    """

    input_tokens: float
    output_tokens: float
    request_received_ms: float
    total_time_ms: float
    model: str = ""
    cached_tokens: float = 0.0
    ttft_ms: float = 0.0
    prefill_wait_time_ms: float = 0.0
    prefill_time_ms: float = 0.0
    avg_itl_ms: float = 0.0
    replay: Replay | None = None


class Event(msgspec.Struct):
    """A request that ended, or something else, which has no `request`."""

    schema: str
    event_type: str
    agent_context: Context = msgspec.field(default_factory=Context)
    request: Request | None = None


class Line(msgspec.Struct):
    """One line."""

    event: Event


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """The requests of a file; tool calls show in the pauses between them."""
    decode = msgspec.json.Decoder(Line).decode

    def parse(text: bytes) -> Row | None:
        event = decode(text).event
        request = event.request
        if request is None:
            if event.event_type == "request_end":
                raise ValueError
            return None
        arrival = request.request_received_ms * MILLI
        return Row(
            arrival,
            request.input_tokens,
            request.output_tokens,
            hashes(request.replay.input_sequence_hashes) if request.replay else None,
            event.agent_context.session_id,
            event.agent_context.parent_session_id,
            arrival + request.total_time_ms * MILLI,
            model=request.model,
        )

    reading.block_size = block_size(source)
    return requests(source, reading, parse)


def block_size(source: Source) -> int:
    """Tokens per block of the first request that has blocks, 0 when none in the head has."""
    sizes = (each.replay.trace_block_size for each in _requests(source.head) if each.replay)
    return next(sizes, 0)


def measured(path: str | Path) -> list[Request]:
    """What was measured of each request, in order of arrival as in the trace."""
    found = [each for block in Source(path).blocks() for each in _requests(block.data)]
    return sorted(found, key=lambda each: each.request_received_ms)


def _requests(text: bytes) -> Iterator[Request]:
    for line in text.splitlines():
        try:
            request = msgspec.json.decode(line, type=Line).event.request
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if request:
            yield request

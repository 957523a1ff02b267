"""Mooncake: one JSON object per line, prefix blocks of 512 tokens; Dynamo and AIPerf write more.

timestamp is in ms (0.2 is 0.2 ms); `delay`, ms, stands instead of it in later turns of a session.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.serving.traces.batch import NAN, Batch
from racktwin.serving.traces.lines import Row, Unusable, requests
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

BLOCK_SIZE = 512  # tokens, as the published traces say
MILLI = 1e-3


class Line(msgspec.Struct, rename={"slo_class": "class"}):
    """One request; timestamp and delay in ms, lengths in tokens."""

    input_length: float
    output_length: float
    timestamp: float | None = None
    delay: float | None = None
    hash_ids: list[int] | None = None
    session_id: str | int | None = None
    priority: int = 0
    slo_class: str = ""


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """The requests of a file."""
    reached: dict[str, float] = {}
    decode = msgspec.json.Decoder(Line).decode

    def parse(text: bytes) -> Row:
        line = decode(text)
        session = "" if line.session_id is None else str(line.session_id)
        pause = NAN if line.delay is None else line.delay * MILLI
        if line.timestamp is not None:
            arrival = line.timestamp * MILLI
        elif session in reached and line.delay is not None:
            arrival = reached[session] + pause
        else:
            raise Unusable("neither a timestamp nor a delay after an earlier turn")
        if session:
            reached[session] = arrival
        ids = None if line.hash_ids is None else hashes(line.hash_ids)
        return Row(
            arrival,
            line.input_length,
            line.output_length,
            ids,
            session,
            pause=pause,
            priority=line.priority,
            slo_class=line.slo_class,
        )

    reading.block_size = BLOCK_SIZE if b'"hash_ids"' in source.head else 0
    return requests(source, reading, parse)


def hashes(ids: list[int]) -> NDArray[np.int64]:
    """Ids of up to 64 bits as int64; those above 2^63 turn negative and stay distinct."""
    return np.array(ids, np.uint64).view(np.int64)

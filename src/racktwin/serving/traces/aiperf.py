"""AIPerf results: profile_export.jsonl, a line per request, and its summary of percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from racktwin.serving.lengths import Lengths, draw
from racktwin.serving.traces.batch import NAN, Batch
from racktwin.serving.traces.lines import Row, Unusable, requests
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source
from racktwin.units import Fraction

NANO = 1e-9
MOST_SUMMED = 10**7  # requests made from a summary
LEVELS = {p / 100: f"p{p}" for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
LEVELS = {0.0: "min"} | LEVELS | {1.0: "max"}


class Value(msgspec.Struct):
    """One metric of a request."""

    value: Any


class Metadata(msgspec.Struct):
    """When a request ran, ns, and in which conversation."""

    request_start_ns: int
    request_end_ns: int | None = None
    x_correlation_id: str = ""
    was_cancelled: bool = False


class Statistics(msgspec.Struct):
    """One metric over all requests; percentiles where it has a distribution."""

    avg: float
    min: float | None = None
    p1: float | None = None
    p5: float | None = None
    p10: float | None = None
    p25: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None

    @property
    def lengths(self) -> Lengths:
        """The law its percentiles draw; its mean where there are none."""
        known = [(at, value) for at, name in LEVELS.items() if (value := getattr(self, name))]
        levels, values = zip(*known, strict=True) if known else ((), ())
        if len(known) < 2 or (levels[0], levels[-1]) != (0.0, 1.0) or (np.diff(values) < 0).any():
            return Lengths(mean=self.avg)
        return Lengths(law="empirical", levels=tuple(map(Fraction, levels)), values=values)


class Summary(msgspec.Struct):
    """profile_export_aiperf.json, as far as it tells of the load."""

    request_count: Statistics
    request_throughput: Statistics
    input_sequence_length: Statistics
    output_sequence_length: Statistics


class Record(msgspec.Struct):
    """One line of profile_export.jsonl."""

    metadata: Metadata
    metrics: dict[str, Value]
    error: Any = None


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """The requests of profile_export.jsonl."""
    decode = msgspec.json.Decoder(Record).decode

    def parse(text: bytes) -> Row:
        record = decode(text)
        if record.error is not None or record.metadata.was_cancelled:
            raise Unusable("the request failed or was cancelled")
        about, metrics = record.metadata, record.metrics
        end = about.request_end_ns
        return Row(
            about.request_start_ns * NANO,
            float(metrics["input_sequence_length"].value),
            float(metrics["output_sequence_length"].value),
            session=about.x_correlation_id,
            end=NAN if end is None else end * NANO,
        )

    return requests(source, reading, parse)


def summary(source: Source, reading: Reading) -> Iterator[Batch]:
    """As many requests as the summary counts, their lengths drawn from its percentiles."""
    try:
        told = msgspec.json.decode(source.whole(), type=Summary)
    except msgspec.MsgspecError as error:
        raise source.fault(f"is no complete AIPerf summary: {error}") from error
    reading.remarks.append("a summary: lengths are drawn from its percentiles, arrivals are even")
    rng = np.random.default_rng(0)
    lengths = (told.input_sequence_length.lengths, told.output_sequence_length.lengths)
    count = int(min(max(told.request_count.avg, 0), MOST_SUMMED))
    input, output = (draw(each, rng, count).astype(np.float64) for each in lengths)
    yield Batch.even(told.request_throughput.avg, input, output)

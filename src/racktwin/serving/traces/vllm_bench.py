"""Results of `vllm bench serve`: one JSON object per run, per request where it was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

MOST_SUMMED = 10**7  # requests made from a summary
FAILED = "the request failed"


class Result(msgspec.Struct):
    """One run. duration, s; throughputs per s; lens in tokens; start_times, s.

    max_output_tokens_per_s: the busiest second, tokens/s.
    """

    completed: int
    total_input_tokens: int
    total_output_tokens: int
    request_throughput: float
    duration: float = 0.0
    output_throughput: float = 0.0
    max_output_tokens_per_s: float | None = None
    input_lens: list[float] = []
    output_lens: list[float] = []
    start_times: list[float] = []
    errors: list[str] = []


class Measured(msgspec.Struct, frozen=True):
    """Output tokens/s of a run: the mean, the busiest second where it can be, and remarks."""

    mean: float
    peak: float | None
    remarks: tuple[str, ...]


def measured(result: Result) -> Measured:
    """What the run measured. A peak below the mean is dropped, in tokens/s both."""
    mean, peak = result.output_throughput, result.max_output_tokens_per_s
    if peak is None or peak >= mean:
        return Measured(mean, peak, ())
    remark = (
        f"the peak of {peak:g} output tokens/s is below the mean of {mean:g}, which cannot be: it "
        f"counts chunks, of {mean / max(peak, 1e-9):.1f} tokens or more each; the mean is kept"
    )
    return Measured(mean, None, (remark,))


def batches(source: Source, reading: Reading) -> Iterator[Batch]:
    """The requests of the last run in the file."""
    result = last(source, reading)
    reading.remarks += measured(result).remarks
    count = len(result.input_lens)
    if not count or len(result.output_lens) != count:
        yield _means(result, source, reading)
        return
    input, output = np.array(result.input_lens), np.array(result.output_lens)
    if len(result.start_times) == count:
        arrival = np.array(result.start_times)
        batch = Batch.of(np.arange(1, count + 1), arrival - arrival.min(), input, output)
    else:
        reading.remarks.append("no start times: arrivals are even at the measured rate")
        batch = Batch.even(result.request_throughput, input, output)
    failed = np.array([bool(each) for each in result.errors] or [False] * count)
    if len(failed) == count and failed.any():
        reading.skip(FAILED, batch.line[failed])
        batch = batch.take(~failed)
    yield batch


def last(source: Source, reading: Reading) -> Result:
    """The last run of the file, which may hold one per line."""
    data = source.whole()
    try:
        return msgspec.json.decode(data, type=Result)
    except msgspec.MsgspecError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        try:
            found = msgspec.json.decode(lines[-1], type=Result)
        except msgspec.MsgspecError:
            raise source.fault(f"is no complete vLLM benchmark result: {error}") from error
    if len(lines) > 1:
        reading.remarks.append(f"{len(lines)} runs in the file: the last is taken")
    return found


def _means(result: Result, source: Source, reading: Reading) -> Batch:
    count = result.completed
    if not 0 < count <= MOST_SUMMED:
        raise source.fault(f"tells of {count:,} completed requests")
    reading.remarks.append("no length per request: all have the mean lengths, arrivals are even")
    totals = (result.total_input_tokens, result.total_output_tokens)
    input, output = (np.full(count, np.rint(total / count)) for total in totals)
    return Batch.even(result.request_throughput, input, output)

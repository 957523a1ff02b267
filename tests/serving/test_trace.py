from __future__ import annotations

import numpy as np
import pytest

from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import Skipped, Trace, cut, join, limited


def trace(count: int = 10) -> Trace:
    prefix = Ragged.of([np.arange(index % 3) for index in range(count)])
    return Trace.of(
        np.arange(count) * 0.5,
        np.arange(count) + 100,
        np.full(count, 7),
        after=np.arange(count) - 1,
        prefix=prefix,
        block_size=64,
    )


def test_columns_have_the_types_a_compiled_loop_expects() -> None:
    made = Trace.of([0.0, 1.5], [3, 4], [1, 2])
    assert [made.arrival.dtype, made.pause.dtype] == [np.float64] * 2
    assert {made.input.dtype, made.output.dtype, made.after.dtype, made.blocks.dtype} == {
        np.dtype(np.int64)
    }
    assert (made.priority.dtype, made.model.dtype) == (np.int64, np.int16)
    assert made.session.tolist() == made.after.tolist() == [-1, -1]
    assert made.starts.tolist() == [0, 0, 0]


@pytest.mark.parametrize("chunk", [1, 3, 4, 10, 99])
def test_a_stream_is_cut_anywhere_and_joined_again(chunk: int) -> None:
    whole = trace()
    parts = list(cut([whole.part(0, 4), whole.part(4, 4), whole.part(4)], chunk))
    assert [len(part) for part in parts[:-1]] == [chunk] * (len(parts) - 1)
    assert [part.first for part in parts] == list(range(0, 10, chunk))
    again = join(parts)
    assert again.arrival.tobytes() == whole.arrival.tobytes()
    assert again.starts.tolist() == whole.starts.tolist()
    assert again.blocks.tolist() == whole.blocks.tolist()


def test_the_last_stretch_carries_the_notes() -> None:
    told = trace(4).part(4).having(skipped=(Skipped("broken", 2, (3, 9)),))
    parts = list(cut([trace(4), told], 2))
    assert [len(part) for part in parts] == [2, 2, 0]
    assert parts[-1].notes == ("2 lines skipped: broken (lines 3, 9)",)
    assert str(Skipped("broken", 1, (1234,))) == "1 line skipped: broken (line 1,234)"


def test_requests_and_duration_end_a_stream() -> None:
    parts = [trace().part(0, 6), trace().part(6)]
    assert len(join(limited(parts, requests=7))) == 7
    assert len(join(limited(parts, requests=6))) == 6
    assert join(limited(parts, duration=2.0)).arrival.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert len(join(limited(parts, requests=3, duration=2.0))) == 3
    assert len(join(limited(parts))) == 10


def test_rates_of_a_hand_made_trace() -> None:
    made = Trace.of([0.0, 1.0, 1.5, 9.0], [1] * 4, [1] * 4)
    assert made.rate == pytest.approx(3 / 9)
    assert made.rates(2.0).tolist() == [1.5, 0.0, 0.0, 0.0, 0.5]
    assert made.scaled(3.0).arrival.tolist() == [0.0, 1 / 3, 0.5, 3.0]
    assert Trace.of([0.0, 0.0], [1, 1], [1, 1]).rate == float("inf")


def test_traffic_is_the_means() -> None:
    traffic = Trace.of([0, 1], [100, 300], [10, 30]).traffic()
    assert (traffic.input, traffic.output, traffic.prefix_hit) == (200.0, 20.0, 0.0)
    assert traffic.variation == pytest.approx(0.25)


def test_without_the_records_pace_turns_come_as_early_as_can_be() -> None:
    recorded = Trace.of(
        [0.0, 2.0, 3.0, 9.0],
        [10, 20, 30, 40],
        [1] * 4,
        session=[0, 1, 0, 0],
        after=[-1, -1, 0, 2],
        pause=[0.0, 0.0, 0.5, 1.0],
    )
    early = recorded.unpaced()
    assert early.arrival.tolist() == [0.0, 0.5, 1.5, 2.0]
    assert early.input.tolist() == [10, 30, 40, 20]
    assert early.after.tolist() == [-1, 0, 1, -1]

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.order import LATE, ordered, within
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

TIMES = st.lists(st.integers(0, 50), min_size=1, max_size=60)


def batches(times: list[int], size: int = 7) -> list[Batch]:
    lines = np.arange(1, len(times) + 1)
    arrival, ones = np.array(times, np.float64), np.ones(len(times))
    whole = Batch.of(lines, arrival, ones, ones)
    return [whole.take(slice(start, start + size)) for start in range(0, len(times), size)]


@given(TIMES)
def test_all_at_once_is_a_stable_sort(times: list[int]) -> None:
    reading = Reading()
    (whole,) = ordered(batches(times), reading, None)
    expected = sorted(range(len(times)), key=lambda index: times[index])
    assert (whole.line - 1).tolist() == expected
    highest = np.maximum.accumulate(times)
    assert reading.unsorted == sum(t < h for t, h in zip(times, highest, strict=True))


@given(TIMES, st.integers(1, 20))
def test_windows_come_in_order_and_lose_only_what_is_late(times: list[int], window: int) -> None:
    reading = Reading()
    parts = list(ordered(batches(times), reading, window))
    arrival = np.concatenate([part.arrival for part in parts])
    assert (np.diff(arrival) >= 0).all()
    assert len(arrival) + reading.counts.get(LATE, 0) == len(times)


def test_a_line_within_the_window_is_kept() -> None:
    times = [*range(0, 40, 2), 31, *range(40, 80, 2)]
    reading = Reading()
    parts = list(ordered(batches(times), reading, 10))
    assert np.concatenate([part.arrival for part in parts]).tolist() == sorted(times)
    assert reading.warnings == ("1 line was out of order and sorted",)


def test_a_line_behind_the_window_is_skipped_and_named() -> None:
    times = [*range(100), 3]
    reading = Reading()
    list(ordered(batches(times), reading, 5))
    assert [(each.reason, each.lines) for each in reading.skipped] == [(LATE, (101,))]


@pytest.mark.parametrize(
    ("days", "said"), [(366, ""), (367, "line 3   trace: comes 367 days after")]
)
def test_a_wrong_date_is_told_and_not_waited_for(tmp_path: Path, days: int, said: str) -> None:
    path = tmp_path / "t"
    path.write_text("-")
    parts = batches([5, 6, 5 + days * 86_400, 9], 2)
    found = within(ordered(parts, Reading(), None), Source(path))
    if not said:
        assert sum(map(len, found)) == 4
        return
    with pytest.raises(BadInput, match=said) as fault:
        list(found)
    assert "the first request (line 1); expected 366 days at most" in str(fault.value)

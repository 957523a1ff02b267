"""Order: requests leave a reader in order of arrival, a window of them held back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from racktwin.serving.traces.batch import Batch
from racktwin.serving.traces.reading import Reading
from racktwin.serving.traces.source import Source

LATE = "out of order by more than the window that is read at once"
DAY = 86_400.0  # s
READABLE = 1e9  # days; a larger number is told in three digits
LONGEST = 366  # days from the first request to the last; what is longer has a wrong date in it


def ordered(batches: Iterable[Batch], reading: Reading, window: int | None) -> Iterator[Batch]:
    """Batches of about `window` requests (None: all), each sorted and after the one before.

    A request earlier than one that has left is skipped. The notes are complete at the last batch.
    """
    waiting: list[Batch] = []
    count, left, latest = 0, -np.inf, -np.inf
    for batch in batches:
        highest = np.maximum.accumulate(np.concatenate([[latest], batch.arrival]))
        reading.unsorted += int((batch.arrival < highest[:-1]).sum())
        latest = float(highest[-1])
        late = batch.arrival < left
        if late.any():
            reading.skip(LATE, batch.line[late])
            batch = batch.take(~late)
        waiting.append(batch)
        count += len(batch)
        if window is not None and count >= 2 * window:
            whole = _sorted(waiting)
            left = float(whole.arrival[count - window - 1])
            yield whole.take(np.arange(count - window))
            waiting, count = [whole.take(np.arange(count - window, count))], window
    if waiting:
        yield _sorted(waiting)


def within(batches: Iterable[Batch], source: Source) -> Iterator[Batch]:
    """The same ordered batches; BadInput at a request `LONGEST` days after the first."""
    begin: tuple[float, int] | None = None  # s, and the line
    for batch in batches:
        if len(batch):
            begin = begin or (float(batch.arrival[0]), int(batch.line[0]))
            days = (float(batch.arrival[-1]) - begin[0]) / DAY
            if days > LONGEST:
                late = int(np.searchsorted(batch.arrival, begin[0] + LONGEST * DAY, "right"))
                days = (float(batch.arrival[late]) - begin[0]) / DAY
                apart = f"{days:,.0f}" if days < READABLE else f"{days:.3g}"
                raise source.fault(
                    f"comes {apart} days after the first request (line {begin[1]:,}); "
                    f"expected {LONGEST} days at most",
                    int(batch.line[late]),
                )
        yield batch


def _sorted(parts: list[Batch]) -> Batch:
    whole = Batch.join(parts)
    if (np.diff(whole.arrival) >= 0).all():
        return whole
    return whole.take(np.argsort(whole.arrival, kind="stable"))

"""Work on a matrix in pieces that stay in a core's cache, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

VALUES = 1 << 18  # of a piece: 1 MiB of float32
ALONE = 1 << 18  # values below which threads cost more than they save


def in_chunks(run: Callable[[slice], None], rows: int, columns: int, tall: int = 1) -> None:
    """Call `run` with slices of `rows` rows, each a multiple of `tall` rows but the last.

    The result must not depend on the order, nor on the number of threads.
    """
    each = max(1, VALUES // max(columns, 1) // tall) * tall
    parts = [slice(begin, min(rows, begin + each)) for begin in range(0, rows, each)]
    if rows * columns < ALONE or len(parts) < 2:
        for part in parts:
            run(part)
        return
    run(parts[0])  # compiled functions are loaded here; two threads at it get in each other's way
    count = min(os.cpu_count() or 1, len(parts) - 1)
    cuts = [1 + (len(parts) - 1) * each // count for each in range(count + 1)]
    spans = [deque(parts[begin:end]) for begin, end in pairwise(cuts)]
    with ThreadPoolExecutor(count) as pool:
        for task in [pool.submit(_work, run, spans, own) for own in range(count)]:
            task.result()


def _work(run: Callable[[slice], None], spans: list[deque[slice]], own: int) -> None:
    """One thread's work: its own span from the front, then what others have left, from the back.

    Threads that take turns in one span get new memory from the system for the same page at the same
    time, and all but one for nothing: pages are as large as several pieces.
    """
    for at in range(len(spans)):
        span = spans[(own + at) % len(spans)]
        while True:
            try:
                part = span.pop() if at else span.popleft()
            except IndexError:  # another thread took the last one
                break
            run(part)

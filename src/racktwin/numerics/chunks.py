"""Work on a matrix in pieces that stay in a core's cache, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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
    left = iter(parts[1:])

    def work() -> None:
        for part in left:  # a step of a list's iterator is one step of the interpreter
            run(part)

    count = min(os.cpu_count() or 1, len(parts) - 1)
    with ThreadPoolExecutor(count) as pool:
        for task in [pool.submit(work) for _ in range(count)]:
            task.result()

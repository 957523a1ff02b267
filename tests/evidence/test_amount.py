"""Counts in words: one thing, several."""

from __future__ import annotations

import pytest

from racktwin.evidence.amount import amount


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 GPUs"), (1, "1 GPU"), (2, "2 GPUs"), (2381, "2,381 GPUs")]
)
def test_one_thing_is_no_plural(count: int, said: str) -> None:
    assert amount(count, "GPU") == said

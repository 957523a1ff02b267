"""CUDA graphs: the sizes that engines record, and what steps are padded to."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.engine.convention import convention
from racktwin.engine.graphs import padded, recorded


def sizes(engine: str, most: int) -> list[int]:
    return recorded(convention(engine).graphs, most).tolist()


def test_the_sizes_that_engines_document() -> None:
    """vLLM: [1, 2, 4] + range(8, 256, 8) + range(256, 513, 16); SGLang: [1, 2, 4, 8, 12] +
    range(16, 257, 8) + range(272, 512, 16); TensorRT-LLM: [1, 2, 4] + 8, 16 .. 128, then by 64,
    and max_batch."""
    assert sizes("vllm", 512) == [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    assert sizes("sglang", 511) == [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), 511]
    assert sizes("trtllm", 320) == [1, 2, 4, *range(8, 129, 8), 192, 256, 320]
    assert sizes("trtllm", 300) == [1, 2, 4, *range(8, 129, 8), 192, 256, 300]
    assert sizes("vllm", 1024)[-1] == 512


@pytest.mark.parametrize(
    ("tokens", "queries", "wanted"),
    [(1, 1, 1), (3, 1, 4), (9, 1, 16), (257, 1, 272), (513, 1, 513), (0, 1, 0), (18, 2, 32)],
)
def test_a_step_is_padded_to_the_next_size(tokens: int, queries: int, wanted: int) -> None:
    """Of 9 sequences with one draft each, 16 are computed: 32 tokens."""
    found = padded(np.array([float(tokens)]), recorded(convention("vllm").graphs, 512), queries)
    assert found.tolist() == [wanted] or (tokens == 0 and found[0] <= 1)


def test_nothing_is_padded_without_graphs() -> None:
    every = np.arange(50.0)
    assert (padded(every, np.zeros(0, np.int64), 1) == every).all()

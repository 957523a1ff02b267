"""Streaming figures against numpy over all of them at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.serving import sample as module
from racktwin.serving.sample import BATCHES, Sample, error

LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def filled(values: np.ndarray, chunk: int, **given: bool) -> Sample:
    made = Sample(("ttft",), ("output",), **given)
    for start in range(0, len(values), chunk):
        part = values[start : start + chunk]
        number = np.arange(start, start + len(part))
        made.add(number, number.astype(float), part[None], np.ones((1, len(part))))
    return made


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("chunk", [1000, 7777])
def test_percentiles_and_means(exact: bool, chunk: int) -> None:
    values = np.random.default_rng(1).lognormal(-2, 1.5, 50_000)
    made = filled(values, chunk, exact=exact)
    found = made.spread("ttft", slice(0, made.batches))
    assert found.count == len(values)
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    for name, level in LEVELS.items():
        close = 1e-12 if exact else 0.006
        assert getattr(found, name) == pytest.approx(np.quantile(values, level), rel=close)
    assert made.total("output", slice(0, made.batches)) == len(values)


def test_percentiles_by_rank_are_those_of_the_load_generator() -> None:
    """MLPerf: sorted values at index n x level, cut to a whole number; n = 200 and 201."""
    values = np.arange(201, dtype=float)
    for count, (p50, p99) in {200: (100, 198), 201: (100, 198), 150: (75, 148)}.items():
        made = filled(np.random.default_rng(0).permutation(values[:count]), 50)
        found = made.spread("ttft", slice(0, made.batches), rank=True)
        assert (found.p50, found.p99) == (p50, p99)


def test_a_span_leaves_requests_out() -> None:
    values = np.concatenate([np.full(500, 9.0), np.full(1000, 1.0), np.full(500, 9.0)])
    made = filled(values, 100)
    edge = 512 // made.size
    found = made.spread("ttft", slice(edge, 1408 // made.size))
    assert (found.mean, found.p99) == (1.0, 1.0)


def test_memory_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT", 100)
    made = filled(np.ones(5000), 50)
    assert made.rows is None
    assert made.batches <= BATCHES
    assert made.spread("ttft", slice(0, made.batches)).p50 == pytest.approx(1.0, rel=0.003)


@given(st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=300), st.integers(1, 50))
def test_chunks_make_no_difference(values: list[float], chunk: int) -> None:
    once, parts = (filled(np.array(values), size) for size in (len(values), chunk))
    span = slice(0, once.batches)
    assert once.size == parts.size
    assert (once.classes == parts.classes).all()
    assert once.spread("ttft", span).p50 == parts.spread("ttft", span).p50


def test_the_error_covers_the_mean_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        batches = rng.normal(5.0, 1.0, 64) * 10
        hits += abs(batches.sum() / 640 - 5.0) <= error(np.full(64, 10.0), batches)
    assert 0.92 <= hits / 400 <= 0.98
    assert np.isnan(error(np.ones(4), np.ones(4)))

"""Lengths that follow from a kind of requests."""

from __future__ import annotations

import pytest

from racktwin.serving.traffic import Traffic


def test_the_cache_spares_part_of_the_input() -> None:
    traffic = Traffic(input=1000, output=100, prefix_hit=0.4)
    assert (traffic.new, traffic.cached) == (600, 400)


def test_at_least_one_token_is_computed() -> None:
    traffic = Traffic(input=10, output=2, prefix_hit=0.99)
    assert (traffic.new, traffic.cached) == (1, 9)


def test_the_first_token_needs_no_decode_step() -> None:
    assert Traffic(input=10, output=100).steps == 99


@pytest.mark.parametrize("lengths", [[100, 100], [50, 150], [1, 10, 400]])
def test_the_context_of_a_sequence_met_at_random(lengths: list[int]) -> None:
    """An answer is met in proportion to its length, half way on average."""
    mean = sum(lengths) / len(lengths)
    spread = sum((each - mean) ** 2 for each in lengths) / len(lengths) / mean**2
    traffic = Traffic(input=500, output=mean, variation=spread)
    met = sum(each * each / 2 for each in lengths) / sum(lengths)
    assert traffic.decode_context == pytest.approx(500 + met)


def test_what_is_kept_free_for_the_rest_of_an_answer_counts_as_held() -> None:
    traffic = Traffic(input=1000, output=500)
    assert traffic.held(0.0) == traffic.decode_context == 1250
    assert traffic.held(1.0) == 1500
    assert traffic.held(0.4) == 1350

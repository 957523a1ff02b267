"""How often drafts are taken where no row says so."""

from __future__ import annotations

import pytest

from racktwin.evidence import data
from racktwin.evidence.drafting import drafted


def test_drafts_behind_the_first_are_taken_less_often_than_it() -> None:
    found, behind = drafted(3, 0.8), data.load("inferencex")["behind"]
    assert found.chances == pytest.approx((0.8, 0.8 * behind, 0.8 * behind))
    assert behind == pytest.approx(0.61, abs=0.02)  # 0.364 of second drafts after 0.771 of first
    assert 0.771**2 * behind == pytest.approx(0.364, abs=0.01)


def test_one_draft_is_that_of_the_curve_and_none_is_none() -> None:
    assert drafted(1).chances == (data.load("inferencex")["acceptance"],)
    assert drafted(0).tokens_per_step == 1

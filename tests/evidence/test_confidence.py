"""Intervals of kinds measured often, seldom and never."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from racktwin.evidence import confidence as intervals
from racktwin.evidence import data

KINDS = {
    "models": ["deepseek-r1"],
    "kinds": [
        {"figure": "tpot", "chip": "gb300", "engine": "trtllm", "role": "disaggregated",
         "low": 0.92, "high": 1.06, "rows": 21},
        {"figure": "tpot", "chip": "gb300", "engine": "sglang", "role": "disaggregated",
         "low": 0.97, "high": 1.01, "rows": 3},
        {"figure": "tpot", "chip": "gb300", "engine": "trtllm", "role": "disaggregated",
         "model": "deepseek-r1", "low": 0.95, "high": 1.04, "rows": 16},
        {"figure": "tpot", "chip": "gb300", "role": "disaggregated",
         "low": 0.9, "high": 1.1, "rows": 24},
        {"figure": "tpot", "chip": "gb300", "role": "disaggregated", "regime": "queued",
         "low": 0.5, "high": 2.5, "rows": 15},
        {"figure": "tpot", "engine": "vllm", "role": "aggregated",
         "low": 0.85, "high": 1.15, "rows": 500},
        {"figure": "tpot", "role": "aggregated", "low": 0.8, "high": 1.2, "rows": 900},
        {"figure": "tpot", "unseen": "chip", "low": 0.7, "high": 1.3, "rows": 900},
        {"figure": "tpot", "unseen": "model", "low": 0.75, "high": 1.4, "rows": 900},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for each in (intervals.kinds, intervals._by_name):
        each.cache_clear()
    monkeypatch.setattr(data, "load", lambda name: KINDS)
    yield
    for each in (intervals.kinds, intervals._by_name):
        each.cache_clear()


def interval(
    chip: str, engine: str, role: str, model: str = "", regime: str = ""
) -> intervals.Interval:
    return intervals.interval(
        "tpot", chip=chip, engine=engine, role=role, model=model, regime=regime
    )


def test_a_kind_measured_often_has_its_own_interval() -> None:
    found = interval("gb300", "trtllm", "disaggregated")
    assert (found.low, found.high) == (0.92, 1.06)
    assert found.text == "21 measured gb300 trtllm disaggregated points (80 % of errors within 8 %)"


def test_a_model_measured_often_is_nearer_still() -> None:
    found = interval("gb300", "trtllm", "disaggregated", "deepseek-r1")
    assert (found.low, found.high) == (0.95, 1.04)
    assert found.text.startswith("16 measured gb300 trtllm deepseek-r1 disaggregated points")


def test_a_full_queue_is_a_regime_of_its_own() -> None:
    found = interval("gb300", "trtllm", "disaggregated", "deepseek-r1", "queued")
    assert (found.low, found.high) == (0.5, 2.5)
    assert "disaggregated queued points (80 % measured 0.5 to 2.5 times" in found.text
    assert interval("gb300", "vllm", "aggregated", regime="queued").high == 1.15


def test_few_rows_do_not_make_an_interval_narrow() -> None:
    found = interval("gb300", "sglang", "disaggregated")
    assert (found.low, found.high) == (0.9, 1.1)


def test_a_pair_never_measured_takes_the_wider_kind() -> None:
    assert interval("gb300", "vllm", "aggregated").high == 1.15


def test_an_unseen_chip_takes_errors_of_chips_left_out() -> None:
    found = interval("vr200", "trtllm", "aggregated")
    assert (found.low, found.high) == (0.7, 1.3)
    assert "vr200 was never measured" in found.text


def test_an_unseen_model_widens_both_sides() -> None:
    found = interval("gb300", "trtllm", "disaggregated", model="kimi-k2")
    assert (found.low, found.high) == (0.75, 1.4)


def test_an_estimate_carries_its_interval() -> None:
    estimate = interval("gb300", "trtllm", "disaggregated").of(0.010, "s")
    assert estimate.low == pytest.approx(0.0092)
    assert estimate.high == pytest.approx(0.0106)

"""The bisection against loads whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.finding import Finding
from racktwin.planning.saturation import CLOSE, SHALLOW, bracket, broken, holds, search
from racktwin.planning.slo import Slo, read, read_share
from racktwin.planning.trial import Trial
from racktwin.serving.limits import Limits
from racktwin.serving.sample import Spread
from racktwin.serving.steady import Curve


def spread(value: float) -> Spread:
    return Spread(1000, value, 0.0, *(value,) * 4)


def trial(rate: float, ttft: float, tpot: float = 0.01, *, endless: bool = False) -> Trial:
    return Trial(
        rate=rate,
        ttft=spread(ttft),
        tpot=spread(tpot),
        itl=spread(tpot),
        e2e=spread(ttft + 99 * tpot),
        steady_ttft=ttft,
        steady_tpot=tpot,
        served=rate,
        good=rate,
        attained=1.0,
        hits=0.0,
        counted=1000,
        refused=0,
        overloaded=endless,
        short=False,
        notes=(),
    )


def md1(service: float) -> Callable[[float], Trial]:
    """One server with a constant step: Pollaczek and Khinchine's mean wait."""

    def at(rate: float) -> Trial:
        busy = rate * service
        if busy >= 1:
            return trial(rate, math.inf, endless=True)
        return trial(rate, service + busy * service / (2 * (1 - busy)))

    return at


@given(
    service=st.floats(1e-4, 10),
    times=st.floats(1.01, 50),
    start=st.floats(1 / SHALLOW, 2),
)
def test_a_constant_step_gives_its_known_answer(service: float, times: float, start: float) -> None:
    """A mean TTFT of `times` the service holds up to busy = 2w/(1 + 2w), w = times - 1."""
    slos = [Slo("ttft", "mean", times * service)]
    found = search(md1(service), start / service, 1 / service, slos)
    wait = times - 1
    known = 2 * wait / (1 + 2 * wait) / service
    assert found.highest is not None
    assert found.next is not None
    assert known / CLOSE <= found.highest.rate <= known * (1 + 1e-9)
    assert found.next.rate <= found.highest.rate * CLOSE * (1 + 1e-9)
    loads = [each.rate for each in found.curve]
    assert loads == sorted(set(loads))
    assert all(holds(each, slos) == (each.rate <= known) for each in found.curve)


def test_without_objectives_the_queue_is_the_limit() -> None:
    found = search(md1(0.5), 1.0, 2.0, [])
    assert found.highest is not None
    assert 2 / CLOSE <= found.highest.rate <= 2
    assert found.next is not None
    assert broken(found.next, []) == ["the queue has no end"]


def test_the_answer_grows_with_the_limit() -> None:
    limits = (0.11, 0.15, 0.2, 0.5)
    found = [search(md1(0.1), 5.0, 10.0, [Slo("ttft", "p99", limit)]) for limit in limits]
    rates = [each.closest.rate for each in found]
    assert rates == sorted(rates)


def test_an_objective_no_load_keeps_ends_at_the_smallest() -> None:
    slos = [Slo("ttft", "p99", 0.05), Slo("tpot", "p99", 0.005)]
    found = search(md1(0.1), 5.0, 10.0, slos)
    assert found.highest is None
    assert found.closest.rate == pytest.approx(10 / SHALLOW)
    assert len(broken(found.closest, slos)) == 2
    assert len(found.curve) < 12


@pytest.mark.parametrize(
    ("slos", "limits", "begin"),
    [
        ([Slo("ttft", "p99", 0.25)], Limits(), 1.8),
        ([Slo("tpot", "p99", 0.001)], Limits(), 4 / SHALLOW),
        ([Slo("itl", "p95", 0.02)], Limits(), 1.8),
        ([Slo("e2e", "p90", 0.25)], Limits(), 0.9),  # 10 steps: 0.1 + 10 x 0.01 at 1 request/s
        ([Slo("goodput", "share", 0.95)], Limits(ttft=0.35), 2.7),
        ([], Limits(), 3.6),
    ],
)
def test_the_bracket_begins_below_the_load_where_the_means_reach_the_limits(
    slos: list[Slo], limits: Limits, begin: float
) -> None:
    rate = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    curve = Curve(rate, rate, rate, rate / 10, rate / 100, *[rate] * 4, "")
    assert bracket(curve, slos, limits, 10.0) == pytest.approx((begin, 4.0))


def test_goodput_is_kept_from_below() -> None:
    one = msgspec.structs.replace(trial(10.0, 0.1), good=9.0, attained=0.9)
    kept, missed = Slo("goodput", "share", 0.9), Slo("goodput", "share", 0.95)
    assert (kept.keeps(one), missed.keeps(one)) == (True, False)
    assert missed.excess(one) == pytest.approx(0.95 / 0.9)
    assert broken(one, [kept, missed]) == ["goodput 90.0%"]
    assert str(missed) == "goodput >= 95.0%"
    assert not kept.keeps(msgspec.structs.replace(one, attained=0.0))


def test_objectives_are_read() -> None:
    found: list[Finding] = []
    assert read("--slo-ttft", "p90:2s", found) == Slo("ttft", "p90", 2.0)
    assert read("--slo-tpot", "50ms", found) == Slo("tpot", "p99", 0.05)
    assert read("--slo-tpot", None, found) is None
    assert not found
    for text in ("p98:2s", "p99:2", "p99:", "0s", ":2s", "p99:-1s"):
        read("--slo-ttft", text, found)
    assert len(found) == 6
    assert all(each.key == "--slo-ttft" for each in found)
    share = read_share("--slo-goodput", "95%", found)
    assert share is not None
    assert share.limit == pytest.approx(0.95)
    for text in ("0%", "101%", "nan", "95"):
        read_share("--slo-goodput", text, found)
    assert len(found) == 10

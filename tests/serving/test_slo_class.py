"""SLO classes: who belongs to which, what they feel, and what priorities do for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.serving.test_simulation import poisson, rows

from racktwin.finding import BadInput, Finding
from racktwin.serving import class_words
from racktwin.serving.limits import Limits
from racktwin.serving.outcome import outcome
from racktwin.serving.simulation import Simulation
from racktwin.serving.slo_class import SloClass, classified
from racktwin.serving.trace import Trace, join


def told(trace: Trace, *classes: SloClass) -> Trace:
    return join(classified([trace], classes))


def two(trace: Trace, **given: Any) -> Trace:
    """Every third request is urgent."""
    which = (np.arange(len(trace)) % 3 > 0).astype(int)
    return trace.having(slo_class=which, classes=("urgent", "patient"), **given)


def test_classes_by_name_and_what_is_given_goes_first() -> None:
    trace = Trace.of([0, 1, 2], [1, 1, 1], [1, 1, 1], slo_class=[1, -1, 0], priority=[3, 4, 5])
    trace = trace.having(classes=("b", "a"))
    found = told(trace, SloClass("a", Limits(), 9), SloClass("z"))
    assert found.classes == ("a", "z", "b", "other")
    assert found.slo_class.tolist() == [0, 3, 2]
    assert found.priority.tolist() == [9, 4, 5]


def test_classes_by_priority_where_no_name_is_told() -> None:
    trace = Trace.of([0, 1, 2], [1, 1, 1], [1, 1, 1], priority=[5, 0, 2])
    found = told(trace, SloClass("calm", Limits(), 5), SloClass("quick", Limits(), 0))
    assert [found.classes[each] for each in found.slo_class] == ["calm", "quick", "other"]
    assert found.priority.tolist() == [5, 0, 2]
    assert told(trace) is trace


def test_too_many_classes_are_refused() -> None:
    names = tuple(f"c{number}" for number in range(17))
    trace = Trace.of(np.arange(17), np.ones(17), np.ones(17), slo_class=np.arange(17))
    with pytest.raises(BadInput, match="at most 16 classes, found 17"):
        told(trace.having(classes=names))


def simulated(trace: Trace, *classes: SloClass, **order: Any) -> tuple[Simulation, dict[str, Any]]:
    return rows(told(trace, *classes), classes=classes, **order)


def test_what_classes_feel_is_that_of_their_requests() -> None:
    classes = (SloClass("urgent", Limits(ttft=0.0225)), SloClass("patient", Limits(e2e=0.43)))
    trace = two(poisson(6000, 150.0))
    done, found = simulated(trace, *classes, limits=Limits(tpot=0.02))
    answer, added = outcome(done), found["added"]
    sample = done.sample
    batch = found["request"] // sample.size
    counted = (batch >= answer.span.first) & (batch < answer.span.last)
    ttft = found["first"] - found["arrival"] + added
    e2e = found["finish"] - found["arrival"] + added
    tpot = (found["finish"] - found["first"]) / (found["output"] - 1)
    good = {"urgent": (ttft <= 0.0225) & (tpot <= 0.02), "patient": (e2e <= 0.43) & (tpot <= 0.02)}
    assert (found["class"] == np.where(trace.slo_class == 0, "urgent", "patient")).all()
    for felt in answer.classes:
        mine = counted & (found["class"] == felt.name)
        assert felt.counted == mine.sum()
        assert felt.ttft.p99 == pytest.approx(np.quantile(ttft[mine], 0.99), rel=1e-12)
        assert felt.e2e.mean == pytest.approx(e2e[mine].mean(), rel=1e-9)
        assert felt.attained == pytest.approx(good[felt.name][mine].mean(), rel=1e-9)
        assert 0.05 < felt.attained < 0.95
        assert (found["good"] == good[felt.name])[found["class"] == felt.name].all()
    for name in ("requests", "good"):
        whole = sum(getattr(felt, name) for felt in answer.classes)
        assert whole == pytest.approx(getattr(answer, name), rel=1e-9)


def test_equal_priorities_change_no_time() -> None:
    trace = poisson(3000, 400.0)
    plain = rows(trace)[1]
    classes = (SloClass("urgent", Limits(), 4), SloClass("patient", Limits(), 4))
    shared = simulated(two(trace), *classes)[1]
    for name in ("admitted", "first", "finish", "losses"):
        assert plain[name].tobytes() == shared[name].tobytes()


def test_an_urgent_class_keeps_its_ttft_under_overload() -> None:
    """vLLM with priorities: a third of twice the capacity fits, and does not see the rest."""
    trace = two(poisson(6000, 1000.0))
    urgent, patient = SloClass("urgent", Limits(ttft=0.5), 0), SloClass("patient", Limits(), 1)
    done, _ = simulated(trace, urgent, patient)
    first, rest = outcome(done).classes
    assert outcome(done).overloaded
    assert first.ttft.p99 < 0.5
    assert first.attained == 1.0
    assert rest.ttft.p50 > 2.0
    equal = outcome(simulated(trace, SloClass("urgent"), SloClass("patient"))[0]).classes[0]
    assert equal.ttft.p50 > 1.0


def test_classes_as_typed(tmp_path: Any) -> None:
    found: list[Finding] = []
    path = tmp_path / "slo.yaml"
    path.write_text("classes: [{name: c, priority: 3, slo: {e2e: 1 min}}]\n")
    texts = ["a:ttft=1s, tpot=50ms,priority=2", "b", str(path)]
    assert class_words.read("--class", texts, found) == (
        SloClass("a", Limits(ttft=1.0, tpot=0.05), 2),
        SloClass("b"),
        SloClass("c", Limits(e2e=60.0), 3),
    )
    assert not found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:ttf=1s", "did you mean 'ttft'"),
        ("a:ttft=1", "has no unit"),
        ("a:ttft", "expected ttft=VALUE once"),
        ("a:ttft=1s,ttft=2s", "expected ttft=VALUE once"),
        ("a:priority=-1", "expected 0 to 1,000,000"),
        ("a:priority=" + "9" * 99, "expected 0 to 1,000,000"),
        (":ttft=1s", "expected a name"),
        ("x" * 99, "expected a name"),
        ("a:e2e=nan s", "e2e"),
        ("no.yaml", "no.yaml"),
    ],
)
def test_bad_classes(text: str, said: str) -> None:
    found: list[Finding] = []
    class_words.read("--class", [text], found)
    assert said in str(found[0])
    assert all(each.key == "--class" for each in found)


def test_a_class_nobody_is_in_has_no_share() -> None:
    """Nor does it fail the load: the share of a trial is that of the classes that count."""
    given = SloClass("urgent", Limits(ttft=10.0)), SloClass("nobody", Limits(ttft=10.0))
    shares = {
        each.name: each.attained
        for each in outcome(simulated(two(poisson(2000, 100.0)), *given)[0]).classes
    }
    assert shares["urgent"] == 1.0
    assert np.isnan(shares["nobody"])

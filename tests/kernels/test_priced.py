import numpy as np
import pytest

from racktwin.estimate import Evidence
from racktwin.kernels.priced import Priced, nothing


def priced(seconds: float, kind: str, name: str) -> Priced:
    array = np.array([seconds])
    return Priced(array, 2 * array, 3 * array, 4 * array, Evidence(kind, name))  # type: ignore[arg-type]


def test_adding_adds_everything_and_keeps_the_weaker_evidence() -> None:
    both = priced(1.0, "measured", "a") + priced(2.0, "assumed", "b")
    assert both.seconds[0] == 3
    assert both.flops[0] == 6
    assert both.bytes[0] == 9
    assert both.joules[0] == 12
    assert both.evidence == Evidence("assumed", "a + b")


def test_a_name_stands_once() -> None:
    twice = (
        priced(1.0, "measured", "a") + priced(1.0, "measured", "b") + priced(1.0, "measured", "a")
    )
    assert twice.evidence.name == "a + b"


def test_scaling_keeps_the_evidence() -> None:
    many = 61 * priced(1.0, "measured", "a")
    assert many.seconds[0] == 61
    assert many.evidence.name == "a"


def test_nothing_adds_nothing() -> None:
    one = priced(1.0, "measured", "a")
    assert (one + nothing((1,))).evidence == one.evidence
    assert (nothing((1,)) + one).seconds == pytest.approx(one.seconds)


def test_the_quicker_of_two_is_taken_state_by_state() -> None:
    fast = Priced(*(np.array([1.0, 9.0]) for _ in range(4)), Evidence("measured", "a"))
    even = Priced(*(np.array([5.0, 5.0]) for _ in range(4)), Evidence("formula", "b"))
    both = fast.quicker(even)
    assert both.seconds.tolist() == both.joules.tolist() == [1.0, 5.0]
    assert both.evidence == Evidence("formula", "a + b")
    assert priced(1.0, "measured", "a").quicker(priced(2.0, "assumed", "b")).evidence.name == "a"

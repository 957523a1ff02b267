from __future__ import annotations

import numpy as np
import pytest

from racktwin.serving.lengths import Lengths
from racktwin.serving.sessions import Calls, Class, Images, Turns, calls
from racktwin.units import Fraction


def fixed(mean: float) -> Lengths:
    return Lengths(mean=mean)


def drawn(*classes: Class, count: int = 4, context: int = 0) -> Calls:
    return calls(classes, np.random.default_rng(5), count, context)


def agent(turns: float = 3, **rest: object) -> Class:
    how = {"count": fixed(turns), "added": fixed(50), "output": fixed(20), "pause": fixed(1.5)}
    return Class(input=fixed(1000), output=fixed(100), turns=Turns(**(how | rest)))  # type: ignore[arg-type]


def test_context_grows_by_answers_and_what_is_added() -> None:
    made = drawn(agent(), count=2)
    assert made.session.tolist() == [0, 0, 0, 1, 1, 1]
    assert made.turn.tolist() == [0, 1, 2] * 2
    # 1,000; + the answer of 100 and 50 more; + an answer of 20 and 50 more
    assert made.input.tolist() == [1000, 1150, 1220] * 2
    assert made.output.tolist() == [100, 20, 20] * 2
    assert made.pause.tolist() == [0, 1.5, 1.5] * 2
    assert made.offset.tolist() == [0, 1.5, 3.0] * 2


def test_answers_may_be_forgotten() -> None:
    assert drawn(agent(kept=Fraction(0.0)), count=1).input.tolist() == [1000, 1050, 1100]


def test_pauses_between_arrivals_are_no_pauses_after_completions() -> None:
    made = drawn(agent(pause_from="arrival"), count=1)
    assert made.offset.tolist() == [0, 1.5, 3.0]
    assert made.pause.tolist() == [0, 0, 0]


def test_a_session_ends_before_the_turn_that_does_not_fit() -> None:
    made = drawn(agent(turns=9), count=2, context=1250)
    assert made.input.tolist() == [1000, 1150, 1220] * 2
    assert drawn(agent(), count=1, context=600).input.tolist() == [500]


def test_images_add_encoder_tokens_to_every_prompt() -> None:
    images = Images(count=fixed(3), tokens=fixed(256))
    made = drawn(Class(input=fixed(100), output=fixed(5), images=images), count=2)
    assert made.encoder.tolist() == [768, 768]
    assert made.input.tolist() == [868, 868]


def test_classes_come_by_their_share() -> None:
    short = Class(share=3, input=fixed(10), output=fixed(1))
    long = Class(share=1, input=fixed(9000), output=fixed(2))
    made = drawn(short, long, count=100_000)
    assert (made.input == 9000).mean() == pytest.approx(0.25, abs=0.007)  # 5 standard deviations
    assert (made.output[made.input == 9000] == 2).all()


def test_every_request_has_a_token_to_read_and_one_to_write() -> None:
    made = drawn(Class(input=fixed(0), output=fixed(0.2)), count=2)
    assert made.input.tolist() == made.output.tolist() == [1, 1]

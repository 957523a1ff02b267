import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.kernels.load import touched


def test_one_token_touches_its_top_k() -> None:
    assert touched(1.0, 32.0, "balanced") == pytest.approx(1 / 32)
    assert touched(1.0, 32.0, "power_law_1.01") == pytest.approx(1 / 32)
    assert touched(0.0, 32.0, "power_law_1.01") == 0


def test_balanced_is_the_chance_of_not_being_missed() -> None:
    assert touched(64.0, 32.0, "balanced") == pytest.approx(1 - (31 / 32) ** 64)


@pytest.mark.parametrize("tokens", [16, 64, 256, 4096])
def test_skewed_agrees_with_drawing_the_loads(tokens: int) -> None:
    """256 experts, top 8: draw loads as the collector does and count the experts visited."""
    random = np.random.default_rng(0)
    low, high = (0.01, 2.0) if tokens * 8 <= 256 else (1.0, 0.8 * tokens)
    weights = np.exp(random.uniform(np.log(low), np.log(high), (4000, 256)))
    visits = np.round(weights / weights.sum(axis=1, keepdims=True) * tokens * 8)
    drawn = (visits > 0).mean()
    assert touched(float(tokens), 32.0, "power_law_1.01") == pytest.approx(drawn, rel=0.03)


@given(st.floats(0, 1e7), st.sampled_from([1.0, 2.0, 8.0, 23.3, 32.0, 56.0]))
def test_skewed_touches_no_more_than_balanced_and_at_least_one_share(
    tokens: float, per_visit: float
) -> None:
    skewed, even = (touched(tokens, per_visit, load) for load in ("power_law_1.01", "balanced"))
    assert 0 <= skewed <= even * (1 + 1e-12) <= 1 + 1e-9
    if tokens >= 1:
        assert skewed >= 0.5 * even


def test_more_tokens_touch_more_experts() -> None:
    tokens = np.geomspace(0.1, 1e6, 500)
    for load in ("balanced", "power_law_1.01"):
        assert (np.diff(touched(tokens, 32.0, load)) > -1e-6).all()

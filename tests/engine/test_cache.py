"""How a cache grows with the length of its sequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.engine.cache import Cache, caches
from racktwin.models import Layout, model, sequence_bytes, state_bytes

NAMES = ["llama-3.1-8b", "gpt-oss-120b", "deepseek-r1", "qwen3.5-397b", "deepseek-v4-flash"]


def whole(name: str) -> Cache:
    """The cache of a model on one GPU."""
    (found,) = caches(model(name).architecture, "bf16", "fp32", Layout())
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tokens", [1, 100, 128, 129, 5000, 131072])
def test_a_sequence_costs_what_the_layers_say(name: str, tokens: int) -> None:
    shape = model(name).architecture
    layers = sequence_bytes(shape, tokens, pool="hybrid") + state_bytes(shape)
    assert whole(name).sequence(tokens) == pytest.approx(layers)


@given(st.sampled_from(NAMES), st.floats(0, 1e12), st.integers(0, 8191))
def test_the_longest_sequence_fills_the_room(name: str, room: float, margin: int) -> None:
    cache = whole(name)
    longest = cache.longest(room, margin)
    if longest > 0:
        assert cache.sequence(longest, margin) == pytest.approx(room, rel=1e-6)
    else:
        assert room <= cache.state


def test_a_window_by_hand() -> None:
    cache = Cache(30.0, 10.0, ((100, 20.0),), 20.0, 5.0, 0.0, 0, 1)
    assert cache.sequence(50) == 50 * 30 + 5
    assert cache.sequence(1000) == 1000 * 10 + 100 * 20 + 5
    assert cache.longest(50 * 30 + 5) == pytest.approx(50)
    assert cache.longest(1000 * 10 + 100 * 20 + 5) == pytest.approx(1000)
    assert cache.longest(4) == 0


def test_a_window_alone_has_no_longest_sequence() -> None:
    assert Cache(2.0, 0.0, ((10, 2.0),), 2.0, 0.0, 0.0, 0, 0).longest(20) == float("inf")

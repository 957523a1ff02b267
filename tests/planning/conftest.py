"""Planning questions on small machines, with fixed intervals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from racktwin.planning.ask import Ask
from racktwin.planning.wish import Wish, asks

SMALL = ("llama-3.1-8b", "hgx-b200", 2000, 400)
EXPERTS = ("deepseek-r1", "azure-nd-gb300-v6", 8192, 1024)

Asking = Callable[..., Ask]


@pytest.fixture(autouse=True)
def _fixed(fixed_intervals: None) -> None:
    """Every plan here takes the same intervals."""


def asking(kind: tuple[str, str, int, int], **wish: object) -> Ask:
    name, cluster, tokens_in, tokens_out = kind
    return asks(name, [cluster], tokens_in, tokens_out, Wish(**wish))[0]  # type: ignore[arg-type]


@pytest.fixture
def small() -> Asking:
    """A dense model on 8 GPUs; keywords are those of `Wish`."""
    return lambda **wish: asking(SMALL, **{"gpus": 8, **wish})


@pytest.fixture
def experts() -> Asking:
    """A MoE on 32 GPUs of a rack."""
    return lambda **wish: asking(EXPERTS, **{"gpus": 32, **wish})

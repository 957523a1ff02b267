"""The accounting of the engines."""

import pytest

from racktwin import catalog
from racktwin.engine.convention import convention

GIB = 1 << 30


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_every_value_says_where_it_is_from(engine: str) -> None:
    facts = [fact for fact in catalog.load("engines", engine).facts() if fact.source]
    assert {fact.kind for fact in facts} <= {"datasheet", "measured", "derived", "assumed"}
    assert {"basis", "driver", "group", "per_rank", "block"} <= {fact.key for fact in facts}


def test_sglang_leaves_ten_gib_at_least() -> None:
    rule = convention("sglang")
    # 1.5 GiB + 8,192 x 1.5 MiB + 8 x 128 MiB = 14.5 GiB
    assert rule.default_fraction(80 * GIB, 8192, 8) == round(1 - 14.5 / 80, 3)
    assert rule.default_fraction(80 * GIB, 2048, 1) == round(1 - 10 / 80, 3)
    assert rule.default_fraction(24 * GIB, 2048, 1) == round(1 - 4.625 / 24, 3)
    assert rule.default_fraction(1 * GIB, 2048, 1) == 0


def test_large_gpus_get_large_budgets() -> None:
    rule = convention("vllm")
    assert (rule.budget(80 * GIB).batch, rule.budget(80 * GIB).tokens) == (1024, 8192)
    assert (rule.budget(24 * GIB).batch, rule.budget(24 * GIB).tokens) == (256, 2048)
    assert rule.budget(1).batch == 256


def test_buffers_grow_with_the_ranks_that_were_measured() -> None:
    rule = convention("vllm")
    assert rule.outside(1) == (rule.alone, 0.0)
    assert rule.outside(4) == (rule.group, 4 * rule.per_rank)
    assert rule.outside(72) == (rule.group, 8 * rule.per_rank)

"""Experts of an engine that has no kernels but those measured under its own name."""

from __future__ import annotations

import numpy as np
import pytest

from racktwin.engine.epochs import epoch
from racktwin.hardware import chip
from racktwin.kernels import Kernels

DEEPSEEK = {"hidden": 7168, "intermediate": 2048, "top_k": 8, "experts": 256}


def seconds(kernels: Kernels, dtype: str = "fp8_block", **layout: int) -> float:
    found = kernels.experts(np.array(16.0), dtype=dtype, **DEEPSEEK, **layout)
    return float(found.seconds)


def test_deepgemm_of_tensorrt_llm_is_slower_than_the_kernels_of_others() -> None:
    """B200, fp8 blocks, 16 tokens on EP8: the published tables say 0.156 and 0.131 ms."""
    b200 = chip("b200")
    own, fastest = Kernels(b200, "trtllm", own_experts=True), Kernels(b200, "trtllm")
    assert seconds(own, expert=8) == pytest.approx(0.156e-3, rel=0.02)
    assert seconds(fastest, expert=8) == pytest.approx(0.131e-3, rel=0.02)


def test_a_format_the_engine_was_not_measured_in_is_served_by_others() -> None:
    b200 = chip("b200")
    own, fastest = Kernels(b200, "trtllm", own_experts=True), Kernels(b200, "trtllm")
    assert seconds(own, "int4") == seconds(fastest, "int4")


@pytest.mark.parametrize(
    ("name", "on", "alone"),
    [
        ("trtllm-1.1", "b200", True),
        ("trtllm-1.2", "b200", False),
        ("trtllm-1.2", "h200", True),
        ("vllm-0.19", "h200", False),
    ],
)
def test_which_releases_have_none_but_their_own(name: str, on: str, alone: bool) -> None:
    engine, where = epoch(name), chip(on)
    found = seconds(engine.kernels(where), expert=8)
    assert found == seconds(Kernels(where, engine.engine, own_experts=alone), expert=8)

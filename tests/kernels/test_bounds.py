"""No operator is ever below its roofline, and more bandwidth is never slower."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.kernels import Kernels, Priced

SIZE = st.floats(0, 1e6)
CHIPS = {name: hardware.chip(name) for name in ("gb300", "b200", "h100")}
KERNELS = {name: Kernels(chip, "sglang") for name, chip in CHIPS.items()}
WIDER = {
    name: Kernels(
        msgspec.structs.replace(
            chip, memory_bandwidth=type(chip.memory_bandwidth)(2 * chip.memory_bandwidth)
        ),
        "sglang",
    )
    for name, chip in CHIPS.items()
}

Call = Callable[[Kernels, float, float], Priced]
LATENT = {"kv_rank": 512, "rope_dim": 64, "kv_dtype": "fp8"}
EXPANDED = LATENT | {"nope_dim": 128, "value_dim": 128}
INDEX = {"top_k": 2048, "index_heads": 64, "index_dim": 128}
HEADS = {"heads": 12, "kv_heads": 2, "head_dim": 128}
EXPERTS = {"hidden": 4096, "intermediate": 1536, "top_k": 8, "experts": 128}
SCAN = {"key_heads": 8, "value_heads": 32, "key_dim": 128, "value_dim": 128}
CALLS: dict[str, Call] = {
    "gemm bf16": lambda k, a, b: k.gemm(a, 4000, 5000, "bf16"),
    "gemm fp8_block": lambda k, a, b: k.gemm(a, 2112, 7168, "fp8_block"),
    "gemm nvfp4": lambda k, a, b: k.gemm(a, 18432, 7168, "nvfp4"),
    "gemm int4": lambda k, a, b: k.gemm(a, 640, 100_000, "int4"),
    "decode": lambda k, a, b: k.attention_decode(a, b, **HEADS),
    "window": lambda k, a, b: k.attention_decode(a, b, **HEADS, window=100),
    "prefill": lambda k, a, b: k.attention_prefill(a, b, a, **HEADS, kv_dtype="fp8"),
    "mla decode": lambda k, a, b: k.mla_decode(a, b, heads=24, **LATENT),
    "mla prefill": lambda k, a, b: k.mla_prefill(1, a, b, heads=16, **EXPANDED),
    "sparse decode": lambda k, a, b: k.sparse_decode(a, b, heads=16, **LATENT, **INDEX),
    "sparse prefill": lambda k, a, b: k.sparse_prefill(1, a, b, heads=64, **EXPANDED, **INDEX),
    "experts": lambda k, a, b: k.experts(a, **EXPERTS, expert=8, dtype="fp8_block"),
    "experts nvfp4": lambda k, a, b: k.experts(a, **EXPERTS, expert_tensor=4, dtype="nvfp4"),
    "recurrent decode": lambda k, a, b: k.recurrent_decode(a, kind="gated-delta", **SCAN),
    "recurrent prefill": lambda k, a, b: k.recurrent_prefill(a, b, kind="mamba2", **SCAN),
    "encoder": lambda k, a, b: k.encoder_attention(a, b, heads=5, head_dim=72),
    "stream": lambda k, a, b: k.stream(a * b),
}


@pytest.mark.parametrize("operator", CALLS)
@given(one=SIZE, two=SIZE, name=st.sampled_from(sorted(KERNELS)))
def test_never_below_the_roofline(operator: str, one: float, two: float, name: str) -> None:
    chip = CHIPS[name]
    priced = CALLS[operator](KERNELS[name], one, two)
    assert np.isfinite(priced.seconds).all()
    least = np.maximum(priced.bytes / chip.memory_bandwidth, priced.flops / max(chip.peak.values()))
    assert (priced.seconds >= least * (1 - 1e-12)).all()
    assert ((priced.seconds == 0) == (least == 0)).all()


@pytest.mark.parametrize("operator", CALLS)
@given(one=SIZE, two=SIZE, name=st.sampled_from(sorted(KERNELS)))
def test_twice_the_bandwidth_is_never_slower(
    operator: str, one: float, two: float, name: str
) -> None:
    now, then = (CALLS[operator](kernels[name], one, two) for kernels in (KERNELS, WIDER))
    assert (then.seconds <= now.seconds * (1 + 1e-12)).all()

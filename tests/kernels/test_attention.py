import numpy as np
import pytest

from racktwin.kernels import Kernels
from racktwin.kernels.attention import Heads, decode_work, equal_length, prefill_pairs, prefill_work

GQA = {"heads": 8, "kv_heads": 1, "head_dim": 128}


def test_pairs_by_counting() -> None:
    exact = sum(min(100 + i, 64) for i in range(1, 33))
    assert prefill_pairs(32.0, 100.0, 64) == pytest.approx(exact)
    exact = sum(min(50 + i, 64) for i in range(1, 33))  # the integral sees the middle of a token
    assert prefill_pairs(32.0, 50.0, 64) == pytest.approx(exact, rel=0.02)
    assert prefill_pairs(4096.0, 1000.0, 0) == 4096 * (1000 + 2048)


def test_work_by_hand() -> None:
    shape = Heads(64, 8, 128, 128, 0, "fp8")
    task = decode_work(16.0, 4096.0, shape, "fp8")
    assert task.flops == 16 * 2 * 64 * 256 * 4096
    assert task.bytes == 16 * (4096 * 8 * 256 + 2 * 64 * 256)
    task = prefill_work(2.0, 1024.0, 0.0, shape, "fp8")
    assert task.flops == 2 * 2 * 64 * 256 * 1024**2 / 2
    assert task.bytes == 2 * (1024 * 8 * 256 + 2 * 1024 * 64 * 256)


def test_a_window_bounds_what_is_read() -> None:
    shape = Heads(8, 1, 64, 64, 128, "bf16")
    assert decode_work(1.0, 8192.0, shape, "bf16").flops == 2 * 8 * 128 * 128


@pytest.mark.parametrize("window", [0, 128, 4096])
@pytest.mark.parametrize("context", [0.0, 100.0, 5000.0])
def test_equal_length_has_as_many_pairs(window: int, context: float) -> None:
    length = equal_length(777.0, context, window)
    assert prefill_pairs(length, 0.0, window) == pytest.approx(
        prefill_pairs(777.0, context, window)
    )


def test_gb300_decode_point(gb300: Kernels) -> None:
    # TensorRT-LLM, 64 sequences with 2,048 cached tokens: 13.035 us in the raw table.
    priced = gb300.attention_decode(64, 2048, **GQA, kv_dtype="fp8")
    assert priced.seconds * 1e6 == pytest.approx(13.035, rel=1e-3)
    assert str(priced.evidence) == "measured: gb300 attention decode head 128 trtllm"


def test_gb300_prefill_point(gb300: Kernels) -> None:
    priced = gb300.attention_prefill(1, 8192, **GQA, kv_dtype="bf16")
    assert priced.seconds * 1e6 == pytest.approx(148.683, rel=1e-3)


def test_h100_window_point(h100: Kernels) -> None:
    priced = h100.attention_decode(32, 8192, heads=8, kv_heads=1, head_dim=64, window=128)
    assert priced.seconds * 1e6 == pytest.approx(16.848, rel=1e-3)


def test_heads_not_measured_take_the_nearest_pair_and_say_so(gb300: Kernels) -> None:
    odd = gb300.attention_decode(64, 4096, heads=14, kv_heads=2, head_dim=128)
    assert "heads 16/2 for 14/2" in odd.evidence.name
    near = gb300.attention_decode(64, 4096, heads=16, kv_heads=2, head_dim=128)
    assert odd.seconds == pytest.approx(near.seconds, rel=0.03)


def test_a_window_not_measured_cuts_full_attention(gb300: Kernels) -> None:
    long, cut = (
        gb300.attention_decode(64, context, **GQA, window=window)
        for context, window in ((4096, 0), (100_000, 4096))
    )
    assert cut.seconds == pytest.approx(long.seconds)
    assert "full attention cut at window 4096" in cut.evidence.name


def test_another_framework_stands_in_and_is_named(gb300: Kernels) -> None:
    # TensorRT-LLM has no 192-wide heads on GB300; SGLang has.
    priced = gb300.attention_decode(8, 1024, heads=8, kv_heads=1, head_dim=192, value_dim=128)
    assert "sglang" in priced.evidence.name


def test_a_cached_prefix_costs_what_its_pairs_cost(gb300: Kernels) -> None:
    whole = gb300.attention_prefill(1, 16384, 0, **GQA).seconds
    chunks = sum(gb300.attention_prefill(1, 4096, 4096 * i, **GQA).seconds for i in range(4))
    # The same pairs in all; shorter launches fill the chip less.
    assert float(whole) < float(chunks) < 1.5 * float(whole)


def test_encoder_attention_is_measured_per_head_size(gb300: Kernels) -> None:
    exact = gb300.encoder_attention(4, 1024, heads=16, head_dim=80)
    assert exact.flops == 4 * 4 * 1024**2 * 16 * 80
    assert exact.evidence.name == "gb300 encoder attention trtllm"
    other = gb300.encoder_attention(4, 1024, heads=16, head_dim=88)
    assert "for 16x88" in other.evidence.name


def test_no_work_takes_no_time(gb300: Kernels) -> None:
    batch = np.array([0.0, 1.0])
    decode = gb300.attention_decode(batch, 1024, **GQA).seconds
    assert decode[0] == 0
    assert decode[1] > 0
    assert gb300.attention_prefill(4, 0, 1000, **GQA).seconds == 0

import pytest

from racktwin.kernels import Kernels
from racktwin.kernels.recurrent import Scan, scan_work

QWEN = {"kind": "gated-delta", "key_heads": 16, "value_heads": 64, "key_dim": 128, "value_dim": 128}


def test_work_by_hand() -> None:
    shape = Scan("gated-delta", 16, 64, 128, 128, 4)
    task = scan_work(2.0, 1.0, shape)
    state, mixed = 64 * 128 * 128, 2 * 16 * 128 + 64 * 128
    assert task.flops == 2 * (4 * state + 2 * 4 * mixed)
    assert task.bytes == 2 * (2 * (3 * mixed + 64 * 128) + 4 * state + 4 * 3 * mixed)


def test_gb300_decode_point(gb300: Kernels) -> None:
    # 64 sequences: 7.7 us convolution and 70.1 us scan in TensorRT-LLM's raw table.
    priced = gb300.recurrent_decode(64, **QWEN)
    assert priced.seconds * 1e6 == pytest.approx(77.8, rel=0.02)  # median of two models
    assert priced.evidence.name == "gb300 gated-delta decode trtllm"


def test_a_longer_prompt_costs_in_proportion(gb300: Kernels) -> None:
    short, long = (gb300.recurrent_prefill(1, tokens, **QWEN).seconds for tokens in (8192, 32768))
    assert long / short == pytest.approx(4.0, rel=0.1)


def test_fewer_heads_take_the_batch_with_as_much_state(gb300: Kernels) -> None:
    half = gb300.recurrent_decode(128, **QWEN | {"value_heads": 40, "key_heads": 10})
    assert "heads 48 for 40" in half.evidence.name or "heads 32 for 40" in half.evidence.name


def test_other_kinds_say_what_they_rest_on(gb300: Kernels) -> None:
    kimi = gb300.recurrent_decode(8, **QWEN | {"kind": "kimi-delta"})
    assert "for kimi-delta" in kimi.evidence.name
    mamba = gb300.recurrent_decode(8, **QWEN | {"kind": "mamba2"})
    assert mamba.evidence.kind == "assumed"
    assert gb300.recurrent_decode(0, **QWEN | {"kind": "mamba2"}).seconds == 0

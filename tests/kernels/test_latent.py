import pytest

from racktwin.kernels import Kernels
from racktwin.kernels.latent import Latent, absorb_work, decode_work, prefill_work

DEEPSEEK = Latent(128, 512, 64, 128, 128, "fp8")
CACHE = {"heads": 128, "kv_rank": 512, "rope_dim": 64}
EXPANDED = CACHE | {"nope_dim": 128, "value_dim": 128}


def test_work_by_hand() -> None:
    task = decode_work(32.0, 4096.0, DEEPSEEK, "fp8")
    assert task.flops == 32 * 2 * 128 * (576 + 512) * 4096
    assert task.bytes == 32 * (4096 * 576 + 2 * 128 * (576 + 512))
    task = prefill_work(1.0, 4096.0, 0.0, DEEPSEEK, "fp8")
    assert task.flops == 2 * 128 * 320 * 4096**2 / 2
    task = absorb_work(16.0, DEEPSEEK, "bf16", "bf16")
    assert task.flops == 2 * 16 * 128 * 512 * 256
    assert task.bytes == 2 * 128 * 512 * 256 + 2 * 16 * 128 * (256 + 1024)


def test_gb300_points(gb300: Kernels) -> None:
    decode = gb300.mla_decode(64, 8192, **CACHE, kv_dtype="fp8")
    assert decode.seconds * 1e6 == pytest.approx(73.232, rel=1e-3)
    assert str(decode.evidence) == "measured: gb300 mla decode trtllm"
    prefill = gb300.mla_prefill(1, 4096, **EXPANDED, kv_dtype="bf16")
    assert prefill.seconds * 1e6 == pytest.approx(543.733, rel=1e-3)


def test_vllm_borrows_another_frameworks_table(h100: Kernels) -> None:
    assert h100.mla_decode(8, 4096, **CACHE).evidence.name == "h100_sxm mla decode trtllm"


def test_absorb_grows_with_tokens_and_is_nothing_without(gb300: Kernels) -> None:
    times = [
        float(gb300.mla_absorb(t, heads=128, nope_dim=128, value_dim=128, kv_rank=512).seconds)
        for t in (0, 64, 1024, 8192)
    ]
    assert times[0] == 0
    assert times == sorted(times)

import numpy as np
import pytest

from racktwin.kernels import Kernels
from racktwin.kernels.latent import Latent
from racktwin.kernels.sparse import Index, decode_work, index_work, prefill_work

V32 = Index(64, 128, 2048)
SHAPE = Latent(128, 512, 64, 128, 128, "fp8")
PEAKS = {"bf16", "fp8"}
CALL = {
    "heads": 128,
    "kv_rank": 512,
    "rope_dim": 64,
    "top_k": 2048,
    "index_heads": 64,
    "index_dim": 128,
    "kv_dtype": "fp8",
}


def test_scores_by_hand() -> None:
    task = index_work(1.0, 1.0, 8191.0, V32, PEAKS)
    pairs = 8191 + 0.5
    assert task.flops == 2 * 64 * 128 * pairs
    assert task.bytes == 8192 * 132 + 64 * 128 + 8 * pairs


def test_nothing_is_scored_while_everything_is_selected() -> None:
    scores, attend = decode_work(1.0, 2048.0, SHAPE, V32, "fp8", PEAKS)
    assert scores.flops == scores.bytes == 0
    assert attend.flops == 2 * 128 * 1088 * 2048


def test_attention_stops_growing_at_top_k() -> None:
    near, far = (decode_work(1.0, size, SHAPE, V32, "fp8", PEAKS)[1] for size in (4096.0, 1e5))
    assert near.flops == far.flops
    _, prompt = prefill_work(1.0, 4096.0, 100_000.0, SHAPE, V32, "fp8", PEAKS)
    assert prompt.flops == 2 * 128 * 320 * 4096 * 2048


def test_a_long_context_costs_less_than_dense_attention(gb300: Kernels) -> None:
    sparse = gb300.sparse_decode(64, 100_000, **CALL)
    dense = gb300.mla_decode(64, 100_000, heads=128, kv_rank=512, rope_dim=64, kv_dtype="fp8")
    assert sparse.seconds < 0.6 * dense.seconds
    assert sparse.evidence.name.startswith("gb300 sparse decode trtllm")


def test_short_prompts_run_dense_attention(gb300: Kernels) -> None:
    expanded = {"nope_dim": 128, "value_dim": 128}
    sparse = gb300.sparse_prefill(8, 1024, **CALL, **expanded)
    cache = {"heads": 128, "kv_rank": 512, "rope_dim": 64, "kv_dtype": "fp8"}
    dense = gb300.mla_prefill(8, 1024, **cache, **expanded)
    assert sparse.seconds == pytest.approx(float(dense.seconds), rel=0.02)


def test_another_index_is_named(gb300: Kernels) -> None:
    priced = gb300.sparse_decode(np.array([0.0, 8.0]), 8192, **CALL | {"index_heads": 128})
    assert "64 index heads for 128" in priced.evidence.name
    assert priced.seconds[0] == 0

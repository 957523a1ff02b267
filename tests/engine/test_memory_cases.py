"""Public questions on memory fit with a known right answer; ids of shared/cases.yaml."""

from pathlib import Path

import pytest
import yaml

from racktwin.engine.cache import caches
from racktwin.engine.convention import convention
from racktwin.engine.fit import Answer, answer
from racktwin.engine.flags import Flags
from racktwin.engine.memory import Stated, memory
from racktwin.engine.question import ask
from racktwin.finding import BadInput
from racktwin.models import Attention, Dense, Layer, Layout, Precision, model
from racktwin.models.architecture import Architecture
from racktwin.models.layout import legal_tensor_sizes

GIB, MIB = 1 << 30, 1 << 20
HERE = Path(__file__).read_text()


def asked(name: str, on: str, **flags: object) -> Answer:
    """The answer to a command line."""
    return answer(ask(name, on, Flags(**flags)))


def test_every_public_memory_case_is_here(shared: Path) -> None:
    cases = yaml.safe_load((shared / "cases.yaml").read_text())
    wanted = {case["id"] for case in cases if case["kind"] == "A-memory"}
    assert wanted
    assert all(f"def test_{name.lower()}_" in HERE for name in wanted)


def test_a01_gpt_oss_charges_every_layer() -> None:
    found = asked("gpt-oss-120b", "h100", kv_room="5.38GiB")
    assert found.memory.kv_bytes_per_token == 73728
    assert found.memory.kv_tokens == pytest.approx(78384, rel=2e-3)
    assert found.memory.weights == pytest.approx(65_248_815_744, rel=2e-3)
    assert "GPU KV cache size: 78,336 tokens" in found.log


def test_a03_sglang_prints_gib_as_gb() -> None:
    known = {"precision": "fp8", "tensor": 4, "engine": "sglang", "memory_fraction": "0.93"}
    found = asked("qwen3-235b-a22b", "h100", kv_room="16.4676GiB", **known)
    assert found.memory.kv_tokens == pytest.approx(367404, rel=1e-3)
    assert "K size: 8.23 GB, V size: 8.23 GB" in found.log[0]
    predicted = asked("qwen3-235b-a22b", "h100", **known)
    assert predicted.memory.kv_tokens == pytest.approx(367404, rel=0.03)


def test_a05_llama_405b_loads_but_128k_does_not_fit() -> None:
    known = {"precision": "fp8", "tensor": 8, "memory_fraction": "0.9", "max_len": 131072}
    found = asked("llama-3.1-405b", "azure-nd-h100-v5", **known)
    assert found.memory.weights / GIB == pytest.approx(57.752, rel=0.02)
    assert found.memory.kv_bytes_per_token == 64512
    assert found.memory.kv_tokens == pytest.approx(79392, rel=0.25)
    assert found.memory.loads
    assert not found.fits
    assert found.longest == found.memory.kv_tokens
    logged = asked("llama-3.1-405b", "h100", kv_room="4.77GiB", **known)
    assert logged.memory.kv_tokens == pytest.approx(79392, rel=1e-3)
    assert not logged.fits


def test_a07_negative_room_is_said_not_clipped() -> None:
    found = asked(
        "qwen2.5-7b",
        "h100",
        precision="int4",
        hbm="8.00GiB",
        memory_fraction="0.70",
        weights="5.20GiB",
        reserved="0.03GiB",
        activations="1.42GiB",
        tensor=1,
    )
    assert found.memory.kv_room / GIB == pytest.approx(-1.05)
    assert found.memory.kv_blocks == 0
    assert found.verdict == "does not load: 1.05 GiB are missing on every GPU"


def gemma() -> Architecture:
    """Gemma 4 31B: 50 windowed layers and 10 full ones with other heads."""
    block = Dense(intermediate=21504)
    near = Attention(heads=32, kv_heads=16, head_dim=256, window=1024)
    far = Attention(heads=32, kv_heads=4, head_dim=512)
    layers = (*[Layer(near, block)] * 50, *[Layer(far, block)] * 10)
    return Architecture(name="gemma", hidden=5376, vocab=262144, layers=layers, context=262144)


def test_a09_gemma_windows_in_full_and_in_a_pool() -> None:
    found = memory(
        gemma(),
        Precision(),
        Layout(),
        visible=80 * GIB,
        convention=convention("vllm"),
        max_batch=256,
        max_batch_tokens=2048,
        stated=Stated(room=20.13 * GIB),
    )
    assert found.kv_bytes_per_token * 262144 / GIB == 220.0
    assert found.kv_tokens == pytest.approx(23984, rel=1e-3)
    assert found.cache.sequence(262144) / GIB == pytest.approx(20.78, abs=0.005)


def test_a11_each_stage_pays_for_its_own_layers() -> None:
    found = asked(
        "qwen3-30b-a3b",
        "h100",
        precision="fp8",
        split="16,32",
        hbm="16GiB,32GiB",
        kv_room="3.18GiB,19GiB",
        max_len=262144,
    )
    assert found.memory.stage == 0
    assert found.memory.kv_bytes_per_token == 32768
    assert found.memory.kv_tokens == pytest.approx(104202, rel=1e-3)


def test_a13_a_million_tokens_on_eight_gpus() -> None:
    found = asked("llama-4-scout", "h100", tensor=8, kv_room="9.97GiB", max_len=1048576)
    assert found.memory.kv_bytes_per_token == 24576
    assert found.request_full / GIB == 24.0
    assert found.longest_full == pytest.approx(435600, rel=1e-3)


def test_a15_28_heads_do_not_split_over_eight() -> None:
    with pytest.raises(BadInput, match="8 ranks cannot split 28 attention heads") as fault:
        asked("qwen2.5-7b", "h100", tensor=8)
    assert "use 1, 2, 4, 7, 14 or 28" in str(fault.value)
    shape = model("qwen2.5-7b").architecture
    assert legal_tensor_sizes(shape) == [1, 2, 4, 7, 14, 28]
    assert legal_tensor_sizes(shape, "split") == [1, 2, 4]


def test_a17_fp8_cache_and_the_context_that_is_refused() -> None:
    known = {"precision": "fp8", "kv_dtype": "fp8", "tensor": 1}
    found = asked("qwen3-30b-a3b", "h100", kv_room="10.55GiB", max_len=100000, **known)
    assert found.memory.kv_bytes_per_token == 49152
    assert found.memory.kv_tokens == pytest.approx(230528, rel=1e-3)
    assert found.sequences == pytest.approx(2.305, rel=1e-3)
    longer = asked("qwen3-30b-a3b", "h100", kv_room="5.59GiB", max_len=221000, **known)
    assert longer.request / GIB == pytest.approx(10.12, abs=0.005)
    assert not longer.fits
    assert longer.longest == pytest.approx(122080, rel=1e-3)


def test_a19_latent_cache_in_blocks_of_eight_bits() -> None:
    shape = model("deepseek-r1").architecture
    (plain,) = caches(shape, "fp16", "fp32", Layout())
    (packed,) = caches(shape, "q8_0", "fp32", Layout())
    assert plain.charged == 70272
    assert plain.sequence(80128) / MIB == pytest.approx(5369.91, abs=0.01)
    assert packed.sequence(32768) / MIB == pytest.approx(1166.62, abs=0.01)


def test_a21_only_full_attention_holds_cache() -> None:
    found = asked("qwen3.5-397b", "h200", tensor=2, engine="sglang", kv_room="8.30GiB")
    assert found.memory.cache.key == 7680
    assert found.memory.kv_tokens == pytest.approx(580364, rel=1e-3)
    # 82 sequences and one spare slot: 7.29 + 0.13 printed as GB.
    slots = 83 * found.memory.state_bytes_per_sequence / GIB
    assert slots == pytest.approx(7.29 + 0.13, abs=0.01)

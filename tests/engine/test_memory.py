"""Memory of a GPU: hand values, conservation, monotone behaviour."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.engine.convention import convention, of_epoch
from racktwin.engine.epochs import epoch
from racktwin.engine.memory import MemoryFit, Need, Stated, kv_room, memory
from racktwin.models import Layout, model, weight_parts

GIB = 1 << 30
LLAMA = model("llama-3.1-8b")
DENSE = [Layout(tensor=t, pipeline=p) for t in (1, 2, 4, 8) for p in (1, 2, 4)]


def fit(name: str = "llama-3.1-8b", layout: Layout | None = None, **options: object) -> MemoryFit:
    """The memory of a model on H100 under vLLM unless the options say otherwise."""
    found = model(name)
    asked = {
        "visible": 80 * GIB,
        "convention": convention("vllm"),
        "max_batch_tokens": 8192,
        "max_batch": 1024,
        **options,
    }
    return memory(found.architecture, found.precision, layout or Layout(), **asked)


def test_room_is_what_the_share_leaves_after_all_in_the_total_accounting() -> None:
    need = Need(weights=40.0, activations=5.0, communication=1.0, reserved=2.0)
    assert kv_room("total", 0.9, 80.0, need) == pytest.approx(72 - 48)


def test_activations_live_outside_the_share_in_the_static_accounting() -> None:
    need = Need(weights=40.0, activations=5.0, communication=0.0, reserved=2.0)
    assert kv_room("static", 0.9, 80.0, need) == pytest.approx(0.9 * 78 - 40)


def test_the_share_is_of_what_is_left_in_the_free_accounting() -> None:
    need = Need(weights=40.0, activations=5.0, communication=1.0, reserved=2.0)
    assert kv_room("free", 0.9, 80.0, need) == pytest.approx(0.9 * 32)


@pytest.mark.parametrize("basis", ["total", "static", "free"])
def test_missing_memory_stays_negative(basis: str) -> None:
    assert kv_room(basis, 0.9, 10.0, Need(12.0, 1.0, 0.0, 0.0)) < 0


def test_llama_8b_on_one_h100_by_hand() -> None:
    found = fit(visible=79.5 * GIB)
    # 8.03 B parameters in bf16; 1,024 sequences x 128,256 words x 39 B; 0.55 GiB of engine.
    assert found.weights == pytest.approx(2 * 8.0302e9, rel=1e-3)
    assert found.activations == 39 * 1024 * 128256
    assert found.kv_bytes_per_token == 2 * 32 * 8 * 128 * 2
    room = 0.9 * 79 * GIB - found.weights - found.activations - 0.55 * GIB
    assert found.kv_room == pytest.approx(room)
    assert found.kv_blocks == int(room / (131072 * 16))
    assert found.kv_tokens == 16 * found.kv_blocks


def test_activations_of_a_long_step_are_its_tensors() -> None:
    found = fit(max_batch=1, max_batch_tokens=16384)
    # 3 x 4,096 for the stream, gate, up and product of 14,336, in bf16.
    assert found.activations == 2 * 16384 * (3 * 4096 + 3 * 14336)


def test_a_public_start_up_log_of_vllm_is_met() -> None:
    # Qwen3-235B-A22B-FP8 on 4 H100, vllm-project/vllm#21348: 178,880 tokens.
    qwen = model("qwen3-235b-a22b")
    found = memory(
        qwen.architecture,
        qwen.at("fp8"),
        Layout(tensor=4, expert_tensor=4),
        visible=hardware.chip("h100").memory_visible,
        convention=convention("vllm"),
        max_batch_tokens=8192,
        max_batch=1024,
    )
    assert found.kv_tokens == pytest.approx(178880, rel=0.20)


@given(st.floats(1.0, 300.0), st.floats(0.0, 50.0), st.sampled_from(["vllm", "sglang", "trtllm"]))
def test_more_memory_never_holds_fewer_tokens(size: float, more: float, engine: str) -> None:
    rule = {"convention": convention(engine), "fraction": 0.9}
    small, large = fit(visible=size * GIB, **rule), fit(visible=(size + more) * GIB, **rule)
    assert small.kv_tokens <= large.kv_tokens
    assert small.kv_room <= large.kv_room
    assert small.kv_tokens * small.kv_bytes_per_token <= max(0.0, small.kv_room) + 1


@given(st.sampled_from(DENSE), st.integers(1, 4096), st.integers(1, 65536))
def test_bigger_steps_never_leave_more_room(layout: Layout, batch: int, tokens: int) -> None:
    small = fit(layout=layout, max_batch=batch, max_batch_tokens=tokens)
    large = fit(layout=layout, max_batch=2 * batch, max_batch_tokens=2 * tokens)
    assert large.kv_room <= small.kv_room


@given(st.sampled_from(DENSE))
def test_weights_are_conserved_over_ranks(layout: Layout) -> None:
    whole = sum(weight_parts(LLAMA.architecture, LLAMA.precision).values())
    held = fit(layout=layout).weights * layout.gpus
    assert held >= whole * (1 - 1e-9)
    if layout.pipeline == 1:  # only the norms are copied
        norms = weight_parts(LLAMA.architecture, LLAMA.precision)["norm"]
        assert held - (layout.tensor - 1) * norms == pytest.approx(whole)


def test_the_tightest_pipeline_stage_decides() -> None:
    found = fit(layout=Layout(pipeline=2), visible=(24 * GIB, 80 * GIB), split=(16, 16))
    assert (found.stage, found.visible) == (0, 24 * GIB)
    other = fit(layout=Layout(pipeline=2), visible=(80 * GIB, 24 * GIB), split=(16, 16))
    assert (other.stage, other.visible) == (1, 24 * GIB)


def test_a_logged_room_replaces_ours() -> None:
    found = fit(stated=Stated(room=131072 * 1000))
    assert (found.kv_room, found.kv_tokens, found.kv_blocks) == (131072000, 992, 62)


def test_an_epoch_sets_the_fraction_on_its_engines_own_basis() -> None:
    rule = epoch("trtllm")
    found = fit("deepseek-r1", Layout(attention_data=8, expert=8), convention=rule, max_batch=64)
    used = found.weights + found.activations + found.communication + found.reserved
    free = 80 * GIB - convention("trtllm").driver - used
    assert found.kv_room == pytest.approx(free if free < 0 else rule.memory_fraction * free)
    assert of_epoch(rule) is of_epoch(rule)


def test_states_and_windows_are_charged_to_each_sequence() -> None:
    found = fit("qwen3.5-397b", Layout(tensor=8, expert_tensor=8), visible=140 * GIB)
    size = 1600 * found.cache.growth + found.state_bytes_per_sequence
    assert found.state_bytes_per_sequence > 0
    assert found.sequences(1600) == pytest.approx(found.kv_room / size)
    assert found.cache.sequence(found.longest) <= found.kv_room


def test_one_answer_costs_little() -> None:
    fit()
    start = time.process_time()
    for batch in range(1000):
        fit(max_batch=batch)
    assert (time.process_time() - start) / 1000 < 200e-6


def test_the_record_says_what_a_gpu_holds() -> None:
    found = msgspec.to_builtins(fit())
    assert {"weights", "activations", "communication", "reserved", "kv_room"} <= found.keys()
    assert sum(found["parts"].values()) == pytest.approx(found["weights"])

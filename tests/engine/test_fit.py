"""Answers to questions about fit: layouts that are looked for, notes, lines of the logs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.engine.account import account
from racktwin.engine.fit import Answer, answer
from racktwin.engine.flags import Flags
from racktwin.engine.question import ask
from racktwin.engine.remedy import remedies
from racktwin.finding import BadInput
from racktwin.models import Layout

ENGINES = ["vllm", "sglang", "trtllm"]


def asked(name: str, on: str = "h100", **flags: object) -> Answer:
    """The answer to a command line."""
    return answer(ask(name, on, Flags(**flags)))


def test_the_smallest_layout_that_fits_is_chosen() -> None:
    assert asked("llama-3.1-8b").layout == Layout()
    assert asked("llama-3.1-70b").layout == Layout(tensor=4)
    assert not asked("llama-3.1-70b", gpus=2).fits
    assert asked("deepseek-r1", "gb300", precision="nvfp4").layout.gpus == 2


def test_a_model_beyond_one_domain_takes_pipeline_stages() -> None:
    found = asked("kimi-k2", "azure-nd-h100-v5")
    assert found.layout == Layout(tensor=8, pipeline=3, expert_tensor=8)
    assert found.fits


def test_exactly_the_gpus_that_were_asked_for() -> None:
    assert asked("llama-3.1-8b", gpus=8).layout == Layout(tensor=8)
    with pytest.raises(BadInput, match="use --gpus 4"):
        asked("llama-3.1-8b", gpus=7)


def test_experts_follow_from_what_was_said() -> None:
    assert asked("deepseek-r1", "h200", tensor=8).layout == Layout(tensor=8, expert_tensor=8)
    spread = Layout(attention_data=8, expert=8)
    assert asked("deepseek-r1", "h200", attention_data=8).layout == spread
    both = Layout(tensor=8, expert=4, expert_tensor=2)
    assert asked("deepseek-r1", "h200", tensor=8, expert=4).layout == both


def test_block_scales_decide_how_experts_are_cut() -> None:
    with pytest.raises(BadInput, match="not a multiple of 128"):
        asked("qwen3-235b-a22b", precision="fp8", tensor=8)
    found = asked("qwen3-235b-a22b", precision="fp8_block", gpus=8)
    assert found.layout == Layout(tensor=8, expert=8)


def test_a_length_beyond_the_model_is_noted() -> None:
    notes = asked("qwen3-8b", max_len=100000).notes
    assert [note.key for note in notes] == ["max_len"]
    assert notes[0].note


@pytest.mark.parametrize("engine", ENGINES)
def test_the_account_adds_up(engine: str) -> None:
    lines = {line.part: line.bytes for line in account(asked("llama-3.1-70b", engine=engine))}
    offer = lines["memory of a GPU"] - lines["kept by the driver"]
    outside = lines["engine"] + lines.get("communication", 0.0)
    weights, active = lines["weights"], lines.get("activations", 0.0)
    room = next(size for part, size in lines.items() if part.startswith("room"))
    if engine == "trtllm":
        assert room == pytest.approx(0.9 * (offer - weights - active - outside))
    else:
        usable = next(size for part, size in lines.items() if part.startswith("usable"))
        spent = weights if engine == "sglang" else weights + active + outside
        assert room == pytest.approx(usable - spent)


def test_log_lines_of_the_engines() -> None:
    room = {"kv_room": "10GiB", "gpus": 1}
    # 131,072 B a token: 81,920 tokens.
    assert asked("llama-3.1-8b", **room).log == (
        "Available KV cache memory: 10.00 GiB",
        "GPU KV cache size: 81,920 tokens",
        "Maximum concurrency for 131,072 tokens per request: 0.62x",
    )
    assert asked("llama-3.1-8b", engine="sglang", **room).log == (
        "KV Cache is allocated. #tokens: 81920, K size: 5.00 GB, V size: 5.00 GB",
    )
    assert asked("llama-3.1-8b", engine="trtllm", **room).log == (
        "Max KV cache blocks per sequence: 2560 [window size=81920], primary blocks=2560",
        "[MemUsageChange] Allocated 10.00 GiB for max tokens in paged KV cache (81920).",
    )


def test_a_latent_cache_has_no_keys_apart() -> None:
    log = asked("deepseek-r1", "h200", engine="sglang", tensor=8, kv_room="10GiB").log
    assert log == ("KV Cache is allocated. #tokens: 152797, KV size: 10.00 GB",)


def test_windows_get_a_smaller_pool_in_sglang() -> None:
    found = asked("gpt-oss-120b", engine="sglang", gpus=1, kv_room="9GiB")
    full = int((9 << 30) / (18 * 2048 * 1.8))
    assert found.log == (f"full_layer_tokens={full}, swa_layer_tokens={int(full * 0.8)}",)


def test_remedies_give_their_numbers() -> None:
    found = {each.change: each.answer for each in remedies(asked("llama-3.1-70b", gpus=1))}
    assert found["--tensor 4"].layout == Layout(tensor=4)
    assert all(each.fits for each in found.values())
    together = next(change for change in found if change.startswith("--precision"))
    assert found[together].layout == Layout()


def test_a_logged_room_leaves_cache_remedies_only() -> None:
    known = {"tensor": 8, "precision": "fp8", "kv_room": "4.77GiB"}
    changes = [each.change for each in remedies(asked("llama-3.1-405b", **known))]
    assert changes == ["--max-len 79392", "--kv-dtype fp8"]


def test_chunks_that_outgrow_the_rest_are_noted() -> None:
    flags = {"memory_fraction": "0.99", "engine": "sglang", "max_batch_tokens": 65536}
    notes = asked("llama-3.1-8b", **flags).notes
    assert "memory_fraction" in [note.key for note in notes]


@given(
    st.sampled_from(ENGINES),
    st.sampled_from(["llama-3.1-8b", "gpt-oss-20b", "deepseek-r1", "qwen3.5-27b"]),
    st.floats(1, 400),
    st.integers(1, 10_000_000),
)
def test_any_size_gets_an_answer(engine: str, name: str, memory: float, length: int) -> None:
    found = asked(name, engine=engine, hbm=f"{memory}GiB", max_len=length, gpus=1)
    assert found.fits == (found.memory.loads and found.sequences >= 1)
    assert found.memory.kv_tokens >= 0
    assert found.memory.loads == (found.memory.kv_room > 0)
    for each in remedies(found):
        assert each.answer.fits or each.answer.memory.kv_room >= found.memory.kv_room


def test_copies_of_the_cache_are_noted() -> None:
    (latent,) = asked("deepseek-r1", "h200", tensor=8).notes
    assert "the same latent cache" in latent.message
    (heads,) = asked("qwen3-235b-a22b", "h200", tensor=8).notes
    assert "4 key-value heads" in heads.message
    spread = asked("deepseek-r1", "h200", attention_data=8)
    assert spread.notes == ()
    assert spread.tokens == 8 * spread.memory.kv_tokens

"""Rules of the engines for a pool: by hand."""

from __future__ import annotations

import msgspec
import pytest

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.epochs import epoch
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.scheduling import ENDLESS, blocks, gain, ring_for, rules, sized_clock
from racktwin.serving.steady import Served


def deployed(engine: str, name: str = "deepseek-r1", **pool: object) -> Served:
    named = model(name)
    layout = Layout(attention_data=8, expert=8) if name == "deepseek-r1" else Layout()
    made = Pool(**{"layout": layout, "max_batch": 100, "max_batch_tokens": 4096, **pool})  # type: ignore[arg-type]
    return Served(
        Deployment(
            model=named,
            cluster=hardware.cluster("azure-nd-gb300-v6"),
            engine=epoch(engine),
            precision=named.precision,
            serve=made,
        )
    )


def made(served: Served, context: float = 1000.0):
    return rules(served.deployment, "serve", served.memory["serve"], context)


def test_vllm_pages_on_demand() -> None:
    served = deployed("vllm")
    found = made(served)
    assert (found.reserve, found.mixed, found.chunked, found.balance) == (0, True, True, 0)
    assert (found.ranks, found.max_batch, found.budget, found.block) == (8, 100, 4096, 16)
    assert found.blocks == served.memory["serve"].kv_blocks


def test_sglang_puts_prompts_first_and_reserves_a_sinking_share() -> None:
    found = made(deployed("sglang"))
    assert (found.reserve, found.mixed, found.block) == (2, False, 1)
    assert found.share == 0.7
    assert found.least == pytest.approx(0.098)
    assert found.decay * 600 == pytest.approx(0.7 - 0.098)


def test_trtllm_reserves_the_whole_answer_and_balances_ranks() -> None:
    served = deployed("trtllm-1.3")
    found = made(served)
    assert (found.reserve, found.mixed, found.block) == (1, True, 32)
    assert found.balance == served.deployment.engine.balance_wait == 20
    assert made(deployed("trtllm-1.3", "llama-3.1-8b")).balance == 0


def test_trtllm_may_take_blocks_as_tokens_come() -> None:
    """capacity_scheduler_policy MAX_UTILIZATION: paused requests instead of reserved answers."""
    served = deployed("trtllm-1.3")
    chosen = msgspec.structs.replace(served.deployment, scheduler="max_utilization")
    assert rules(chosen, "serve", served.memory["serve"], 1000.0).reserve == 0


def test_a_pipeline_is_so_many_replicas_with_their_share() -> None:
    plain = deployed("vllm", "llama-3.1-8b")
    staged = deployed("vllm", "llama-3.1-8b", layout=Layout(pipeline=2))
    assert made(staged).max_batch == made(plain).max_batch // 2
    assert made(staged).blocks == staged.memory["serve"].kv_blocks // 2


def test_windows_hold_more_short_of_their_end() -> None:
    fit = deployed("vllm", "gpt-oss-20b").memory["serve"]
    assert fit.cache.windows
    held = fit.sequences(4096.0)
    assert blocks(fit, 4096.0) == int(held * 4096 / fit.block)
    assert blocks(fit, 32768.0) > fit.kv_blocks
    free = msgspec.structs.replace(fit.cache, growth=0.0, windows=((0, 0.0),), charged=0.0)
    assert blocks(msgspec.structs.replace(fit, cache=free), 4096.0) == ENDLESS


@pytest.mark.parametrize(("output", "steps"), [(10, 1024), (1022, 1024), (1023, 2048)])
def test_the_ring_holds_every_answer(output: int, steps: int) -> None:
    found = made(deployed("vllm", "llama-3.1-8b"))
    assert ring_for(output, found) == steps


def test_gains_are_whole_parts_of_a_token() -> None:
    pool = Pool(layout=Layout(), speculation=Speculation(tokens=2, acceptance=0.7))
    assert gain(pool) == round(2.19 * 4096) / 4096


def test_dense_work_is_that_of_the_next_graph_and_experts_see_what_is_there() -> None:
    served = deployed("vllm")
    table, asked = served.tables["serve"], made(served)
    found = sized_clock(table, asked, 1000)
    experts, whole = table.tokens.parts["experts"], table.tokens.seconds
    for tokens, size in ((5, 8), (8, 8), (65, 72), (100, 100), (101, 101)):  # max_batch is 100
        assert found.alone[tokens] == pytest.approx(float(whole(size) - experts(size)))
        assert found.shared[tokens] == pytest.approx(float(experts(tokens)))

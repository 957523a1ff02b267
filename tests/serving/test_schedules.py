"""Schedules step by step, written by hand from what the engines document; every step takes 1 s.

A step is (prompt tokens, sequences in decode); see docs/background/scheduling.md for the sources.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.serving import pool

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.epochs import epoch
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving.fleet import Rules
from racktwin.serving.metrics import gaps
from racktwin.serving.oracle import Request
from racktwin.serving.scheduling import rules
from racktwin.serving.steady import Served


def served(requests: list[Request], **engine: Any) -> pool.Run:
    return pool.run(pool.rules(**engine), pool.constant(), requests)


def sglang(drafts: int, ranks: int = 8) -> Rules:
    """The rules of DeepSeek-R1 on SGLang with so many attention-DP ranks."""
    named = model("deepseek-r1")
    layout = Layout(tensor=8 // ranks, attention_data=ranks, expert=8)
    speculation = Speculation(tokens=drafts, acceptance=(0.8,) * drafts)
    serve = Pool(layout=layout, max_batch=64, max_batch_tokens=2048, speculation=speculation)
    asked = Deployment(
        model=named,
        cluster=hardware.cluster("hgx-b200", nodes=1),
        engine=epoch("sglang"),
        precision=named.at("fp8"),
        serve=serve,
    )
    return rules(asked, "serve", Served(asked).memory["serve"], 1000.0)


def times(run: pool.Run) -> list[tuple[float, float, float]]:
    """First admission, first token, end of each request, s."""
    return [(each.admitted, each.first, each.finish) for each in run.results]


def test_prompts_fill_the_budget_and_the_last_is_cut() -> None:
    run = served([Request(0.0, 10, 3), Request(0.0, 5, 2)], budget=8)
    assert run.steps == [(8, 0), (7, 0), (0, 2), (0, 1)]
    assert times(run) == [(0, 2, 4), (1, 2, 3)]


def test_decoding_takes_its_tokens_first() -> None:
    """vLLM: running requests before waiting ones; three of four tokens are left for the prompt."""
    run = served([Request(0.0, 2, 6), Request(0.5, 10, 1)], budget=4)
    assert run.steps == [(2, 0), (3, 1), (3, 1), (3, 1), (1, 1), (0, 1)]
    assert times(run) == [(0, 1, 6), (1, 5, 5)]


def test_a_decoding_sequence_that_verifies_drafts_takes_more_of_the_budget() -> None:
    """Two tokens computed per sequence, two won: four steps after the first token make eight."""
    run = served([Request(0.0, 2, 9), Request(0.5, 10, 1)], budget=4, queries=2, gain=2.0)
    assert run.steps == [(2, 0), (2, 1), (2, 1), (2, 1), (2, 1), (2, 0)]
    assert times(run) == [(0, 1, 5), (1, 6, 6)]


def test_first_come_first_served_even_when_a_later_prompt_would_fit() -> None:
    """The second needs five blocks of six while the first holds up to four."""
    requests = [Request(0.0, 8, 9), Request(0.5, 20, 1), Request(0.6, 4, 1)]
    run = served(requests, blocks=6, budget=100)
    assert times(run) == [(0, 1, 9), (9, 10, 10), (9, 10, 10)]


def test_the_newest_is_recomputed() -> None:
    """vLLM: of two with two blocks each, in need of a third, the newest goes and comes back with
    4 prompt and 5 given tokens, but not in the step it was thrown out."""
    run = served([Request(0.0, 4, 8), Request(0.0, 4, 8)], blocks=4)
    assert run.steps == [(8, 0), *4 * [(0, 2)], *3 * [(0, 1)], (9, 0), (0, 1), (0, 1)]
    assert times(run) == [(0, 1, 8), (0, 1, 11)]
    assert [each.losses for each in run.results] == [0, 1]


def test_the_least_urgent_is_recomputed() -> None:
    """vLLM with priorities: the older one goes, as it is less urgent (larger)."""
    run = served([Request(0.0, 4, 8, 1), Request(0.0, 4, 8, 0)], blocks=4)
    assert times(run) == [(0, 1, 11), (0, 1, 8)]
    assert [each.losses for each in run.results] == [1, 0]


def test_the_most_urgent_waits_in_front() -> None:
    requests = [Request(0.0, 1, 4), Request(0.1, 1, 1, 1), Request(0.2, 1, 1, 0)]
    run = served([*requests, Request(0.3, 1, 1, 0)], max_batch=1)
    assert [each.admitted for each in run.results] == [0, 6, 4, 5]


def test_whole_answers_are_reserved() -> None:
    """TensorRT-LLM GUARANTEED_NO_EVICT: three blocks each, none left for the third until one ends;
    with blocks as they are needed (MAX_UTILIZATION) it comes in at once."""
    requests = [Request(0.0, 4, 8), Request(0.0, 4, 8), Request(0.0, 4, 1)]
    assert times(served(requests, blocks=6, reserve=1)) == [(0, 1, 8), (0, 1, 8), (8, 9, 9)]
    assert times(served(requests, blocks=6, reserve=0))[2] == (0, 1, 1)


def test_prompts_are_not_cut_without_chunked_context() -> None:
    """The example of TensorRT-LLM's tuning guide: batch of 4, 12 tokens, prompts of 5.

    Two prompts leave 2 tokens, too few for a third; beside their decoding two more fit; then the
    batch is full until the first two end.
    """
    run = served(5 * [Request(0.0, 5, 4)], max_batch=4, budget=12, reserve=1, chunked=False)
    assert run.steps == [(10, 0), (10, 2), (0, 4), (0, 4), (5, 2), *3 * [(0, 1)]]
    assert [each.admitted for each in run.results] == [0, 0, 1, 1, 4]
    cut = served(5 * [Request(0.0, 5, 4)], max_batch=4, budget=12, reserve=1)
    assert cut.steps[0] == (12, 0)


@pytest.mark.parametrize(("other", "admitted"), [(None, 4.0), (2.5, 3.0)])
def test_ranks_wait_for_each_others_prompts(other: float | None, admitted: float) -> None:
    """TensorRT-LLM attention-DP balance with timeout_iters 4: counted from the first step without
    a prompt on every rank; a prompt on the other rank ends the wait."""
    requests = [Request(0.0, 4, 9), Request(0.0, 4, 9), Request(1.5, 4, 2)]
    if other is not None:
        requests.append(Request(other, 4, 2))
    run = served(requests, ranks=2, balance=4)
    assert run.results[2].admitted == admitted
    assert run.results[-1].admitted == admitted


def test_a_rank_with_a_prompt_alone_does_not_wait() -> None:
    requests = [Request(0.0, 4, 9), Request(1.5, 4, 2)]
    assert served(requests, ranks=2, balance=4).results[1].admitted == 2


def test_a_rank_without_anything_is_waited_for() -> None:
    """It decodes a dummy: the third waits on when the second, on the other rank, has ended at 3."""
    requests = [Request(0.0, 4, 9), Request(0.0, 4, 3), Request(1.5, 4, 2)]
    assert [each.admitted for each in served(requests, ranks=2, balance=4).results] == [0, 0, 4]


def test_a_closed_loop_keeps_sessions_under_way() -> None:
    """One at a time: two turns 5 s apart, then a session of one; each request takes 2 steps. The
    stream's own times count only between turns: the last comes 9 s after the one before it did."""
    requests = [
        Request(0.0, 4, 2),
        Request(0.1, 4, 2, after=0, pause=5.0),
        Request(0.2, 4, 2),
        Request(0.3, 4, 2),
        Request(9.3, 4, 2, after=3),
    ]
    run = pool.run(pool.rules(), pool.constant(), requests, concurrency=1)
    assert [each.arrival for each in run.results] == [0, 7, 9, 11, 20]
    two = pool.run(pool.rules(), pool.constant(), requests, concurrency=2)
    assert [each.arrival for each in two.results] == [0, 7, 0, 2, 11]


def test_images_are_encoded_in_the_step_that_starts_their_prompt() -> None:
    """0.003 s a token: 3 s for 1,000, beside the step's own second; a rank waits for the slower."""
    shown = pool.pictures(1000)
    whole = [Request(0.0, 1100, 2, images=shown)]
    assert times(served(whole, budget=2000)) == [(0, 4, 5)]
    assert times(served(whole, budget=600)) == [(0, 5, 6)]  # in the first chunk
    both = [*whole, Request(0.0, 1050, 2, images=pool.pictures(500))]
    assert times(served(both, budget=4000)) == [(0, 5.5, 6.5)] * 2
    assert times(served(both, budget=4000, ranks=2)) == [(0, 4, 5)] * 2


def test_what_is_cached_of_images_is_not_encoded_again() -> None:
    """The second prompt of 1,100 tokens finds 800, so 300 of 1,000 image tokens are left."""
    shown, ids = pool.pictures(1000), (1, 2)
    requests = [
        Request(0.0, 1100, 1, ids=ids, images=shown),
        Request(9.0, 1100, 1, ids=ids, images=shown),
    ]
    run = served(requests, budget=2000, unit=800)
    assert times(run) == [(0, 4, 4), (9, pytest.approx(10.9), pytest.approx(10.9))]


def test_prompts_pause_decoding() -> None:
    """SGLang: prefill has priority and a step of its own."""
    run = served([Request(0.0, 4, 5), Request(1.5, 4, 2)], mixed=False, reserve=2)
    assert run.steps == [(4, 0), (0, 1), (4, 1), (0, 2), (0, 1), (0, 1)]
    assert times(run) == [(0, 1, 6), (2, 3, 4)]


LONELY = {"mixed": False, "reserve": 2, "singly": True, "ranks": 2}


def test_one_rank_reads_while_the_other_decodes() -> None:
    """SGLang attention-DP: the prompt of the second rank at 2 does not stall the first."""
    run = served([Request(0.0, 4, 5), Request(1.5, 4, 2)], **LONELY)
    assert run.steps == [(4, 0), (0, 1), (4, 1), (0, 2), (0, 1)]
    assert times(run) == [(0, 1, 5), (2, 3, 4)]
    stalled = served([Request(0.0, 4, 5), Request(1.5, 4, 2)], **LONELY | {"singly": False})
    assert times(stalled) == [(0, 1, 6), (2, 3, 4)]


def test_a_rank_that_reads_rests() -> None:
    """The third comes to the first rank: from 2 to 4, in two chunks, that one reads and the other
    decodes. So the first has its third token at 5, 3 s after its second."""
    requests = [Request(0.0, 4, 5), Request(0.0, 4, 9), Request(1.5, 6, 2)]
    run = served(requests, budget=4, **LONELY)
    assert times(run) == [(0, 1, 7), (0, 1, 9), (2, 4, 5)]
    seconds, often, _ = gaps(run.pool.log, run.pool.rules)
    found = dict(zip(seconds[often > 0], often[often > 0], strict=False))
    assert found[3.0] == 1
    assert sum(often) == 4 + 8 + 1
    assert seconds @ often == 6 + 8 + 1


def test_the_second_token_of_a_rank_that_rests_comes_later() -> None:
    """The first rank reads the third prompt from 1 to 2, so its first has a second token at 3."""
    requests = [Request(0.0, 4, 3), Request(0.0, 4, 9), Request(0.5, 4, 2)]
    run = served(requests, **LONELY)
    assert [each.second for each in run.results] == [3, 2, 3]


def test_drafts_and_a_prompt_on_any_rank_do_not_go_together() -> None:
    """SGLang with speculation: a prompt anywhere stalls every rank."""
    assert not sglang(drafts=1).singly
    assert sglang(drafts=0).singly
    assert not sglang(drafts=0, ranks=1).singly


@pytest.mark.parametrize(("share", "admitted"), [(0.5, 1.0), (1.0, 10.0)])
def test_room_is_kept_for_a_share_of_the_output(share: float, admitted: float) -> None:
    """SGLang: 20 tokens of room; 4 are used and 9 to come. The new one wants 4 + 6 + share x 9."""
    engine = {"mixed": False, "reserve": 2, "block": 1, "blocks": 20}
    run = served([Request(0.0, 4, 10), Request(0.5, 4, 6)], share=share, least=share, **engine)
    assert run.results[1].admitted == admitted


def test_what_starts_together_is_reserved_in_full() -> None:
    """SGLang: 4 + 4 + 8 + 8 tokens, one short of room, although the share is nothing."""
    engine = {"mixed": False, "reserve": 2, "block": 1, "share": 0.0, "least": 0.0}
    requests = [Request(0.0, 4, 8), Request(0.0, 4, 8)]
    assert [each.admitted for each in served(requests, blocks=24, **engine).results] == [0, 0]
    assert [each.admitted for each in served(requests, blocks=23, **engine).results] == [0, 1]


@pytest.mark.parametrize("prompts", [(4, 5), (5, 4)])
def test_the_longest_of_those_with_the_fewest_tokens_is_retracted(prompts: tuple[int, int]) -> None:
    """SGLang: room for 20 tokens is gone after 5 steps; the longer prompt goes, older or newer, to
    the tail, and is read again with the 6 tokens it had when the other has ended."""
    engine = {"mixed": False, "reserve": 2, "block": 1, "blocks": 20, "share": 0.0, "least": 0.0}
    run = served([Request(0.0, prompts[0], 8), Request(0.5, prompts[1], 8)], **engine)
    gone = prompts.index(5)
    first, second = (prompts[0], 0), (prompts[1], 1)
    assert run.steps == [first, second, *5 * [(0, 2)], (0, 1), (0, 1), (11, 0), (0, 1)]
    assert run.results[gone].finish == 11
    assert run.results[1 - gone].finish == 9
    assert [each.losses for each in run.results] == [gone == 0, gone == 1]


@pytest.mark.parametrize("router", ["least_outstanding", "least_kv", "input_balanced"])
def test_a_router_sees_the_step_under_way(router: str) -> None:
    """The first replica computes a prompt until 1; at 1 it is idle again, and the second is not."""
    requests = [Request(time, 4, 1) for time in (0.0, 0.5, 1.0)]
    run = pool.run(pool.rules(), pool.constant(), requests, 2, router)
    assert [each.admitted for each in run.results] == [0.0, 0.5, 1.0]


def test_a_router_sees_the_tokens_there_were_when_the_step_started() -> None:
    """At 1.9 the first holds 4 tokens (the fifth comes with the step) and the second 5 to read."""
    requests = [Request(0.0, 4, 9), Request(1.2, 5, 9), Request(1.9, 2, 1)]
    run = pool.run(pool.rules(), pool.constant(), requests, 2, "least_kv")
    assert run.results[2].admitted == 2.0

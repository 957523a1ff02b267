"""The ranking: within the limits, loadable, sorted, and as good as brute force."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.planning.conftest import Asking

from racktwin.engine.deployment_check import check
from racktwin.finding import BadInput
from racktwin.planning.objective import OBJECTIVES, it_watts
from racktwin.planning.packing import copies
from racktwin.planning.plan import EQUAL, Plan, candidates_of, plan
from racktwin.planning.pools import Priced
from racktwin.planning.wish import Wish, asks

LIMITS = {"ttft": "1s", "tpot": "25ms"}


def brute(found: Plan) -> list[tuple[float, float, float]]:
    """(score, tpot, ttft) of every candidate within the limits, one by one."""
    ask = found.ask
    priced = Priced(ask)
    every = candidates_of(priced)
    rows = []
    for row in range(len(every)):
        if every.ttft[row] > (ask.ttft or np.inf) or every.tpot[row] > (ask.tpot or np.inf):
            continue
        sizes: dict[int, int] = {}
        for index, count in ((every.prefill, every.prefills), (every.decode, every.decodes)):
            if index[row] >= 0:
                size = priced.loading[int(index[row])].gpus
                sizes[size] = sizes.get(size, 0) + int(count[row])
        busy = copies(sizes, ask.cluster, ask.gpus) - ask.spare
        if busy < 1:
            continue
        output = every.rate[row] * ask.traffic.output * busy / ask.gpus
        watts = it_watts(every.take(np.array([row])), ask.cluster)[0]
        scores = {
            "throughput": output,
            "total": output * (1 + ask.traffic.input / ask.traffic.output),
            "cost": -ask.price / output,
            "tokens_per_mw": output / watts,
            "carbon": -watts / output,  # of one site: only the order counts
            "latency": -every.tpot[row] - 1e-6 * every.ttft[row],
        }
        rows.append((scores[ask.objective], every.tpot[row], every.ttft[row]))
    return rows


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_is_as_good_as_brute_force(small: Asking, objective: str) -> None:
    found = plan(small(objective=objective, **LIMITS))
    rows = brute(found)
    assert found.meeting == len(rows)
    best, first = max(rows)[0], found.choices[0]
    chosen = [
        score for score, tpot, ttft in rows if tpot == first.tpot.value and ttft == first.ttft.value
    ]
    assert max(chosen) >= best - EQUAL * abs(best) - 1e-12


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_choices_are_sorted_and_distinct(experts: Asking, objective: str) -> None:
    found = plan(experts(objective=objective, tpot="40ms", top=12))
    figures = {
        "throughput": [-each.cluster_rate for each in found.choices],
        "total": [-each.cluster_rate for each in found.choices],
        "cost": [-each.cluster_rate for each in found.choices],
        "tokens_per_mw": [-each.cluster_rate / each.watts.value for each in found.choices],
        "carbon": [-each.cluster_rate / each.watts.value for each in found.choices],
        "latency": [each.tpot.value + 1e-6 * each.ttft.value for each in found.choices],
    }[objective]
    assert figures == sorted(figures)
    pairs = {
        tuple((role, pool.layout) for role, pool in each.deployment.pools.items())
        for each in found.choices
    }
    assert len(pairs) == len(found.choices) == 12


def test_every_choice_holds_what_it_promises(experts: Asking) -> None:
    found = plan(experts(ttft="2s", tpot="30ms", top=8))
    ask = found.ask
    length = ask.traffic.held(ask.epoch.reserved)
    for each in found.choices:
        deployment = each.deployment
        assert each.ttft.value <= 2
        assert each.tpot.value <= 0.030
        assert not [finding for finding in check(deployment) if not finding.note]
        assert deployment.copies * deployment.gpus <= ask.gpus
        for role, pool in deployment.pools.items():
            fit = each.memory[role]
            assert fit.loads
            if role == "prefill":
                continue
            ranks = pool.replicas * pool.layout.attention_data
            inside = each.requests * ask.traffic.steps * each.tpot.value
            if role == "serve":
                inside = each.concurrency
            assert inside / ranks <= fit.sequences(length) * (1 + 1e-9)
            assert each.requests * ask.traffic.steps * each.tpot.value / ranks == pytest.approx(
                pool.max_batch
            )
        assert sum(each.parts.values()) <= each.tpot.value * (1 + 1e-9)
        for estimate in (each.ttft, each.tpot, each.output_rate, each.cost, each.per_user):
            assert 0 < estimate.low < estimate.value < estimate.high


def test_figures_agree_with_each_other(small: Asking) -> None:
    best = plan(small(spare=1)).best
    gpus, copies_ = best.deployment.gpus, best.deployment.copies
    rate = best.output_rate.value
    assert rate == pytest.approx(best.requests * 400 / gpus)
    assert best.total_rate.value == pytest.approx(best.requests * 2400 / gpus)
    assert best.per_user.value == pytest.approx(1 / best.tpot.value)
    assert best.busy_copies == copies_ - 1
    assert best.cluster_rate == pytest.approx(rate * gpus * best.busy_copies)
    price = plan(small(spare=1)).ask.price
    dollars = price / 3600 / rate * 1e6 * copies_ / best.busy_copies
    assert best.cost.value == pytest.approx(dollars)


def test_limits_nothing_meets_are_said_with_what_comes_closest(small: Asking) -> None:
    found = plan(small(tpot="10us"))
    assert not found.choices
    assert found.meeting == 0
    assert found.closest is found.best
    assert found.best.limit.startswith("a TPOT of ")
    every = candidates_of(Priced(found.ask))
    assert found.best.tpot.value == pytest.approx(every.tpot.min())
    both = plan(small(tpot="10us", ttft="10us")).best.limit
    assert "a TPOT of" in both
    assert "a TTFT of" in both


def test_the_reason_for_the_batch_is_the_one_that_binds(small: Asking) -> None:
    roomy = plan(small(mode="aggregated")).best
    tight = plan(small(mode="aggregated", tpot="6ms")).best
    early = plan(small(mode="aggregated", ttft="60ms")).best
    assert "TPOT of" in tight.limit
    assert "TTFT of" in early.limit
    assert "TPOT" not in roomy.limit
    assert "TTFT" not in roomy.limit


def test_the_front_of_a_megawatt_is_best_by_power(small: Asking) -> None:
    found = plan(small())
    by_power, by_gpu = found.power_front, found.front
    assert max(each.per_mw for each in by_power) >= max(each.per_mw for each in by_gpu)
    figures = [each.per_mw for each in by_power]
    assert figures == sorted(figures, reverse=True)
    speeds = [each.per_user for each in by_power]
    assert speeds == sorted(speeds)
    most = found.ask.cluster.chip.tdp
    for each in by_power:  # W of IT per GPU: more than the rack around an idle chip
        assert each.per_gpu / each.per_mw * 1e6 > 0.1 * most


def test_the_front_is_within_the_first_token_limit(small: Asking) -> None:
    free, held = plan(small()), plan(small(ttft="100ms"))
    assert max(each.ttft for each in free.front) > 0.1
    assert max(each.ttft for each in held.front) <= 0.1
    rates = [each.per_gpu for each in held.front]
    speeds = [each.per_user for each in held.front]
    assert rates == sorted(rates, reverse=True)
    assert speeds == sorted(speeds)


def test_spares_are_whole_copies(small: Asking) -> None:
    found = plan(small(spare=3))
    for each in found.choices:
        assert each.busy_copies == each.deployment.copies - 3 >= 1
    with pytest.raises(BadInput, match="beside 8 spare"):
        plan(small(spare=8))


def test_clusters_are_answered_each_for_itself() -> None:
    names = ["hgx-b200", "azure-nd-h100-v5"]
    wish = Wish(gpus=8, tpot="30ms")

    def answers(order: list[str]) -> dict[str, list[tuple[str, float]]]:
        return {
            ask.cluster.name: [
                (each.deployment.title, each.output_rate.value) for each in plan(ask).choices
            ]
            for ask in asks("llama-3.1-8b", order, 2000, 400, wish)
        }

    both = answers(names)
    assert both == answers(names[::-1])
    assert both["hgx-b200"] == answers(names[:1])["hgx-b200"]


def test_the_same_question_has_the_same_answer(small: Asking) -> None:
    one, two = plan(small(**LIMITS)), plan(small(**LIMITS))
    same = msgspec.structs.replace(two, seconds=one.seconds)
    assert one == same


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"gpus": 1, "precision": "bf16"}, "lacks"),
        ({"gpus": 1, "mode": "disaggregated"}, "balance"),
    ],
)
def test_what_cannot_be_planned_says_why(wish: dict[str, object], message: str) -> None:
    model = "llama-3.1-70b" if "precision" in wish else "llama-3.1-8b"
    (ask,) = asks(model, ["azure-nd-h100-v5"], 2000, 400, Wish(**wish))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=message):
        plan(ask)


def test_a_request_no_cache_holds_is_refused() -> None:
    wish = Wish(gpus=2, engine="vllm", precision="fp8", kv_dtype="bf16", memory_fraction="0.55")
    (ask,) = asks("llama-3.1-70b", ["azure-nd-h100-v5"], 120_000, 4000, wish)
    with pytest.raises(BadInput, match=r"hold the KV cache of 0\.\d requests"):
        plan(ask)


def test_the_table_is_the_ranking(small: Asking) -> None:
    found = plan(small(top=3))
    table = found.table()
    assert table["rank"].to_list() == [1, 2, 3]
    assert table["tpot"].to_list() == [each.tpot.value for each in found.choices]
    assert table["cost_low"].to_list() == [each.cost.low for each in found.choices]

"""Tiers of a deployment: sizes and speeds by hand; a trace through them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.serving import test_simulation

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.engine.offload import Offload
from racktwin.models import model
from racktwin.models.layout import Layout
from racktwin.serving import traces
from racktwin.serving.fleet import FROM_HOST, FROM_SHARED, PREFILLED, TO_HOST, TO_SHARED
from racktwin.serving.metrics import DEFINITIONS
from racktwin.serving.outcome import outcome, readings
from racktwin.serving.simulation import Order, Simulation, simulate
from racktwin.serving.steady import Served
from racktwin.serving.tiers import Tiers, tiers
from racktwin.serving.trace import Trace, cut
from racktwin.units import Bandwidth, Bytes

UNIT = 512
GIVEN = Offload(host=Bytes(100e9), shared=Bytes(1e12))


def made(
    name: str, cluster: str, layout: Layout, engine: str = "vllm", offload: Offload = GIVEN
) -> Tiers:
    named = model(name)
    deployment = Deployment(
        model=named,
        cluster=hardware.cluster(cluster),
        engine=epoch(engine),
        precision=msgspec.structs.replace(named.precision, kv="fp8"),
        serve=Pool(layout=layout),
        offload=offload,
    )
    found = tiers(deployment, "serve", Served(deployment).memory["serve"], UNIT)
    assert found is not None
    return found


def test_heads_are_split_over_gpus() -> None:
    """80 layers x 8 heads x 2 x 128 bytes: 163,840 bytes of a token, half on each of two GPUs."""
    found = made("llama-3.1-70b", "hgx-b200", Layout(tensor=2))
    assert found.unit == found.whole == UNIT * 163_840
    assert found.host == int(100e9 // (UNIT * 81_920))
    assert found.shared == int(1e12 // (UNIT * 163_840))
    assert (found.host_bandwidth, found.host_note) == (
        51e9,
        "copies from memory of xeon-8480c as measured",
    )
    assert found.shared_bandwidth == pytest.approx(0.97 * 50e9)


def test_what_every_rank_holds_lies_once_in_the_pool() -> None:
    """A latent vector of 576 bytes x 61 layers is on each of 4 GPUs."""
    found = made("deepseek-r1", "azure-nd-gb300-v6", Layout(tensor=4, expert=4))
    assert found.whole == UNIT * 576 * 61
    assert found.unit == 4 * found.whole
    assert found.host == int(100e9 // (UNIT * 576 * 61))
    assert found.host_bandwidth == 389e9 / 2


def test_stages_share_host_memory() -> None:
    whole = made("llama-3.1-70b", "hgx-b200", Layout(tensor=2))
    halved = made("llama-3.1-70b", "hgx-b200", Layout(tensor=2, pipeline=2))
    assert (halved.gpus, halved.unit, halved.whole) == (4, whole.unit, whole.whole)
    assert halved.host == whole.host  # half of the memory, half of the layers
    assert halved.shared == whole.shared


@pytest.mark.parametrize(
    ("engine", "evict", "layered", "credit"),
    [("vllm", False, True, 0.75), ("sglang", False, True, 0.75), ("trtllm", True, False, 1.0)],
)
def test_engines_have_habits(engine: str, evict: bool, layered: bool, credit: float) -> None:
    offload = msgspec.structs.replace(GIVEN, host_bandwidth=Bandwidth(10e9))
    found = made("llama-3.1-8b", "hgx-b200", Layout(), engine, offload)
    rules = found.rules(test_simulation.run(Trace.of([0.0], [9], [2])).runner.pools["serve"].rules)
    assert (rules.evict, rules.layered, rules.credit) == (evict, layered, credit)
    assert rules.host_pace == UNIT * 65_536 / 10e9  # 32 layers x 8 heads x 2 x 128 bytes
    assert found.evidence[0] == ("host memory", "10 GB/s to each GPU, given")


def test_what_was_said_of_writing_counts() -> None:
    offload = msgspec.structs.replace(GIVEN, write="eviction")
    assert made("llama-3.1-8b", "hgx-b200", Layout(), "vllm", offload).habit.evict
    through = msgspec.structs.replace(GIVEN, write="through")
    assert not made("llama-3.1-8b", "hgx-b200", Layout(), "trtllm", through).habit.evict


@pytest.fixture(scope="module")
def conversation(shared: Path) -> Trace:
    """Part of the Mooncake conversation sample, fast enough to fill the GPUs' caches."""
    return traces.load(shared / "traces/mooncake_conversation_2500.jsonl").part(0, 600).scaled(0.5)


def through(
    trace: Trace, offload: Offload, engine: str = "vllm", **order: Any
) -> tuple[Simulation, dict[str, Any]]:
    """The run and its requests; the GPUs' own caches are small."""
    served = test_simulation.served(engine)
    asked = msgspec.structs.replace(served.deployment, offload=offload, memory_fraction=0.2)
    parts: list[dict[str, Any]] = []
    given = {"definition": DEFINITIONS["mlperf"], "rows": parts.append} | order
    run = simulate(Served(asked), cut([trace], 4000), Order(**given))
    return run, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def moved(run: Simulation, index: int) -> float:
    """Units that were loaded or written."""
    return float(readings(run, "serve", index)[-1])


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_tokens_and_bytes_are_conserved(conversation: Trace, engine: str) -> None:
    run, told = through(conversation, GIVEN, engine)
    assert run.finished == len(told["input"])
    assert not told["losses"].any()
    assert moved(run, PREFILLED) == (told["input"] - told["cached"]).sum()
    assert UNIT * moved(run, FROM_HOST) == told["cached_host"].sum() > 0
    assert UNIT * moved(run, FROM_SHARED) == told["cached_shared"].sum() > 0
    found, tiers = outcome(run), run.tiers
    assert tiers is not None
    assert found.hits == pytest.approx(told["cached"].sum() / told["input"].sum())
    assert found.host.hits == pytest.approx(told["cached_host"].sum() / told["input"].sum())
    span = found.span.end - found.span.begin  # ends a little before the last reading
    for rate, size, index in (
        (found.host.loaded, tiers.unit, FROM_HOST),
        (found.host.written, tiers.unit, TO_HOST),
        (found.shared.loaded, tiers.unit, FROM_SHARED),
        (found.shared.written, tiers.whole, TO_SHARED),
    ):
        assert rate * span == pytest.approx(size * moved(run, index), rel=0.001)
    assert 0 < found.shared.filled <= 1
    assert 0 < found.host.filled <= 1


def test_more_room_finds_more(conversation: Trace) -> None:
    hits, ttft = [], []
    for host, shared in ((0, 0), (20e9, 0), (200e9, 0), (200e9, 4e12)):
        run, _ = through(conversation, Offload(host=Bytes(host), shared=Bytes(shared)))
        hits.append(outcome(run).hits)
        ttft.append(outcome(run).ttft.mean)
    assert hits == sorted(hits)
    assert hits[3] > 2 * hits[0]
    assert ttft[3] < ttft[2] < ttft[0]


def test_without_a_size_every_bit_is_the_same(conversation: Trace) -> None:
    _, off = through(conversation, Offload())
    _, none = through(conversation, Offload(host_bandwidth=Bandwidth(1e9), write="eviction"))
    for name in ("first", "finish", "cached"):
        assert np.array_equal(off[name], none[name])


def test_why_nothing_happens(conversation: Trace) -> None:
    told, _ = through(conversation.part(0, 5), GIVEN, prefix_cache=False)
    assert told.offload_remark == "offload does nothing: the prefix cache is off"
    plain = Trace.of([0.0, 1.0], [100, 100], [10, 10])
    told, _ = through(plain, GIVEN)
    assert told.offload_remark.endswith("the load does not tell which prompts begin alike")
    told, _ = through(conversation.part(0, 5), Offload(host=Bytes(1e6)))
    assert told.offload_remark == "offload does nothing: a unit takes 67.11 MB of a GPU's part"
    told, _ = through(conversation.part(0, 5), Offload(host=Bytes(1e8)))
    assert told.offload_remark.startswith("host memory holds less than the GPU's own cache, ")
    told, _ = through(conversation.part(0, 5), GIVEN)
    assert told.offload_remark == ""

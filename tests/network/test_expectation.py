"""What to expect of a collective: public cases, floors, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.hardware import Place
from racktwin.network import sharp, textbook
from racktwin.network.algorithm import ALL
from racktwin.network.channels import group
from racktwin.network.expectation import ASKED, Question, expect
from racktwin.network.volume import OPERATIONS
from racktwin.network.way import Way

NAMES = ("azure-nd-gb300-v6", "azure-nd-h100-v5", "azure-nd-h200-v5", "hgx-b200")
GIB = 2.0**30


def asked(operation: str, name: str, ranks: int, stride: int = 1, **way: object) -> Question:
    cluster = hardware.cluster(name)
    place = cluster.place(ranks, stride)
    return Question(operation=operation, place=place, cluster=cluster, way=Way(**way))


def busbw(question: Question, size: float) -> float:
    found = expect(question, [size])
    return found.share * size / float(found.calibrated[0]) / 1e9


def test_eight_h100_with_rings_and_with_the_switch() -> None:
    """NVIDIA/nccl-tests issue 212: rings 370 GB/s, the switch 480 at its peak; 256 MiB is short."""
    rings = asked("all_reduce", "azure-nd-h100-v5", 8, algorithm="ring")
    usual = asked("all_reduce", "azure-nd-h100-v5", 8)
    assert busbw(rings, GIB) == pytest.approx(370, rel=0.05)
    assert busbw(usual, 16 * GIB) == pytest.approx(480, rel=0.05)
    algbw = busbw(usual, 256 * 2.0**20) / 1.75
    assert algbw == pytest.approx(250, rel=0.05)


@pytest.mark.parametrize(
    ("nodes", "algorithm", "right"),
    [(2, "ring", 330), (2, "", 430), (4, "ring", 320), (4, "", 320)],
)
def test_the_switch_helps_on_two_nodes_and_not_beyond(
    nodes: int, algorithm: str, right: float
) -> None:
    """NVIDIA/nccl issue 1221: 330 off and 430 on with 2 nodes, 320 with 4; 4 to 8 GiB."""
    question = asked("all_reduce", "azure-nd-h100-v5", 8 * nodes, algorithm=algorithm)
    assert busbw(question, 6 * GIB) == pytest.approx(right, rel=0.08)


@given(
    st.sampled_from(ASKED),
    st.sampled_from(NAMES),
    st.integers(2, 5000),
    st.sampled_from([1, 4, 8, 72]),
    st.sampled_from([1.0, 0.94, 0.75, 0.5]),
    st.lists(st.floats(1, 1e11), min_size=1, max_size=8),
)
def test_no_estimate_beats_the_bound(
    operation: str, name: str, ranks: int, stride: int, left: float, sizes: list[float]
) -> None:
    ranks = min(ranks, hardware.cluster(name).gpus // stride)
    found = expect(asked(operation, name, max(ranks, 2), 1, nvlink=left, nic=left), sorted(sizes))
    for times in (found.calibrated, found.low, found.high, found.ideal, found.nccl):
        assert times is None or np.all(times >= found.bound * (1 - 1e-12))
    assert np.all(found.low <= found.calibrated)
    assert np.all(found.calibrated <= found.high)
    whole = expect(asked(operation, name, max(ranks, 2)), sorted(sizes))
    assert np.all(found.calibrated >= whole.calibrated * (1 - 1e-12))


@given(
    st.sampled_from(OPERATIONS),
    st.sampled_from(NAMES),
    st.integers(2, 4000),
    st.floats(1, 1e11),
)
def test_textbook_costs_keep_the_bound(operation: str, name: str, ranks: int, size: float) -> None:
    question = asked(operation, name, min(ranks, hardware.cluster(name).gpus))
    found = expect(question, [size])
    book = textbook.seconds(operation, [size], question.place, question.cluster)
    assert min(float(each[0]) for each in book.values()) == found.best[0][1]
    assert found.best[0][1] >= found.bound[0]


def test_all_to_all_over_all_racks_by_hand() -> None:
    """4,536 of 4,608 parts of 1 GB leave the rack at 100 GB/s: 9.84 ms (59 times 0.17 ms)."""
    found = expect(asked("all_to_all", "azure-nd-gb300-v6", 4608), [1e9])
    assert found.bound[0] == pytest.approx(1e9 * 4536 / 4608 / 100e9)
    assert found.best[0][0] in ("direct", "pxn")
    book = textbook.seconds("all_to_all", [4608.0], found.question.place, found.question.cluster)
    assert book["direct"][0] > 4500e-6  # 4,536 messages of 1 us each
    assert book["pxn"][0] < 100e-6


def test_what_binds() -> None:
    inside = expect(asked("all_reduce", "azure-nd-gb300-v6", 72), [1e9])
    across = expect(asked("all_to_all", "azure-nd-gb300-v6", 144), [1e9])
    spread = expect(asked("all_reduce", "azure-nd-gb300-v6", 8, 72), [1e9])
    assert inside.binds == "NVLink of a GPU, 900 GB/s each way"
    assert across.binds == spread.binds == "the NIC of a GPU, 100 GB/s each way"


def test_sharp_halves_what_a_nic_sends() -> None:
    """8 GPUs in 8 racks: a NIC sends 2 x 7/8 of the buffer without, the buffer once with SHARP."""
    sizes = [16 * GIB]
    off = expect(asked("all_reduce", "azure-nd-gb300-v6", 8, 72, algorithm="ring"), sizes)
    on = expect(asked("all_reduce", "azure-nd-gb300-v6", 8, 72, sharp=True), sizes)
    assert off.calibrated[0] / on.calibrated[0] == pytest.approx(1.75, rel=0.01)
    small = expect(asked("all_reduce", "azure-nd-gb300-v6", 8, 72, sharp=True), [8.0])
    levels = sharp.levels(small.question.cluster, small.question.place)
    assert small.calibrated[0] == pytest.approx(2 * (2e-6 + levels * 0.3e-6), rel=0.01)


def test_sharp_says_why_not() -> None:
    rack, hopper = hardware.cluster("azure-nd-gb300-v6"), hardware.cluster("azure-nd-h100-v5")
    many, one = rack.place(144), rack.place(72)
    assert sharp.refusal(many, rack) == ""
    assert "one NVLink domain" in sharp.refusal(one, rack)
    assert sharp.refusal(many, rack, dtype="fp8") == ""
    assert "does not add fp8" in sharp.refusal(hopper.place(16), hopper, dtype="fp8")
    assert sharp.refusal(many, rack, groups=14) == ""
    assert "1,080 trees" in sharp.refusal(many, rack, groups=15)


def test_impossible_questions_are_refused_with_all_reasons() -> None:
    with pytest.raises(BadInput) as refused:
        expect(asked("all_reduce", "azure-nd-gb300-v6", 72, algorithm="nvls_tree", sharp=True), [1])
    text = str(refused.value)
    assert "joins several NVLink domains" in text
    assert "stays inside one NVLink domain" in text
    with pytest.raises(BadInput, match="did you mean 'ring'"):
        expect(asked("all_reduce", "azure-nd-gb300-v6", 72, algorithm="rin"), [1])
    with pytest.raises(BadInput, match="2 GPUs or more"):
        expect(asked("all_reduce", "azure-nd-gb300-v6", 1), [1])
    with pytest.raises(BadInput, match="did you mean 'all_reduce'"):
        expect(asked("all_redoce", "azure-nd-gb300-v6", 8), [1])


def test_send_is_a_copy_over_one_link() -> None:
    far = expect(asked("send_recv", "azure-nd-gb300-v6", 144), [1e9])
    assert far.bound[0] == pytest.approx(0.01)
    assert far.share == 1
    assert far.best[0][1] == pytest.approx(14e-6 + 1e9 / 100e9)  # NICs reach half, lines carry all
    near = expect(asked("send_recv", "azure-nd-gb300-v6", 72), [1e9])
    assert near.bound[0] == pytest.approx(1e9 / 900e9)


def test_a_rack_without_some_of_its_links() -> None:
    """One NVLink switch chip of 18 takes 1/18 of the bandwidth of every GPU, and no latency."""
    usual = expect(asked("all_reduce", "azure-nd-gb300-v6", 8), [8.0, 16 * GIB])
    lost = expect(asked("all_reduce", "azure-nd-gb300-v6", 8, nvlink=17 / 18), [8.0, 16 * GIB])
    assert lost.calibrated[0] == pytest.approx(usual.calibrated[0], rel=1e-3)
    assert lost.calibrated[1] == pytest.approx(usual.calibrated[1] * 18 / 17, rel=1e-2)


def test_four_hdr_nics() -> None:
    """NVIDIA/nccl-tests issue 119: 24 GB/s per 200G NIC, so 96 GB/s of busbw with four."""
    import msgspec

    cluster = hardware.cluster("azure-nd-h100-v5")
    host = msgspec.structs.replace(cluster.rack.host, gpus=4, nics=4, nic=25e9)
    rack = msgspec.structs.replace(cluster.rack, host=host)
    fabric = msgspec.structs.replace(cluster.fabric, nic_efficiency=None)
    four = msgspec.structs.replace(cluster, rack=rack, fabric=fabric)
    place = Place(64, 4, 4)
    found = expect(
        Question(operation="all_reduce", place=place, cluster=four, way=Way(algorithm="ring")),
        [4 * GIB],
    )
    assert found.share * found.size[0] / found.calibrated[0] / 1e9 == pytest.approx(96, rel=0.04)


@pytest.mark.parametrize("name", ["azure-nd-gb300-v6", "azure-nd-h100-v5"])
@pytest.mark.parametrize("reducing", [False, True])
@pytest.mark.parametrize("stride", [1, 72])
def test_every_algorithm_answers_for_itself(name: str, reducing: bool, stride: int) -> None:
    """Held to one that can run, the answer is that one's, and no quicker than the bound."""
    place = hardware.cluster(name).place(16, stride)
    reducing = reducing and place.domains > 1
    seen = group(place, hardware.cluster(name), Way(sharp=reducing))
    answered = 0
    for operation in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        for algorithm, each in ALL.items():
            question = asked(operation, name, 16, stride, algorithm=algorithm, sharp=reducing)
            if each.refuses(operation, seen):
                with pytest.raises(BadInput, match=f"{algorithm} is not possible here"):
                    expect(question, [1e6])
                continue
            found = expect(question, [1e3, 1e6, 1e9])
            assert np.all(np.isfinite(found.calibrated))
            assert np.all(found.calibrated >= found.bound)
            assert f"{algorithm} by NCCL's model" in found.evidence.name
            in_fabric = reducing and algorithm in ("nvls", "collnet_direct", "collnet_chain")
            assert ("SHARP" in found.evidence.name) == in_fabric
            answered += 1
    assert answered >= 5


def test_parallel_trees_are_not_rings_by_another_name() -> None:
    """An all-gather of 8 GPUs in 8 racks: NCCL plans PAT with 3/4 of a ring's bandwidth."""
    ring = expect(asked("all_gather", "azure-nd-gb300-v6", 8, 72, algorithm="ring"), [16 * GIB])
    pat = expect(asked("all_gather", "azure-nd-gb300-v6", 8, 72, algorithm="pat"), [16 * GIB])
    assert pat.calibrated[0] / ring.calibrated[0] == pytest.approx(4 / 3, rel=0.01)


@given(
    st.sampled_from(ASKED),
    st.sampled_from(NAMES),
    st.integers(2, 5000),
    st.sampled_from([1, 8, 72]),
    st.booleans(),
    st.sampled_from(["", *ALL]),
    st.floats(0.05, 1.0),
    st.floats(0.05, 1.0),
    st.floats(1, 1e13),
)
def test_nothing_beats_the_bound_under_faults(
    operation: str, name: str, ranks: int, stride: int, reducing: bool, algorithm: str,
    nvlink: float, nic: float, size: float,
) -> None:  # fmt: skip
    """Every estimate, plan and textbook algorithm, whatever is left of the links."""
    ranks = max(2, min(ranks, hardware.cluster(name).gpus // stride))
    way = {"nvlink": nvlink, "nic": nic, "domain": (1 + nic) / 2, "sharp": reducing}
    try:
        found = expect(asked(operation, name, ranks, stride, algorithm=algorithm, **way), [size])
    except BadInput:
        return
    least = found.bound[0] * (1 - 1e-12)
    for times in (found.calibrated, found.low, found.high, found.ideal, found.nccl):
        assert times is None or times[0] >= least
    assert all(time >= least for time, _ in found.plans(0))
    assert found.best[0][1] >= least


def test_what_two_tiers_would_be_is_said_of_two_tiers_only() -> None:
    assert expect(asked("all_reduce", "azure-nd-gb300-v6", 72), [1e9]).ideal is None
    assert expect(asked("all_to_all", "azure-nd-gb300-v6", 144), [1e9]).ideal is None
    assert expect(asked("send_recv", "azure-nd-gb300-v6", 144), [1e9]).ideal is None
    both = expect(asked("all_gather", "azure-nd-gb300-v6", 144), [1e9])
    assert both.ideal is not None
    assert both.bound[0] <= both.ideal[0] <= both.calibrated[0]


def test_nccl_plans_with_the_links_that_are_left() -> None:
    whole = expect(asked("all_reduce", "azure-nd-gb300-v6", 144), [16 * GIB])
    hurt = expect(asked("all_reduce", "azure-nd-gb300-v6", 144, nvlink=0.5, nic=0.5), [16 * GIB])
    assert hurt.nccl is not None
    assert whole.nccl is not None
    assert hurt.nccl[0] > 1.5 * whole.nccl[0]


def test_sharp_fills_a_rank_through_its_nvlink() -> None:
    """An all-gather of 144 GPUs with SHARP: 72 NICs of 100 GB/s a rack, 900 GB/s into a GPU."""
    found = expect(asked("all_gather", "azure-nd-gb300-v6", 144, sharp=True), [16 * GIB])
    direct = next(each for each in found.paths if each.algorithm == "collnet_direct")
    assert direct.bandwidth <= 900e9 * 144 / 143
    assert found.nccl is not None
    assert found.nccl[0] >= found.bound[0]

"""MoE dispatch and combine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware, network
from racktwin.finding import BadInput
from racktwin.hardware import Cluster, Place
from racktwin.network.fabric import experts

R1: dict[str, Any] = {"hidden": 7168, "top_k": 8, "experts": 256}
NAMES = ("azure-nd-gb300-v6", "azure-nd-gb200-v6", "azure-nd-h100-v5", "hgx-b200")
TOKENS = np.array([1, 7, 128, 129, 256, 257, 5000, 70000])


@given(
    st.sampled_from([network.dispatch, network.combine]),
    st.sampled_from(NAMES),
    st.sampled_from(["trtllm", "sglang", "vllm"]),
    st.sampled_from(["", *experts().libraries]),
    st.sampled_from([2.0, 1.03125, 0.5625]),
    st.integers(2, 700),
)
def test_floor_and_monotony(
    run: Any, name: str, framework: str, library: str, value: float, ranks: int
) -> None:
    cluster = hardware.cluster(name)
    place = cluster.place(ranks)
    how = {**R1, "place": place, "cluster": cluster, "framework": framework}
    price = run(TOKENS, bytes_per_value=value, library=library, **how)
    nic = price.bytes * (1 - place.per_domain / ranks) / 8 / cluster.nic  # at most 8 share a copy
    wire = price.bytes / cluster.nvlink if place.domains == 1 else nic
    assert np.all(price.seconds >= wire * (1 - 1e-12))
    if library:
        assert np.all(np.diff(price.seconds) >= 0)
    assert np.all(np.diff(price.bytes) > 0)
    assert price.seconds.shape == TOKENS.shape


def run(cluster: Cluster, ranks: int, **how: Any) -> Any:
    call = network.combine if how.pop("combine", False) else network.dispatch
    how = {"bytes_per_value": 2.0, "framework": "sglang", **R1, **how}
    tokens = how.pop("tokens", 128)
    return call(tokens, place=cluster.place(ranks), cluster=cluster, **how)


def test_nothing_to_send(rack: Cluster) -> None:
    assert run(rack, 1, tokens=[0, 9]).seconds.tolist() == [0, 0]
    assert run(rack, 8, tokens=[0, 9]).seconds[0] == 0


def test_bytes_by_hand(rack: Cluster) -> None:
    """DeepEP's low-latency mode: 128 tokens x 7168 x 2 B x 8 copies, 7/8 to other ranks."""
    price = run(rack, 8, mode="low_latency")
    assert price.bytes == pytest.approx(128 * 7168 * 2 * 7)


def test_few_tokens_take_the_low_latency_mode(rack: Cluster) -> None:
    both = run(rack, 8, tokens=[128, 129])
    few, many = run(rack, 8, mode="low_latency"), run(rack, 8, tokens=129, mode="throughput")
    assert both.seconds == pytest.approx([float(few.seconds), float(many.seconds)])
    assert both.bytes[1] == many.bytes
    assert run(rack, 8).evidence == few.evidence


def test_two_sided_dispatch_holds_its_prepare_step(rack: Cluster) -> None:
    """GB200's table at EP8, one token: prepare 13.3 us and dispatch 13.9 us in bf16."""
    price = run(rack, 8, tokens=1, framework="trtllm", library="nvlink_two_sided")
    assert price.seconds == pytest.approx(27e-6, rel=0.1)
    assert "prepare" in str(price.evidence)
    assert "of gb200" in str(price.evidence)


def test_smaller_payloads_are_faster(rack: Cluster) -> None:
    how = {"tokens": 4096, "framework": "trtllm"}
    times = [float(run(rack, 32, bytes_per_value=b, **how).seconds) for b in (2.0, 1.03, 0.5625)]
    assert times == sorted(times, reverse=True)


def test_imbalance_stretches_the_transfer(rack: Cluster) -> None:
    how = {"tokens": 8192, "mode": "throughput"}
    even, odd = run(rack, 32, **how), run(rack, 32, imbalance=1.5, **how)
    assert 1.4 < odd.seconds / even.seconds < 1.5
    assert odd.bytes == pytest.approx(1.5 * even.bytes)


def test_ep_over_more_than_one_rack_pays_for_its_nics(rack: Cluster) -> None:
    inside, outside = (run(rack, ranks, tokens=4096) for ranks in (72, 144))
    nic = 4096 * 7168 * 2 * 0.996 / (rack.nic / 2)
    assert outside.seconds > max(1.1 * float(inside.seconds), nic)
    assert "NICs at 50% of line rate" in str(outside.evidence)


@pytest.mark.parametrize(("ranks", "out", "back"), [(16, 118, 195), (32, 155, 273), (64, 173, 314)])
def test_deepep_low_latency_over_nodes(
    ranks: int, out: float, back: float, hopper: Cluster
) -> None:
    """DeepEP docs/legacy.md: 128 tokens, H800 with 400G NICs, fp8 out and bf16 back, us."""
    how = {"mode": "low_latency"}
    assert run(hopper, ranks, bytes_per_value=1.03125, **how).seconds * 1e6 == pytest.approx(
        out, rel=0.05
    )
    assert run(hopper, ranks, combine=True, **how).seconds * 1e6 == pytest.approx(back, rel=0.05)


def test_one_copy_per_domain_crosses_in_the_throughput_mode(hopper: Cluster) -> None:
    """2 hosts, 8 experts: 2 (1 - 2^-8) hosts touched, half of them the other: 0.996 copies."""
    price = run(hopper, 16, tokens=65536, mode="throughput")
    nic = 65536 * 7168 * 2 * 0.99609 / hopper.nic
    assert nic < price.seconds < 2 * nic


def test_unknown_library_names_the_nearest(rack: Cluster) -> None:
    with pytest.raises(BadInput, match="did you mean 'nvlink_one_sided'"):
        run(rack, 8, library="nvlink_onesided")


def test_place_of_a_strided_group(rack: Cluster) -> None:
    """Four ranks in four racks use nothing but NICs."""
    price = network.dispatch(
        1000,
        bytes_per_value=2.0,
        place=Place(4, 1, 1),
        cluster=rack,
        framework="sglang",
        mode="low_latency",
        **R1,
    )
    assert price.seconds > 1000 * 7168 * 2 * 6 / rack.nic

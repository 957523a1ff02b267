"""Copies on a cluster against exhaustive search; who sits where."""

from __future__ import annotations

from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch
from racktwin.engine.seating import seats
from racktwin.models import Layout, model
from racktwin.planning.packing import copies, copies_of
from racktwin.planning.search import Candidates

R1 = model("deepseek-r1")


@cache
def fits(sizes: tuple[int, ...], free: tuple[int, ...], domain: int) -> bool:
    """Whether replicas can be placed by trying every domain for each of them."""
    if not sizes:
        return True
    first, rest = sizes[0], sizes[1:]
    if first > domain:
        whole = -(-first // domain)
        left = list(free)
        for _ in range(whole):
            if domain not in left:
                return False
            left.remove(domain)
        return fits(rest, tuple(sorted(left)), domain)
    for room in set(free):
        if room >= first:
            left = list(free)
            left.remove(room)
            if fits(rest, tuple(sorted([*left, room - first])), domain):
                return True
    return False


def exhaustive(replicas: dict[int, int], domain: int, gpus: int) -> int:
    free = [domain] * (gpus // domain) + ([gpus % domain] if gpus % domain else [])
    count = 0
    while True:
        sizes = [
            size
            for size in sorted(replicas, reverse=True)
            for _ in range(replicas[size] * (count + 1))
        ]
        if not fits(tuple(sizes), tuple(sorted(free)), domain):
            return count
        count += 1


@settings(max_examples=60)
@given(
    replicas=st.dictionaries(
        st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 3), min_size=1, max_size=2
    ),
    domain=st.sampled_from([4, 8, 9, 18]),
    gpus=st.integers(1, 30),
)
def test_copies_are_what_exhaustive_search_finds(
    replicas: dict[int, int], domain: int, gpus: int
) -> None:
    cluster = SimpleNamespace(gpus_per_domain=domain)
    assert copies(replicas, cluster, gpus) == exhaustive(replicas, domain, gpus)  # type: ignore[arg-type]


def test_replicas_are_not_cut_by_racks() -> None:
    rack = hardware.cluster("azure-nd-gb300-v6", racks=2)
    assert copies({64: 1}, rack, 144) == 2
    assert copies({64: 1, 8: 1}, rack, 144) == 2
    assert copies({64: 1, 16: 1}, rack, 80) == 0  # 8 are left beside the 64, 8 in the next rack
    assert copies({64: 1, 16: 1}, rack, 144) == 1


def test_columns_are_packed_like_single_ones() -> None:
    cluster = hardware.cluster("azure-nd-gb300-v6", racks=3)
    sizes = np.array([2.0, 16.0, 64.0])
    random = np.random.default_rng(0)
    prefill, decode = random.integers(-1, 3, 40), random.integers(0, 3, 40)
    prefills, decodes = random.integers(1, 9, 40), random.integers(1, 4, 40)
    prefills[prefill < 0] = 0
    rest = {name: np.zeros(40) for name in Candidates.__struct_fields__}
    every = Candidates(
        **{**rest, "prefill": prefill, "decode": decode, "prefills": prefills, "decodes": decodes}
    )
    found = copies_of(every, sizes, cluster, 216)
    for index in range(40):
        shape = Counter({int(sizes[decode[index]]): int(decodes[index])})
        if prefill[index] >= 0:
            shape[int(sizes[prefill[index]])] += int(prefills[index])
        assert found[index] == copies(shape, cluster, 216)


DEPLOYMENTS = [
    {
        "prefill": Pool(layout=Layout(tensor=2), replicas=10),
        "decode": Pool(layout=Layout(attention_data=16, expert=16)),
    },
    {
        "prefill": Pool(layout=Layout(attention_data=4, expert=4), replicas=3),
        "decode": Pool(layout=Layout(attention_data=32, expert=32), replicas=2),
    },
    {"serve": Pool(layout=Layout(attention_data=8, expert=8), replicas=3)},
]


@pytest.mark.parametrize("pools", DEPLOYMENTS, ids=lambda pools: " ".join(pools))
@pytest.mark.parametrize("name", ["azure-nd-gb300-v6", "azure-nd-h100-v5"])
def test_every_rank_has_a_seat_of_its_own(pools: dict[str, Pool], name: str) -> None:
    cluster = hardware.cluster(name)
    deployment = Deployment(
        model=R1, cluster=cluster, engine=epoch("trtllm"), precision=R1.precision, **pools
    )
    taken = seats(deployment, 3)
    assert len(taken) == 3 * deployment.gpus
    domains: dict[tuple[int, str, int], set[int]] = {}
    for (domain, gpu), holder in taken.items():
        assert 0 <= gpu < cluster.gpus_per_domain
        domains.setdefault(holder, set()).add(domain)
    held = Counter(taken.values())
    for (copy, role, replica), count in held.items():
        layout = deployment.pools[role].layout
        assert 0 <= copy < 3
        assert 0 <= replica < deployment.pools[role].replicas
        assert count == layout.gpus
        assert len(domains[copy, role, replica]) == -(-layout.gpus // cluster.gpus_per_domain)
    assert len(held) == 3 * sum(pool.replicas for pool in deployment.pools.values())

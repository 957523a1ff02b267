"""Where replicas sit: what leaves an NVLink domain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from racktwin.engine.deployment import Pool
from racktwin.engine.deployment_check import domain_word, outside, straddling
from racktwin.hardware import cluster
from racktwin.models import Layout

GB300 = cluster("azure-nd-gb300-v6")
HGX = cluster("hgx-b200", nodes=4)


def pool(gpus: int, replicas: int = 1) -> Pool:
    return Pool(layout=Layout(attention_data=gpus), replicas=replicas)


def test_four_sixteens_fit_into_a_rack_of_72() -> None:
    assert straddling({"serve": pool(16, 288)}, 1, GB300) == {"serve": (32, 288)}
    assert not straddling({"serve": pool(16, 256)}, 1, GB300)
    # two copies of 16 + 10 x 2 fill a rack
    assert not straddling({"prefill": pool(2, 10), "decode": pool(16)}, 128, GB300)
    assert straddling({"serve": pool(6, 5)}, 1, HGX) == {"serve": (1, 5)}


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=3))
def test_placing_one_by_one_gives_the_same(sizes: list[tuple[int, int]]) -> None:
    """An independent way: every stage looks for the fullest host that can take it."""
    roles = dict(zip(("serve", "prefill", "decode"), sizes, strict=False))
    pools = {role: pool(size, replicas) for role, (size, replicas) in roles.items()}
    if sum(size * replicas for size, replicas in sizes) > HGX.gpus:
        return
    free, missing = [8] * 4, 0
    for size, replicas in sorted(sizes, key=lambda each: -each[0]):
        for _ in range(replicas):
            fits = [host for host in range(4) if free[host] >= size]
            missing += not fits
            if fits:
                free[min(fits, key=lambda host: free[host])] -= size
    assert sum(split for split, _ in straddling(pools, 1, HGX).values()) == missing


@given(st.integers(1, 300), st.integers(1, 80))
def test_share_of_messages_outside_is_counted(ranks: int, domain: int) -> None:
    pairs = [(a, b) for a in range(ranks) for b in range(ranks)] if ranks < 60 else []
    if pairs:
        leaving = sum(a // domain != b // domain for a, b in pairs)
        assert abs(outside(ranks, domain) - leaving / len(pairs)) < 1e-12
    assert 0 <= outside(ranks, domain) < 1


def test_a_domain_is_called_what_it_is() -> None:
    assert domain_word(GB300) == "racks"
    assert domain_word(HGX) == "hosts"

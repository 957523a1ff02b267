"""Seats of replicas, and caches that change NVLink domains, by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.engine.seating import away, parts, seats

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pair() -> Deployment:
    return read_deployment(ROOT / "examples/deepseek-r1-gb300-disaggregated.yaml")[0]


def replaced(pair: Deployment, copies: int, scope: str = "copy") -> Deployment:
    return msgspec.structs.replace(pair, copies=copies, router_scope=scope)


def test_seats_and_parts_are_the_same(pair: Deployment) -> None:
    taken = seats(pair, 3)
    assert len(taken) == 3 * pair.gpus == sum(each.gpus for each in parts(pair, 3))
    assert max(gpu for _, gpu in taken) < pair.cluster.gpus_per_domain


def test_one_copy_in_a_rack_keeps_its_caches_there(pair: Deployment) -> None:
    assert pair.gpus <= pair.cluster.gpus_per_domain
    assert away(replaced(pair, 1)) == 0.0


def test_caches_that_change_racks_by_hand(pair: Deployment) -> None:
    """Counted over all pairs of a prefill and a decode GPU of a copy, or of all copies."""
    for copies, scope in ((5, "copy"), (5, "deployment"), (7, "copy")):
        taken = seats(pair, copies)
        near = pairs = 0
        for (domain, _), (copy, role, _) in taken.items():
            for (other, _), (own, partner, _) in taken.items():
                if (role, partner) == ("prefill", "decode") and (scope != "copy" or copy == own):
                    pairs += 1
                    near += domain == other
        assert away(replaced(pair, copies, scope)) == pytest.approx(1 - near / pairs)


def test_one_pool_hands_nothing_over() -> None:
    whole = read_deployment(ROOT / "examples/deepseek-r1-gb300-288xdp16.yaml")[0]
    assert away(whole) == 0.0

"""Questions as they are typed: whatever is broken, no answer beats its bound or falls with size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from racktwin.finding import BadInput
from racktwin.network.algorithm import ALL
from racktwin.network.asked import asked
from racktwin.network.collective_wish import Wish
from racktwin.network.expectation import ASKED, expect
from racktwin.network.moe_question import exchanged

FAULTS = (
    "spine:0", "spine:1", "leaf:3", "plane:leaf0/12/2", "nic:rack0/host1/2", "cable:leaf0/80",
    "flap:leaf1/90@40%", "asic:rack0/3", "tray:rack1/2", "slow:rack0/host0/1@30%",
)  # fmt: skip
NAMES = ("azure-nd-gb300-v6", "azure-nd-h100-v5", "hgx-b300-spectrum-x")
wishes = st.builds(
    Wish,
    gpus=st.sampled_from([2, 3, 16, 73, 145, 288, None]),
    stride=st.sampled_from([1, 2, 72]),
    fail=st.sets(st.sampled_from(FAULTS), max_size=3).map(",".join),
    routing=st.sampled_from(["adaptive", "static", "spray", "rail"]),
)


@settings(suppress_health_check=[HealthCheck.filter_too_much], max_examples=60)
@given(
    st.sampled_from(ASKED),
    st.sampled_from(NAMES),
    wishes,
    st.sampled_from([None, *ALL]),
    st.sampled_from([None, "on", "off"]),
)
def test_no_answer_beats_its_bound(
    operation: str, name: str, wish: Wish, algorithm: str | None, sharp: str | None
) -> None:
    from dataclasses import replace

    try:
        question, sizes = asked(operation, name, replace(wish, algorithm=algorithm, sharp=sharp))
    except BadInput:
        return
    found = expect(question, sizes)
    least = found.bound * (1 - 1e-12)
    for times in (found.calibrated, found.low, found.high, found.ideal, found.nccl):
        assert times is None or np.all(times >= least)
    assert all(best >= low for (_, best), low in zip(found.best, least, strict=True))
    assert np.all(np.diff(found.calibrated) >= -1e-15)


@settings(max_examples=40)
@given(st.sampled_from(["dispatch", "combine"]), st.sampled_from(NAMES), wishes)
def test_no_exchange_beats_its_bound(phase: str, name: str, wish: Wish) -> None:
    try:
        found = exchanged(phase, name, wish, [])
    except BadInput:
        return
    assert np.all(found.seconds >= found.bound * (1 - 1e-12))


def test_experts_far_apart_are_as_many_as_there_is_room_for() -> None:
    """One GPU in 72 of 4,608 are 64 ranks, fewer than a rack holds."""
    assert exchanged("dispatch", NAMES[0], Wish(stride=72), []).place.ranks == 64


def test_a_copy_for_each_domain_bounds_an_exchange() -> None:
    """144 ranks in two racks: of 8 experts at least one is in the other with 255 in 256."""
    found = exchanged("dispatch", NAMES[0], Wish(gpus=144, tokens=4096), [])
    copies = 2 * (1 - 0.5**8) / 2
    assert found.bound[0] == pytest.approx(4096 * 7168 * 2 * copies / 100e9)

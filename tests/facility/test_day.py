"""The closed loop: kernel against oracle, steady loads by hand, caps, what is served or waits."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from racktwin import hardware
from racktwin.facility.day import Day, run
from racktwin.facility.day_state import quantile
from racktwin.facility.hall import Lost, hall
from racktwin.facility.plant import plant
from racktwin.facility.serving_table import LOADS, Load, serving_table
from racktwin.facility.station import weather
from racktwin.finding import BadInput

SHARES = np.linspace(0, 1, 21)
SERVING = Load(
    utilisation=SHARES,
    gpu=300 + 900 * SHARES,
    tpot=0.01 + 0.01 * SHARES,
    ttft=0.5 + SHARES**4,
    capacity=5000.0,
    share=1.0,
    in_flight=3000.0,
    residence=30.0,
    output=1000.0,
)


@pytest.fixture(scope="module")
def outdoors():
    return weather("phoenix")


def made(outdoors, load=0.8, hours=1, lost=None, serving=SERVING, start=4500, **asked):
    cluster = hardware.cluster("azure-nd-gb300-v6")
    return Day(
        hall=hall(cluster, plant("warm-water"), lost),
        serving=serving,
        weather=outdoors,
        load=np.full(hours + 1, load),
        start=start,
        **asked,
    )


@pytest.mark.parametrize("asked", [{}, {"cap": 90e3}, {"load": 1.1}, {"lost": Lost(chillers=4)}])
def test_kernel_is_its_oracle(outdoors, asked):
    day = made(outdoors, **asked)
    one, other = run(day), run(day, oracle=True)
    assert one.lines == pytest.approx(other.lines, rel=1e-9, abs=1e-9)
    assert one.tpot == pytest.approx(other.tpot, rel=1e-9, abs=1e-6)
    assert one.ttft == pytest.approx(other.ttft, rel=1e-6, abs=1e-6)


def test_a_steady_load_is_the_steady_loop(outdoors):
    ran = run(made(outdoors, start=100))
    assert ran.lines[-1, 2] == pytest.approx(300 + 900 * 0.8, rel=0.01)
    rise = 1.4 * (15 + 13.6 * (177 / 147.5) ** 0.5) / 1400
    hottest = ran.lines[-1, 5] - (40 + 1020 * rise)  # of 64 racks that vary by 13 W, 0.4 K
    assert 0 < hottest < 1.2
    assert ran.requests == pytest.approx(0.8 * 5000 * 3600, rel=1e-3)
    assert ran.latency("tpot", 0.5) == pytest.approx(0.018, rel=0.05)
    assert ran.latency("ttft", 0.5) == pytest.approx(0.5 + 0.8**4, rel=0.05)


def test_what_arrives_is_served_or_waits(outdoors):
    ran = run(made(outdoors, load=1.1))
    waiting = ran.lines[-1, 8]  # in one second of the point
    left = (ran.lines[:, 6] - ran.lines[:, 7]).sum()
    assert left == pytest.approx(0.1 * 3600 * 64, rel=0.05)
    assert waiting / ran.lines[-1, 0] == pytest.approx(left, rel=0.02)
    assert ran.latency("ttft", 0.99) > 200


def test_a_cap_is_kept_and_costs_time(outdoors):
    free, capped = run(made(outdoors)), run(made(outdoors, cap=85e3))
    assert capped.lines[:, 10].max() / 64 <= 85e3 * (1 + 1e-6)
    assert free.lines[:, 10].max() / 64 > 95e3
    assert capped.latency("tpot", 0.5) > free.latency("tpot", 0.5)
    assert capped.energy < free.energy


def test_a_cap_below_the_floor_is_refused(outdoors):
    with pytest.raises(BadInput, match=r"--cap: 9 kW is below the .* kW that a rack draws"):
        run(made(outdoors, cap=9e3))


def test_a_plant_without_chillers_throttles_on_a_hot_day(outdoors):
    hot = int(outdoors.dry.argmax()) - 4
    hard = msgspec.structs.replace(SERVING, gpu=300 + 1100 * SHARES)
    ran = run(made(outdoors, 1.0, 6, Lost(coolers=4, chillers=4), hard, hot))
    assert ran.throttled > 0
    assert ran.lines[:, 5].max() <= 95 + 0.1
    assert ran.requests < ran.asked


def test_racks_differ_as_requests_in_flight_do(outdoors):
    """3,000 in flight vary by 1/sqrt(3000) = 1.8 %, 30 by 18 %."""
    few = msgspec.structs.replace(SERVING, in_flight=30.0)
    many, wide = run(made(outdoors)), run(made(outdoors, serving=few))
    assert np.ptp(wide.lines[:, 1]) > 3 * np.ptp(many.lines[:, 1])


def test_time_lines_do_not_grow_with_time(outdoors):
    short, long = run(made(outdoors)), run(made(outdoors, hours=72))
    assert len(short.lines) <= 1440
    assert len(long.lines) <= 1440
    assert long.lines[:, 0].sum() == 72 * 3600
    assert short.it_energy * 72 == pytest.approx(long.it_energy, rel=0.01)


def test_the_same_seed_is_the_same_day(outdoors):
    one, same, other = (run(made(outdoors, seed=each)) for each in (1, 1, 2))
    assert (one.lines == same.lines).all()
    assert (one.lines != other.lines).any()


def test_the_table_by_hand():
    """At a clock of 20 % a step with 35 % on the core takes 0.35/0.2 + 0.65 = 2.4 times as long."""
    cluster = hardware.cluster("azure-nd-gb300-v6")
    chain = hall(cluster, plant("warm-water")).chain
    table = serving_table(SERVING, chain, 64, 235.0, 1400.0)
    at = int(np.searchsorted(LOADS, 1.0))
    assert table.cells[0, at, 0] == pytest.approx(1 / 2.4)
    assert table.cells[3, at, 0] == pytest.approx(2.4 * 0.02)
    # above idle 965 W: 60 % x 0.2² and 40 % over 2.4 times the time
    assert table.cells[1, at, 0] == pytest.approx(235 + 965 * (0.6 * 0.04 + 0.4) / 2.4)
    assert table.cells[1, at, -1] == pytest.approx(1200)
    assert (np.diff(table.cells[1], axis=1) >= -1e-9).all()


def test_quantiles_lie_within_a_bin():
    bins = np.zeros(480)
    bins[100] = 1.0
    assert quantile(bins, 0.5) == pytest.approx(1e-4 * np.exp(100.5 / 24))
    assert np.isnan(quantile(np.zeros(480), 0.5))


def test_a_tower_evaporates_what_the_racks_give(outdoors):
    """All heat over 2,430 kJ/kg and a quarter more that is drained."""
    cluster = hardware.cluster("azure-nd-gb300-v6")
    ran = run(msgspec.structs.replace(made(outdoors), hall=hall(cluster, plant("tower"))))
    heat = sum(each.cooler + each.chiller for each in ran.plant.outdoors)
    assert ran.litres == pytest.approx((heat * ran.lines[:, 0]).sum() / 2430e3 * 1.25)
    assert ran.litres * 3.6e6 / ran.it_energy == pytest.approx(1.875, abs=0.05)

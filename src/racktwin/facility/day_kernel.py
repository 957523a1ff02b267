"""The closed loop, second by second: load, power, temperature, throttle, latency. Compiled.

Every rack has a load of its own around the hall's (requests in flight vary), a queue, and a GPU's
temperature; the hall has water and coolant that warm up and cool down. State and sums lie in
arrays that do not grow with time.
"""

from __future__ import annotations

import math

import numpy as np

from racktwin.facility.compiled import compiled
from racktwin.facility.day_state import (
    BINS,
    FIGURES,
    FINE,
    LEAST,
    WAITING,
    Floats,
    Hours,
    Ints,
    Rule,
    Sums,
    Words,
)

TOP = 2.0**-53
HALF = 0.5
SERVED_AT = FIGURES  # column of the row that counts what was served at each load
FIRST, SECOND, THIRD = np.uint64(13), np.uint64(7), np.uint64(17)  # Marsaglia's xorshift
ELEVEN = np.uint64(11)


@compiled
def day(
    cells: Floats,
    bins: Ints,
    rule: Rule,
    hours: Hours,
    seeds: Words,
    racks: Floats,
    hall: Floats,
    row: Floats,
    sums: Sums,
    start: int,
    steps: int,
) -> None:
    """`steps` seconds from `start`. cells, bins: of the serving table (any unit).

    racks: by rack noise (1), queue (s of the capacity), junction (°C); hall: water and supply, °C.
    row: room for the table at one limit (any unit).
    """
    limits = cells.shape[2]
    by_limit = (limits - 1) / (rule.limit_most - rule.limit_least)
    blended, low = -1.0, 0
    for step in range(start, start + steps):
        at = step / 3600.0
        hour = int(at)
        part = at - hour
        load = hours.load[hour] * (1 - part) + hours.load[hour + 1] * part
        sink = hours.sink[hour] * (1 - part) + hours.sink[hour + 1] * part
        limit = min(rule.cap, (rule.throttle - hall[1]) / rule.resistance)
        held = limit < rule.cap and limit < rule.limit_most
        y = (min(max(limit, rule.limit_least), rule.limit_most) - rule.limit_least) * by_limit
        if y != blended:
            _flush(bins[low], row, sums)
            blended, low = y, min(int(y), limits - 2)
            _blend(cells, row, low, y - low)
        line = sums.lines[step // rule.bucket]
        power = _second(bins[low], row, rule, load, seeds, racks, hall[1], sums, line)
        _water(rule, hall, sink, power)
        line[0] += 1.0
        line[1] += power
        line[3] += hall[0]
        line[4] += hall[1]
        line[9] += 1.0 if held else 0.0
        line[10] = max(line[10], power)
    _flush(bins[low], row, sums)


@compiled
def _flush(bins: Ints, row: Floats, sums: Sums) -> None:
    """What was served at each load (1) of the table goes into the bins of its latencies."""
    for load in range(row.shape[0]):
        served = row[load, SERVED_AT]
        sums.tpot[bins[load, 0]] += served
        sums.ttft[bins[load, 1]] += served
        row[load, SERVED_AT] = 0.0


@compiled
def _blend(cells: Floats, row: Floats, low: int, part: float) -> None:
    """The table (any unit) at a limit, a share `part` of the way from one column to the next."""
    for load in range(cells.shape[1]):
        for figure in range(FIGURES):
            one, two = cells[figure, load, low], cells[figure, load, low + 1]
            row[load, figure] = one * (1 - part) + two * part


@compiled
def _second(
    bins: Ints,
    row: Floats,
    rule: Rule,
    load: float,
    seeds: Words,
    racks: Floats,
    supply: float,
    sums: Sums,
    line: Floats,
) -> float:
    """All racks for a second at a load (1) and a supply in °C; W of them."""
    last = row.shape[0] - 1
    by_load = last / rule.load_most
    spread, count = rule.noise * load, racks.shape[0]
    power = gpus = served_all = waiting = asked_all = 0.0
    hottest = line[5]
    for rack in range(count):
        word = seeds[rack]
        word ^= word << FIRST
        word ^= word >> SECOND
        word ^= word << THIRD
        seeds[rack] = word
        noise = rule.keep * racks[rack, 0] + rule.fresh * (np.int64(word >> ELEVEN) * TOP - HALF)
        racks[rack, 0] = noise
        own = max(0.0, load + noise * spread)
        asked = own + racks[rack, 1]
        x = min(asked, rule.load_most) * by_load
        left = min(int(x), last - 1)
        x -= left
        served = row[left, 0] * (1 - x) + row[left + 1, 0] * x
        gpu = row[left, 1] * (1 - x) + row[left + 1, 1] * x
        power += row[left, 2] * (1 - x) + row[left + 1, 2] * x
        queue = max(0.0, asked - served)
        racks[rack, 1] = queue
        junction = racks[rack, 2]
        junction += (supply + gpu * rule.resistance - junction) * rule.warm
        racks[rack, 2] = junction
        hottest = max(hottest, junction)
        gpus += gpu
        served_all += served
        asked_all += own
        near = int(x + left + HALF)
        row[near, SERVED_AT] += served
        if queue > WAITING:
            waiting += queue
            wait = LEAST * math.exp(bins[near, 1] / FINE) + queue / served
            sums.ttft[bin_of(wait)] += served
            sums.ttft[bins[near, 1]] -= served
    line[2] += gpus / count
    line[5] = hottest
    line[6] += asked_all
    line[7] += served_all
    line[8] += waiting
    return power


@compiled
def bin_of(seconds: float) -> int:
    """The bin of a latency, s."""
    return min(BINS - 1, int(math.log(max(seconds, LEAST) / LEAST) * FINE))


@compiled
def _water(rule: Rule, hall: Floats, sink: float, power: float) -> None:
    """Facility water and coolant after a second of `power` W of racks under air of `sink` °C."""
    heat = rule.liquid * power + rule.pumps
    water = hall[0]
    back = water + heat / rule.rate
    most = rule.most * max(0.0, back - sink) + rule.chiller
    wanted = heat + (water - (rule.inlet - rule.approach * heat)) * rule.pull
    taken = min(max(wanted, 0.0), most)
    water += (heat - taken) / rule.water
    hall[0] = water
    hall[1] += (water + rule.approach * heat - hall[1]) * rule.flush

"""A question about swings, as typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SwingsWish:
    """A job and how it is steadied, as typed; None for the catalog's value.

    Parameters
    ----------
    work
        training (all racks in step) or inference (bursts, racks on their own).
    step
        Time of a step, or from burst to burst: 2s.
    working
        Share of it at high power: 80%.
    high
        Power of a GPU then, of TDP: 100%.
    low
        Power of a GPU otherwise, of TDP: 35%.
    cap
        What a GPU may draw at most: 1200W. Steps get longer.
    floor
        Least power while a job runs, of TDP, burnt if need be: 80%.
    ramp_up
        Steepest rise of a GPU: 1400W/s.
    ramp_down
        Steepest fall of a GPU once it was low for long enough: 700W/s.
    hysteresis
        How long that is: 2s.
    ramp_limit
        What the utility allows at the meter, means over 1 s: 5MW/s.
    range_limit
        The same for the difference of two moments within 10 s: 2MW.
    band_limit
        The same for swings in each band from 0.1 to 20 Hz, root mean square: 100kW.
    seconds
        Length of the series.
    seed
        Draws of the bursts.
    racks
        Size of the cluster in racks.
    nodes
        Size of the cluster in nodes (hosts, VMs).
    """

    work: str = "training"
    step: str | None = None
    working: str | None = None
    high: str | None = None
    low: str | None = None
    cap: str | None = None
    floor: str | None = None
    ramp_up: str | None = None
    ramp_down: str | None = None
    hysteresis: str | None = None
    ramp_limit: str | None = None
    range_limit: str | None = None
    band_limit: str | None = None
    seconds: float = 60.0
    seed: int = 0
    racks: int | None = None
    nodes: int | None = None

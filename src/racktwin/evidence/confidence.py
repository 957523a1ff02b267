"""How far to trust a prediction of some kind: intervals from out-of-fold errors.

data/intervals.yaml is written by tools/accuracy.py. A kind is a figure on a chip under an engine
in a role. What was never measured takes the errors of predictions for a chip (or a model) that
was left out of the fit.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.estimate import Estimate
from racktwin.evidence import data
from racktwin.evidence.measurement import Figure
from racktwin.finding import BadInput, Finding

Role = Literal["aggregated", "disaggregated"]
ENOUGH = 10  # rows; below, a kind is judged together with wider ones


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one kind of prediction; an empty name stands for all of them.

    low, high: 10th and 90th percentile of measured over predicted value, 1. rows: of them.
    """

    figure: Figure
    chip: str = ""
    engine: str = ""
    role: str = ""
    unseen: str = ""
    low: float
    high: float
    rows: int


class Interval(msgspec.Struct, frozen=True):
    """An 80 % interval as factors on a predicted value, 1, and what it rests on.

    It holds the predicted value even where nearly all measured ones lie on one side of it.
    """

    low: float
    high: float
    text: str

    def of(self, value: float, unit: str) -> Estimate:
        """A predicted value (any unit) with this interval around it."""
        return Estimate(value, value * self.low, value * self.high, unit, self.text)

    @property
    def width(self) -> float:
        """Largest distance from the prediction, 1."""
        return max(1 - self.low, self.high - 1)


@cache
def _kinds() -> tuple[Kind, ...]:
    return tuple(msgspec.convert(each, Kind) for each in data.load("intervals")["kinds"])


def interval(
    figure: Figure, *, chip: str, engine: str, role: Role, model: str = "", epoch: str = ""
) -> Interval:
    """The 80 % interval of predictions of `figure` on `chip` under `engine` in `role`.

    model: its catalog name; one that was never measured widens the interval. epoch: its name; one
    that a user fitted has the interval of its own points, on what they were measured on.
    """
    found = _shipped(figure, chip, engine, role, model)
    own = _own(epoch) if epoch else None
    if own is None:
        return found
    band, rows = own.intervals[figure], f"{own.intervals[figure].rows} points of {epoch}"
    away = [
        name
        for name, known in ((chip, own.chips), (model, own.models), (role, own.roles))
        if name and name not in known
    ]
    if not away:
        return Interval(band.low, band.high, f"{rows} ({_spread(band.low, band.high)})")
    low, high = min(band.low, found.low), max(band.high, found.high)
    text = f"{rows}, none of {' or '.join(away)}; {found.text}"
    return Interval(low, high, text)


class _Band(msgspec.Struct, frozen=True):
    low: float
    high: float
    rows: int


class _Own(msgspec.Struct, frozen=True):
    """What a user's epoch was fitted to, as its file says."""

    chips: tuple[str, ...]
    models: tuple[str, ...]
    roles: tuple[str, ...]
    intervals: dict[Figure, _Band]


def _own(epoch: str) -> _Own | None:
    if not catalog.is_own("epochs", epoch):
        return None
    entry = catalog.load("epochs", epoch)
    try:
        return msgspec.convert(entry.data["calibrated"], _Own)
    except (KeyError, msgspec.ValidationError) as fault:
        text = f"says not how far it was off ({fault}); fit it anew with racktwin calibrate"
        raise BadInput([Finding("calibrated", text)], entry.node.file) from None


def _shipped(figure: Figure, chip: str, engine: str, role: Role, model: str) -> Interval:
    found = _widest_needed(figure, chip, engine, role)
    measured = set(data.load("intervals")["models"])
    if not model or model in measured:
        return _worded(found, chip)
    left = _unseen(figure, "model")
    return Interval(
        min(found.low, left.low),
        max(found.high, left.high),
        f"{model} was never measured: errors of {left.rows:,} rows whose model was left out",
    )


def _widest_needed(figure: Figure, chip: str, engine: str, role: Role) -> Kind:
    rows = {
        (each.chip, each.engine, each.role): each
        for each in _kinds()
        if each.figure == figure and not each.unseen
    }
    exact = rows.get((chip, engine, role))
    if exact and exact.rows >= ENOUGH:
        return exact
    if not any(key[0] == chip for key in rows):
        return _unseen(figure, "chip")
    wider = [
        rows[key] for key in ((chip, "", role), ("", engine, role), ("", "", role)) if key in rows
    ]
    enough = next((each for each in wider if each.rows >= ENOUGH), wider[-1])
    if exact is None:
        return enough
    return msgspec.structs.replace(
        exact, low=min(exact.low, enough.low), high=max(exact.high, enough.high)
    )


def _unseen(figure: Figure, what: str) -> Kind:
    return next(each for each in _kinds() if each.figure == figure and each.unseen == what)


def _worded(kind: Kind, chip: str) -> Interval:
    if kind.unseen:
        start = f"{chip} was never measured: errors of {kind.rows:,} rows whose chip was left out"
    else:
        names = [each for each in (kind.chip, kind.engine, kind.role) if each]
        start = f"{kind.rows} measured {' '.join(names)} points"
    text = f"{start} ({_spread(kind.low, kind.high)})"
    return Interval(min(kind.low, 1.0), max(kind.high, 1.0), text)


def _spread(low: float, high: float) -> str:
    within = max(1 - low, high - 1)
    if within <= 1:
        return f"80 % of errors within {100 * within:.0f} %"
    return f"80 % measured {low:.2g} to {high:.2g} times the prediction"


def power() -> Interval:
    """The interval of a predicted power (W)."""
    band = data.load("power")
    return Interval(band["low"], band["high"], "an assumed band: no power was measured")

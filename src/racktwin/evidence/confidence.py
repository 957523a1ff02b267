"""How far to trust a prediction of some kind: intervals from out-of-fold errors.

data/intervals.yaml is written by tools/accuracy.py. A kind is a figure of a model on a chip under
an engine in a role and a regime. What was never measured takes the errors of predictions for a
chip (or a model) that was left out of the fit.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from racktwin import catalog
from racktwin.estimate import Estimate
from racktwin.evidence import data
from racktwin.evidence.amount import amount
from racktwin.evidence.data import HERE
from racktwin.evidence.measurement import Figure
from racktwin.evidence.table import rows
from racktwin.finding import BadInput, Finding

Role = Literal["aggregated", "disaggregated"]
ENOUGH = 15  # rows; below, a kind is judged together with wider ones
QUEUED = "queued"  # the regime of predictions that say the queue is full
FOLD_KINDS = "fold_intervals.csv.gz"  # kinds without the rows of one fold
NAMES = ("chip", "engine", "role", "model")
WIDER = (  # which names a kind keeps, from the nearest kind to the widest
    *(NAMES, ("chip", "role", "model"), ("chip", "engine", "role")),
    *(("chip", "role"), ("engine", "role"), ("role",)),
)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one kind of prediction; an empty name stands for all of them.

    low, high: 10th and 90th percentile of measured over predicted value, 1. rows: of them.
    """

    figure: Figure
    chip: str = ""
    engine: str = ""
    role: str = ""
    model: str = ""
    regime: str = ""
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
def kinds(fold: int | None = None) -> tuple[Kind, ...]:
    """The kinds of all rows, or of those outside of a fold."""
    if fold is None:
        return tuple(msgspec.convert(each, Kind) for each in data.load("intervals")["kinds"])
    table = (row for _, row in rows(HERE / FOLD_KINDS, ("fold",)))
    own = [
        {k: v for k, v in row.items() if k != "fold"} for row in table if row["fold"] == f"{fold}"
    ]
    return tuple(msgspec.convert(each, Kind, strict=False) for each in own)


@cache
def _by_name(fold: int | None) -> dict[tuple[str, ...], Kind]:
    return {
        (each.figure, each.regime, *(getattr(each, name) for name in NAMES)): each
        for each in kinds(fold)
        if not each.unseen
    }


def interval(
    figure: Figure,
    *,
    chip: str,
    engine: str,
    role: Role,
    model: str = "",
    regime: str = "",
    epoch: str = "",
    fold: int | None = None,
) -> Interval:
    """The 80 % interval of predictions of `figure` on `chip` under `engine` in `role`.

    model: its catalog name; one that was never measured widens the interval. regime: '' or
    'queued'. epoch: its name; one that a user fitted has the interval of its own points, on what
    they were measured on. fold: whose rows do not count.
    """
    named = {"chip": chip, "engine": engine, "role": role, "model": model}
    found = _shipped(figure, named, regime, fold)
    own = _own(epoch) if epoch else None
    if own is None:
        return found
    band = own.intervals[figure]
    points = f"{amount(band.rows, 'point')} of {epoch}"
    away = [
        name
        for name, known in ((chip, own.chips), (model, own.models), (role, own.roles))
        if name and name not in known
    ]
    if not away:
        return Interval(band.low, band.high, f"{points} ({_spread(band.low, band.high)})")
    low, high = min(band.low, found.low), max(band.high, found.high)
    return Interval(low, high, f"{points}, none of {' or '.join(away)}; {found.text}")


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


def _shipped(figure: Figure, named: dict[str, str], regime: str, fold: int | None) -> Interval:
    chip, model = named["chip"], named["model"]
    known = _by_name(fold)
    if not any(key[0] == figure and key[2] == chip for key in known):
        # At least as wide as what is known of its engine, role and model on other chips.
        left, near = (
            _unseen(figure, "chip", fold),
            _nearest(figure, {**named, "chip": ""}, regime, known),
        )
        found = msgspec.structs.replace(
            left, low=min(left.low, near.low), high=max(left.high, near.high)
        )
    else:
        found = _nearest(figure, named, regime, known)
    measured = set(data.load("intervals")["models"])
    if not model or model in measured:
        return _worded(found, chip)
    left = _unseen(figure, "model", fold)
    rows = amount(left.rows, "row")
    return Interval(
        min(found.low, left.low, 1.0),
        max(found.high, left.high, 1.0),
        f"{model} was never measured: errors of {rows} whose model was left out",
    )


def _nearest(
    figure: Figure, named: dict[str, str], regime: str, known: dict[tuple[str, ...], Kind]
) -> Kind:
    """The nearest kind of enough rows, in the regime where that has some."""
    for each in dict.fromkeys((regime, "")):
        for kept in WIDER:
            names = (named[name] if name in kept else "" for name in NAMES)
            kind = known.get((figure, each, *names))
            if kind is not None and kind.rows >= ENOUGH:
                return kind
    raise LookupError(f"no interval of {figure} in role {named['role']}")


def _unseen(figure: Figure, what: str, fold: int | None) -> Kind:
    return next(each for each in kinds(fold) if each.figure == figure and each.unseen == what)


def _worded(kind: Kind, chip: str) -> Interval:
    if kind.unseen:
        rows = amount(kind.rows, "row")
        start = f"{chip} was never measured: errors of {rows} whose chip was left out"
    else:
        names = (kind.chip, kind.engine, kind.model, kind.role, kind.regime)
        of = " ".join(each for each in names if each)
        start = amount(kind.rows, f"measured {of} point")
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

"""What a table of points comes to: errors, and how often intervals hold, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from racktwin.evidence.error import Errors, errors
from racktwin.evidence.validation.point import Many, Point, Validation, Value
from racktwin.finding import BadInput, unknown


class Tally(msgspec.Struct, frozen=True):
    """One figure over some rows.

    held: errors of predictions that did not see their row, where some did.
    coverage: share of scored rows whose interval, made without them, holds what was measured, 0..1;
    width: median of that interval's width over its value, 1; both NaN where nothing has one.
    """

    figure: str
    errors: Errors
    held: Errors
    coverage: float
    width: float

    @property
    def honest(self) -> Errors:
        """Errors of predictions that did not see their row."""
        return self.held if self.held.count else self.errors


class Noise(msgspec.Struct, frozen=True):
    """Repeated runs of a configuration: the error nobody can go below.

    runs: rows of configurations that ran more than once; errors: of their mean against each.
    """

    figure: str
    configurations: int
    errors: Errors


class Group(msgspec.Struct, frozen=True):
    """Rows that share a trait: `by` = `name`, or all of them ('', 'all')."""

    by: str
    name: str
    rows: int
    answered: int
    figures: tuple[Tally, ...]


class Summary(msgspec.Struct, frozen=True):
    """A whole validation. trusted leaves the doubted figures out, which `everything` holds.

    apart: figures in a regime of their own, by its name; they are in neither of the others' errors.
    noise: how far runs of one configuration lie from their mean, by figure.
    reasons: why rows have no answer, and how many rows each.
    """

    everything: Group
    trusted: Group
    groups: tuple[Group, ...]
    apart: tuple[Group, ...]
    noise: tuple[Noise, ...]
    reasons: tuple[tuple[str, int], ...]
    refused: int
    doubted: int
    repeated: int


def summary(validation: Validation, by: Sequence[str] = ()) -> Summary:
    """Errors of all rows and of the groups in `by`; rows that stand twice count once."""
    wanted = tuple(by) or validation.by
    known = dict.fromkeys(name for point in validation.points for name in point.traits)
    known = known or dict.fromkeys(wanted)
    if strange := [name for name in wanted if name not in known]:
        raise BadInput([unknown("--by", name, known) for name in strange], "racktwin validate")
    names = validation.figures
    points = [each for each in validation.points if not each.repeated]
    regimes = dict.fromkeys(v.apart for p in points for v in p.values if v.apart)
    return Summary(
        everything=_group("", "all", points, names, doubted=True),
        trusted=_group("", "all", points, names),
        groups=tuple(
            _group(trait, name, [p for p in points if p.traits.get(trait) == name], names)
            for trait in wanted
            for name in sorted({p.traits[trait] for p in points if trait in p.traits})
        ),
        apart=tuple(_group("", each, points, names, apart=each) for each in regimes),
        noise=tuple(noise(figure, points) for figure in names),
        reasons=tuple(Counter(p.reason for p in points if p.reason).most_common()),
        refused=sum(1 for p in points if p.reason),
        doubted=sum(1 for p in points if any(v.doubt for v in p.values)),
        repeated=len(validation.points) - len(points),
    )


def _group(
    by: str,
    name: str,
    points: Sequence[Point],
    figures: Sequence[str],
    *,
    doubted: bool = False,
    apart: str = "",
) -> Group:
    tallies = []
    for figure in figures:
        values = [v for p in points for v in p.values if v.figure == figure and v.apart == apart]
        many = [p.many[figure] for p in points if figure in p.many and not apart]
        tallies.append(_many(figure, many) if many else tally(figure, values, doubted=doubted))
    answered = sum(1 for point in points if point.values)
    return Group(by, name, len(points), answered, tuple(tallies))


def tally(figure: str, values: Iterable[Value], *, doubted: bool = False) -> Tally:
    """Errors and intervals of one figure; doubted measurements only where `doubted` is set."""
    scored = [v for v in values if v.measured is not None and (doubted or not v.doubt)]
    unseen = [v.unseen for v in scored]
    inside = [v.inside for v in scored if v.inside is not None]
    widths = [
        (h.high - h.low) / h.value for h in unseen if h.low is not None and h.high is not None
    ]
    measured = [v.measured or 0.0 for v in scored]
    held = unseen if any(v.held for v in scored) else []
    return Tally(
        figure,
        errors([v.value for v in scored], measured),
        errors([h.value for h in held], measured[: len(held)]),
        float(np.mean(inside)) if inside else np.nan,
        float(np.median(widths)) if widths else np.nan,
    )


def _many(figure: str, tables: Sequence[Many]) -> Tally:
    """Errors over whole tables."""
    predicted, measured, held = (
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("predicted", "measured", "held")
    )
    low, high = (
        np.concatenate([np.full(len(table.held), getattr(table, name)) for table in tables])
        for name in ("low", "high")
    )
    known = np.isfinite(held) & np.isfinite(low)
    inside = (low * held <= measured) & (measured <= high * held)
    return Tally(
        figure,
        errors(predicted, measured),
        errors(held, measured),
        float(inside[known].mean()) if known.any() else np.nan,
        float(np.median((high - low)[known])) if known.any() else np.nan,
    )


def noise(figure: str, points: Iterable[Point]) -> Noise:
    """How far runs of one configuration lie from their mean."""
    runs: dict[str, list[float]] = {}
    for point in points:
        for value in point.values:
            if value.figure == figure and value.measured and point.configuration:
                runs.setdefault(point.configuration, []).append(value.measured)
    several = [values for values in runs.values() if len(set(values)) > 1]
    means = [sum(values) / len(values) for values in several for _ in values]
    return Noise(figure, len(several), errors(means, [v for values in several for v in values]))

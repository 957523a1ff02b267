"""Multi-token prediction of published runs that do not state how often a draft was taken."""

from __future__ import annotations

from racktwin.engine.deployment import Speculation
from racktwin.evidence import data


def drafted(count: int, acceptance: float | None = None) -> Speculation:
    """`count` drafts a step, accepted as those of Azure's curve, or at `acceptance`, 0..1.

    The first draft rests on the state of the model itself. Those behind it rest on that of the one
    module there is, which was trained for the first, and are taken less often.
    """
    if not count:
        return Speculation()
    known = data.load("inferencex")
    first = known["acceptance"] if acceptance is None else acceptance
    behind = first * known["behind"]
    return Speculation(count, (first, *(behind,) * (count - 1)))

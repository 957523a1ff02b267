"""What a class of requests felt, as a row of the screen's and the report's table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from racktwin.serving.by_class import Felt


def class_name(each: Felt) -> str:
    """Its name, and its priority where it has one."""
    return each.name if each.priority is None else f"{each.name} ({each.priority})"


def class_cells(each: Felt) -> Iterator[str]:
    """requests/s; TTFT p50, p99 s; TPOT p50, p99 ms; E2E p99 s; good/s and their share."""
    yield f"{each.requests:,.2f}"
    for value, form in (
        (each.ttft.p50, ",.3f"),
        (each.ttft.p99, ",.3f"),
        (each.tpot.p50 * 1e3, ",.1f"),
        (each.tpot.p99 * 1e3, ",.1f"),
        (each.e2e.p99, ",.2f"),
    ):
        yield f"{value:{form}}" if math.isfinite(value) else "-"
    limited = bool(each.limits.text)
    yield f"{each.good:,.2f}" if limited else ""
    share = f"{each.attained:.1%}" if math.isfinite(each.attained) else "-"
    yield share if limited else ""

"""What a user's row may not say: stricter than a published one, of which nobody can ask anything.

What a published row leaves open is inferred; a user knows it, so a slip of the pen is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from racktwin.evidence import cells as grid
from racktwin.evidence import naming
from racktwin.evidence.condition import number
from racktwin.evidence.loop.answer import LARGEST
from racktwin.evidence.measurement import Measurement, deployment
from racktwin.finding import Finding
from racktwin.models.layout import check as check_layout
from racktwin.models.precision import Precision

LEAST, MOST = 1e-3, 1e7  # ms of a measured time: a microsecond, three hours
COUNTS = ("isl", "osl", "concurrency", *grid.WHOLE)
COLUMNS = {
    "tensor": "tp_size",
    "pipeline": "pp_size",
    "attention_data": "attention_dp_size",
    "expert": "moe_ep_size",
    "expert_tensor": "moe_tp_size",
}


def cells(row: Mapping[str, str], line: int) -> Iterator[Finding]:
    """What is wrong with the cells of a row one by one."""
    said = {column: (row.get(column) or "").strip() for column in grid.COLUMNS}
    for column in grid.MEASURED:
        text = said[column]
        value = number(text)
        if text and (value is None or not LEAST <= value <= MOST):
            message = f"{text[:20]!r} is no time between {LEAST:g} and {MOST:,.0f} ms"
            yield Finding(column, message, line)
    for column in COUNTS:
        value = number(said[column])
        if value is not None and (value < 1 or value != int(value)):
            message = f"{said[column][:20]!r} is no whole number of 1 or more"
            empty = "" if column in grid.LOAD else "; leave empty what you do not set"
            yield Finding(column, message + empty, line)
    if said["tpot_mean_ms"] and number(said["osl"]) == 1:
        yield Finding("osl", "is 1: an answer of one token has no TPOT", line)
    if (number(said["concurrency"]) or 0) > LARGEST:
        message = f"{said['concurrency'][:20]} are more clients than can be followed, {LARGEST:,}"
        yield Finding("concurrency", message, line)
    yield from _words(said, line)


def _words(said: Mapping[str, str], line: int) -> Iterator[Finding]:
    """Formats and releases that nobody knows; an empty cell is inferred."""
    for column in naming.FORMATS:
        fault = naming.unknown_format(column, said[column])
        if fault is not None:
            yield msgspec.structs.replace(fault, line=line)
    version = said["framework_version"]
    if version and not naming.is_release(version):
        text = f"{version[:40]!r} is no release; expected one like '0.18.0', or an empty cell"
        yield Finding("framework_version", text, line)


def layout(one: Measurement) -> Iterator[Finding]:
    """Layouts that the model cannot be cut into; that its formats can was seen: it ran."""
    asked = deployment(one)
    architecture = msgspec.structs.replace(asked.model.architecture, name=asked.model.title)
    for role, pool in asked.pools.items():
        prefix = "" if role == "serve" else f"{role}_"
        for each in check_layout(pool.layout, architecture, Precision(), pool.spare_experts):
            if not each.note:
                column = f"{prefix}{COLUMNS.get(each.key, each.key)}"
                yield Finding(column, each.message, one.line)

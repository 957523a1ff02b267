"""The cells of one row of a table of serving measurements, checked."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from racktwin.evidence import data
from racktwin.evidence.condition import number
from racktwin.finding import Finding

LAYOUT = ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
ROLES = ("prefill", "decode")
WHOLE = (*LAYOUT, *(f"{role}_{name}" for role in ROLES for name in ("num_workers", *LAYOUT)))
LOAD = ("isl", "osl", "concurrency", "batch_size")
MEASURED = ("ttft_mean_ms", "tpot_mean_ms")
TEXT = (
    *("id", "gpu_system", "framework", "framework_version", "image", "measured_on", "model"),
    *("precision", "gemm_quant_mode", "moe_quant_mode", "mode"),
)
COLUMNS = (*TEXT, *LOAD, *WHOLE, *MEASURED)
LARGEST = 1e8  # of any number in a row
MOST_RANKS = 10**5
LONGEST = 400  # characters of a cell


class Cells(msgspec.Struct, frozen=True):
    """Texts, and numbers (any unit), by column; an empty cell is '' and None."""

    text: Mapping[str, str]
    numbers: Mapping[str, float | None]

    def whole(self, column: str) -> int | None:
        """The whole number in a column."""
        value = self.numbers[column]
        return None if value is None else int(value)


def read(row: Mapping[str, str | None]) -> tuple[Cells, list[Finding]]:
    """The cells of a row and every fault in them; faulty numbers read as empty."""
    text = {column: (row.get(column) or "").strip() for column in COLUMNS}
    findings = []
    for column, cell in text.items():
        if len(cell) > LONGEST:
            findings.append(Finding(column, f"longer than {LONGEST} characters"))
            text[column] = cell[:LONGEST]
        if not cell.isprintable():
            findings.append(Finding(column, f"{cell[:20]!r} holds a character that is no text"))
    numbers: dict[str, float | None] = {}
    for column in (*LOAD, *WHOLE, *MEASURED):
        fault = _fault(column, text[column])
        numbers[column] = number(text[column]) if not fault else None
        if fault:
            findings.append(Finding(column, f"{text[column][:20]!r} {fault}"))
    return Cells(text, numbers), findings + _load(text, numbers)


def _fault(column: str, text: str) -> str:
    if not text:
        return ""
    value = number(text)
    if value is None:
        return "is no number"
    if not 0 <= value <= LARGEST:
        return "is not between 0 and 100 million"
    if column in WHOLE and value != int(value):
        return "is no whole number"
    if column in WHOLE and value > MOST_RANKS:
        return f"is more than {MOST_RANKS:,} ranks"
    return ""


def _load(text: Mapping[str, str], numbers: Mapping[str, float | None]) -> list[Finding]:
    findings = []
    if text["mode"] not in ("agg", "disagg"):
        allowed = ", ".join(data.load("names")["modes"])
        findings.append(Finding("mode", f"{text['mode'][:20]!r} is not known; one of {allowed}"))
    for column in ("isl", "osl", "concurrency"):
        value = numbers[column]
        if not text[column]:
            findings.append(Finding(column, "is empty"))
        elif value is not None and value < 1:
            findings.append(Finding(column, f"{text[column][:20]!r} is below 1"))
    if text["mode"] == "disagg":
        findings += [
            Finding(f"{role}_num_workers", "is empty: how many replicas ran is not known")
            for role in ROLES
            if not numbers[f"{role}_num_workers"]
        ]
    return findings

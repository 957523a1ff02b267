"""What a row of serving measurements leaves out and its other cells tell; never from what was
measured. Everything filled in is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import msgspec

from racktwin.evidence import cells as grid
from racktwin.evidence import label, naming, sheet
from racktwin.evidence.condition import number
from racktwin.evidence.measurement import Measurement
from racktwin.finding import BadInput

SPELLED = (("framework", "frameworks"), ("gpu_system", "spellings"), ("mode", "modes"))
LENGTHS = re.compile(r"_(\d{1,7})x(\d{1,7})(?:_c(\d{1,6})(?:_|$))?")


def measurement(row: Mapping[str, str], line: int = 1, source: str = "row") -> Measurement:
    """The measurement of a row whose measured cells play no part; BadInput with all it lacks."""
    unmeasured = {**row, **dict.fromkeys(grid.MEASURED, "")}
    full, notes = completed(unmeasured)
    try:
        found = sheet.measurement(full, line, source)
    except BadInput as fault:
        if {each.key.rpartition("moe_")[2] for each in fault.findings} != {"ep_size"}:
            raise
        fixed = [_rebalanced(full, each.key.removesuffix("moe_ep_size")) for each in fault.findings]
        for changes, note in fixed:
            full, notes = {**full, **changes}, (*notes, note)
        found = sheet.measurement(full, line, source)
    return msgspec.structs.replace(found, inferred=(*notes, *found.inferred))


def completed(row: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The row with what can be inferred filled in, and what that was."""
    full = {name: (row.get(name) or "").strip() for name in {*row, *grid.COLUMNS}}
    notes = [*_names(full), *_mode(full), *_identifier(full), *_load(full)]
    return full, tuple(notes)


def _names(full: dict[str, str]) -> list[str]:
    notes = []
    for column, aliases in SPELLED:
        meant = naming.spelled(aliases, full[column])
        if meant != full[column]:
            notes.append(f"{column} {full[column][:40]!r} read as {meant}")
            full[column] = meant
    return notes


def _mode(full: dict[str, str]) -> list[str]:
    if full["mode"]:
        return []
    split = any(full[name] for name in grid.WHOLE if name.startswith(grid.ROLES))
    full["mode"] = "disagg" if split else "agg"
    return [f"mode empty: {full['mode']} from the columns that are filled"]


def _identifier(full: dict[str, str]) -> list[str]:
    """Lengths, clients and TP that are empty and stand in the id."""
    found = LENGTHS.search(full["id"])
    said = dict(zip(("isl", "osl", "concurrency"), found.groups(), strict=True)) if found else {}
    if full["mode"] == "agg" and not full["attention_dp_size"]:
        tensor, expert = label.tagged(full["id"])
        said |= {"tp_size": str(tensor or ""), "moe_ep_size": str(expert or "")}
        if full["tp_size"]:
            said.pop("moe_ep_size")
    notes = []
    for column, text in said.items():
        if text and not full[column]:
            full[column] = text
            notes.append(f"{column} empty: {text} from the id")
    return notes


def _load(full: dict[str, str]) -> list[str]:
    """Clients of a row that states the batches of its engine instead."""
    if full["concurrency"]:
        return []
    prefix = "decode_" if full["mode"] == "disagg" else ""
    batch = number(full.get(f"{prefix}batch_size") or "")
    replicas = number(full[f"{prefix}num_workers"]) if prefix else 1.0
    ranks = number(full[f"{prefix}attention_dp_size"]) or 1.0
    if not batch or not replicas:
        return []
    full["concurrency"] = f"{batch * replicas * ranks:g}"
    return [f"concurrency empty: {full['concurrency']} from the batches of the engine"]


def _rebalanced(full: Mapping[str, str], prefix: str) -> tuple[dict[str, str], str]:
    """Experts over as many ranks as attention, where the row's numbers do not agree."""
    tensor, ranks = (
        int(number(full[f"{prefix}{name}"]) or 1) for name in ("tp_size", "attention_dp_size")
    )
    expert = int(number(full[f"{prefix}moe_ep_size"]) or 1)
    stage = tensor * ranks
    expert = math.gcd(stage, expert)
    split = stage // expert
    if split == expert > 1:  # a square would read as a product of TP and EP
        expert, split = stage, 1
    changes = {
        f"{prefix}attention_dp_size": str(ranks),
        f"{prefix}moe_ep_size": str(expert),
        f"{prefix}moe_tp_size": str(split),
    }
    said = f"{prefix}moe_tp_size x moe_ep_size do not match tp x attention-dp"
    return changes, f"{said}: read as {split} x {expert}"

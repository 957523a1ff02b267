"""Names of published measurements -> names of the catalog: data/names.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from racktwin import catalog
from racktwin.engine import epochs
from racktwin.evidence import data
from racktwin.evidence.condition import matches
from racktwin.finding import BadInput, Finding, nearest, unknown
from racktwin.models import Model
from racktwin.models import model as published
from racktwin.models.module_names import LINEAR

FORMATS = ("precision", "gemm_quant_mode", "moe_quant_mode")
CHECKPOINT = "checkpoint"  # the format a model is published in, by its name
INTEGERS = ("int4", "int8")
NARROW = (*INTEGERS, "mxfp4", "mxfp8", "nvfp4")  # that experts are often stored in, alone


def model(text: str) -> str | Finding:
    """The catalog's model a row means, by name or Hugging Face id, or what is wrong with it."""
    if not text:
        return Finding("model", "is empty")
    short = text.rpartition("/")[2]
    if short.startswith((".", "~")) or short.endswith(".json"):  # a table names no files to read
        return Finding("model", f"{text[:80]!r} is no name of a model")
    try:
        return _model(text).name
    except BadInput as fault:
        return msgspec.structs.replace(fault.findings[0], key="model")


def _model(text: str) -> Model:
    alias = data.load("names")["models"].get(text)
    return published(alias or text.rpartition("/")[2] or text.strip("/"))


def spelled(aliases: str, text: str) -> str:
    """What a name means by a list of `aliases` ('frameworks', 'spellings', 'modes'), or itself.

    In any case, with blanks or underscores for dashes, with or without its vendor in front.
    """
    names = data.load("names")
    said = bare(re.sub(r"[\s_]+", "-", text.strip().lower()))
    return str(names[aliases].get(said, text))


def bare(text: str) -> str:
    """A name without the vendor in front of it ('NVIDIA GB300' -> 'GB300')."""
    vendors = "|".join(data.load("names")["vendors"])
    return re.sub(rf"^({vendors})[\s_-]+", "", text, flags=re.IGNORECASE)


def system(text: str) -> str | Finding:
    """The catalog's cluster whose GPUs a row ran on, or what is wrong with its name."""
    names, known = data.load("names"), catalog.names("clusters")
    aliases: Mapping[str, str] = names["systems"]
    if text in aliases:
        return aliases[text]
    if text.lower() in known:
        return text.lower()
    if not text:
        return Finding("gpu_system", "is empty")
    close = nearest(bare(text), [*names["spellings"], *aliases, *known])
    hint = f"did you mean {close!r}?" if close else f"known: {', '.join([*aliases, *known])}"
    return Finding("gpu_system", f"{text[:60]!r} is not known; {hint}")


def spoken(row: Mapping[str, str]) -> dict[str, str]:
    """The row with its formats in the words of data/names.yaml ('w4a16_awq' -> 'int4')."""
    return {**row, **{column: word(row.get(column) or "") or "" for column in FORMATS}}


def word(text: str) -> str | None:
    """The one word for a format; None for a format that nobody knows."""
    said = re.sub(r"[\s-]+", "_", text.strip().lower())
    known: Mapping[str, list[str]] = data.load("names")["formats"]
    return next((each for each, words in known.items() if said in words), None if said else "")


def precision(row: Mapping[str, str]) -> tuple[str, str]:
    """Format of the checkpoint's weights, and what of it was inferred ('' when it is written)."""
    served = model(row["model"])
    said = {**spoken(row), "served": served if isinstance(served, str) else ""}
    for rule in data.load("names")["precisions"]:
        if matches(rule["where"], said):
            own = rule["is"] == CHECKPOINT
            found = _model(row["model"]).precision.name if own else str(rule["is"])
            how = f"precision empty: {found}{', as its checkpoint is' if own else ''}"
            return found, how if rule.get("inferred") else ""
    raise BadInput([Finding("precision", f"no rule reads {row['precision'][:40]!r}")])


def parts(row: Mapping[str, str], *, moe: bool) -> tuple[tuple[str, str], ...]:
    """(part, format) where the row tells experts, if the model has any, from the other matrices.

    Integers in the other matrices are a checkpoint whose every linear layer is quantized (AWQ).
    """
    said = spoken(row)
    rest, experts = said["gemm_quant_mode"], said["moe_quant_mode"]
    found = dict.fromkeys(LINEAR, rest) if rest in INTEGERS else {}
    if moe and rest and experts and (found or (experts in NARROW and experts != rest)):
        found["experts"] = experts
    return tuple(found.items())


def unknown_format(column: str, text: str) -> Finding | None:
    """What is wrong with a cell of a format column; None for one that a rule knows, or empty."""
    if word(text) is not None:
        return None
    known = data.load("names")["formats"]
    words = [each for listed in known.values() for each in listed]
    return unknown(column, text[:40], words if nearest(text[:40], words) else known)


def is_release(text: str) -> bool:
    """Whether a version names a release, or a build that moves with its date."""
    moving = data.load("names")["moving"]
    return epochs.is_version(text) or text.startswith(tuple(moving))

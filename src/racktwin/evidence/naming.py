"""Names of published measurements -> names of the catalog: data/names.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from racktwin import catalog
from racktwin.engine import epochs
from racktwin.evidence import data
from racktwin.evidence.condition import matches
from racktwin.finding import BadInput, Finding, unknown
from racktwin.models import model as published


def model(text: str) -> str | Finding:
    """The catalog's model a row means, by name or Hugging Face id, or what is wrong with it."""
    aliases = data.load("names")["models"]
    if not text:
        return Finding("model", "is empty")
    if text in aliases:
        return str(aliases[text])
    short = text.rpartition("/")[2]
    if short.startswith((".", "~")) or short.endswith(".json"):  # a table names no files to read
        return Finding("model", f"{text[:80]!r} is no name of a model")
    try:
        return published(short or text.strip("/")).name
    except BadInput as fault:
        return msgspec.structs.replace(fault.findings[0], key="model")


def spelled(aliases: str, text: str) -> str:
    """What a name means by the list `aliases` ('frameworks', 'spellings'); itself where it is none.

    In any case, with blanks or underscores for dashes.
    """
    said = re.sub(r"[\s_]+", "-", text.strip().lower())
    return str(data.load("names")[aliases].get(said, text))


def system(text: str) -> str | Finding:
    """The catalog's cluster whose GPUs a row ran on, or what is wrong with its name."""
    return _named("gpu_system", text, data.load("names")["systems"], catalog.names("clusters"))


def _named(key: str, text: str, aliases: Mapping[str, str], known: list[str]) -> str | Finding:
    if text in aliases:
        return aliases[text]
    if text.lower() in known:
        return text.lower()
    return unknown(key, text, [*aliases, *known]) if text else Finding(key, "is empty")


def precision(row: Mapping[str, str]) -> tuple[str, str]:
    """Format of the checkpoint's weights, and what of it was inferred ('' when it is written)."""
    for rule in data.load("names")["precisions"]:
        if matches(rule["where"], row):
            guess = f"precision empty: {rule['is']}" if rule.get("inferred") else ""
            return str(rule["is"]), guess
    return "bf16", f"precision {row['precision']!r} unknown: bf16"


def unknown_format(column: str, text: str) -> Finding | None:
    """What is wrong with a cell of a format column; None for one that a rule knows, or empty."""
    known = {
        word
        for rule in data.load("names")["precisions"]
        for word in (rule["is"], rule["where"].get("precision"), rule["where"].get(column))
        if isinstance(word, str) and word
    }
    return unknown(column, text, sorted(known)) if text and text not in known else None


def is_release(text: str) -> bool:
    """Whether a version names a release, or a build that moves with its date."""
    moving = data.load("names")["moving"]
    return epochs.is_version(text) or text.startswith(tuple(moving))

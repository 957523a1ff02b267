"""A row in the words of the launch rules, however it spells its model, release and day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from racktwin.evidence import data, naming

RELEASE = re.compile(r"^(?:(?:vllm|sglang|trt-?llm|tensorrt-?llm)[\s_-]*)?v?(?=\d)", re.IGNORECASE)
LENGTH = 10  # characters of a date


def spelled(row: Mapping[str, str], served: str) -> dict[str, str]:
    """The row with the Hugging Face id that rules use for the catalog's model `served`.

    A release is that of its column or else of its image, without a leading v.
    """
    release = row["framework_version"] or row["image"].rpartition(":")[2]
    said = naming.spoken(row) | {"framework_version": RELEASE.sub("", release)}
    return said | {"model": _id(row["model"], served)}


def _id(text: str, served: str) -> str:
    """The id as it is where rules know it, else the first of the model, else the catalog's name."""
    known: Mapping[str, str] = data.load("names")["models"]
    if text in known:
        return text
    ids = {name: each for each, name in reversed(list(known.items()))}
    return str({**ids, **data.load("names")["series"]}.get(served, served))


def day(text: str) -> tuple[str, str]:
    """A date like 2026-03-25, or '' for what is none, and what is wrong with it, '' for nothing."""
    wrong = f"measured_on {text[:20]!r} is no date like 2026-03-25: not read"
    if len(text) != LENGTH:  # other ways to write a date are not told apart
        return "", wrong if text else ""
    try:
        return date.fromisoformat(text).isoformat(), ""
    except ValueError:
        return "", wrong

"""A model by name: from the catalog, a Hugging Face id, or a path to a config.json."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from racktwin import catalog
from racktwin.finding import BadInput, Finding, nearest
from racktwin.models import config_reader, identifier
from racktwin.models.architecture import Architecture
from racktwin.models.precision import Precision
from racktwin.models.preset import preset

MOST_NEAR = 6  # names that begin alike, in a finding


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model as it is published.

    precision: of its checkpoint. source: where the architecture is from; kind: how sure that is
    (datasheet, derived, assumed, given). precisions: what published quantized checkpoints store.
    """

    name: str
    title: str
    architecture: Architecture
    precision: Precision
    source: str
    kind: str = "datasheet"
    precisions: dict[str, Precision] = {}
    notes: tuple[Finding, ...] = ()

    def at(self, name: str) -> Precision:
        """The precision called `name`: as published for this model, else the usual recipe."""
        own = self.precision.name
        if name in ("", "checkpoint", own, own.partition("_")[0]):  # fp8_block is a kind of fp8
            return self.precision
        if name in self.precisions:
            return self.precisions[name]
        return preset(self.architecture, name, self.precision)


def model(name: str | Path) -> Model:
    """The model called `name` in the catalog, by a Hugging Face id, or described at a path.

    A format at the end of an id ('nvidia/DeepSeek-R1-NVFP4') chooses that checkpoint.
    """
    if _is_path(name):
        return _from_file(Path(name))
    return _named(str(name))


def _is_path(name: str | Path) -> bool:
    if isinstance(name, Path) or name.endswith(".json") or name.startswith((".", "/", "~")):
        return True
    return "/" in name and os.path.isdir(name)


def _from_file(path: Path) -> Model:
    path = Path(os.path.expanduser(path))
    is_folder = os.path.isdir(path)
    folder = path if is_folder else path.parent
    name = (path.name if is_folder else "") or Path(os.path.realpath(folder)).name
    if not is_folder and path.name != "config.json":
        name = path.stem.removesuffix("_config").rpartition("--")[2]
    config, quant, stored = config_reader.load(path)
    try:
        reading = config_reader.read(config, quant, name, stored)
    except BadInput as fault:
        raise BadInput(fault.findings, str(path)) from None
    return Model(
        name=name.lower(),
        title=name,
        architecture=reading.architecture,
        precision=reading.precision,
        source=str(path),
        kind="given",
        notes=reading.notes,
    )


@lru_cache(maxsize=512)
def _named(name: str) -> Model:
    known = catalog.names("models")
    found, wanted = identifier.find(name, known)
    if found is None:
        raise BadInput([_unknown(name, known)])
    model = _shipped(found)
    return msgspec.structs.replace(model, precision=model.at(wanted)) if wanted else model


def _unknown(name: str, known: list[str]) -> Finding:
    short = "-".join(name.rpartition("/")[2][: identifier.LONGEST].lower().split())
    begun = [each for each in known if len(short) > 3 and each.startswith(f"{short}-")]
    close = nearest(short, known)
    hint = f"did you mean {close!r}?" if close else "`racktwin show models` lists them"
    if begun:
        hint = f"which of {', '.join(begun[:MOST_NEAR])}?"
    return Finding("model", f"{name[:80]!r} is not known; {hint} (or give a path to a config.json)")


@lru_cache(maxsize=128)
def _shipped(name: str) -> Model:
    entry = catalog.load("models", name)
    data = entry.data
    reading = config_reader.read(data["config"], None, name)
    architecture, main = reading.architecture, reading.precision
    if "context" in data:
        architecture = msgspec.structs.replace(architecture, context=data["context"])
    fact = entry.fact("config")
    return Model(
        name=name,
        title=data["title"],
        architecture=architecture,
        precision=main,
        source=fact.source,
        kind=fact.kind,
        precisions={
            key: _published(key, main, parts)
            for key, parts in (data.get("precisions") or {}).items()
        },
    )


def _published(name: str, main: Precision, parts: dict[str, Any]) -> Precision:
    """The precision of a published quantized checkpoint; parts it does not name stay bf16."""
    layers = tuple((int(index), part, dtype) for index, part, dtype in parts.get("layers", ()))
    found = Precision(name=name, state=main.state)
    return msgspec.structs.replace(found, **{**parts, "layers": layers})


def names() -> list[str]:
    """Names of the models that ship."""
    return catalog.names("models")

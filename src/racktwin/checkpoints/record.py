"""What is known of a conversion that is not finished, kept in its folder until it is."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from racktwin.finding import BadInput, Finding
from racktwin.numerics.deviation import Deviation

NAME = ".racktwin-quantize.json"


class Record(msgspec.Struct, kw_only=True):
    """settings: input and flags, as a hash. done: shards that are whole. deviations: by module."""

    settings: str
    done: list[str] = []
    deviations: dict[str, Deviation] = {}

    def save(self, folder: Path) -> None:
        """Write it into `folder`, whole or not at all."""
        rough = folder / (NAME + ".part")
        rough.write_bytes(msgspec.json.encode(self))
        os.replace(rough, folder / NAME)


def open_record(folder: Path, settings: str) -> Record:
    """The record in a folder, or a new one; BadInput where the folder belongs to something else."""
    if not folder.exists():
        return Record(settings=settings)
    if not folder.is_dir():
        raise BadInput([Finding("OUT", f"{folder} is a file")], "quantize")
    names = {each.name for each in folder.iterdir()}
    if not names:
        return Record(settings=settings)
    if NAME not in names:
        whole = any(each.endswith(".safetensors") for each in names)
        held = "a checkpoint that is finished" if whole else "other files"
        text = f"{folder} exists and holds {held}; give a folder that does not exist"
        raise BadInput([Finding("OUT", text)], "quantize")
    try:
        found = msgspec.json.decode((folder / NAME).read_bytes(), type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        text = f"{folder / NAME} cannot be read; remove {folder}"
        raise BadInput([Finding("OUT", text)], "quantize") from None
    if found.settings != settings:
        text = f"{folder} holds shards of another input or other flags; remove it or give another"
        raise BadInput([Finding("OUT", text)], "quantize")
    found.done = [name for name in found.done if (folder / name).is_file()]
    return found

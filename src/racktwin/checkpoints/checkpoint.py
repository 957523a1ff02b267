"""A checkpoint: one safetensors file, or a folder of them with an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import msgspec

from racktwin.checkpoints.header import Entry
from racktwin.checkpoints.shard import Array, Shard
from racktwin.finding import BadInput, Finding

INDEX = "model.safetensors.index.json"
SUFFIX = ".safetensors"
MOST_SHOWN = 8  # faults that are listed
SETTINGS = ("quantization_config", "compression_config")  # the second of older checkpoints
LARGEST_JSON = 1 << 28  # bytes of an index or config


class Checkpoint:
    """Open files and where each tensor lies. It is read only, and closed with a `with`.

    folder: None for a file alone. config: config.json beside it, empty where there is none.
    """

    def __init__(self, path: Path, folder: Path | None, shards: list[Shard]) -> None:
        self.path, self.folder, self.shards = path, folder, shards
        self.at = {name: shard for shard in shards for name in shard.header.entries}
        self.config = read_json(
            path.parent / "config.json" if folder is None else path / "config.json"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for shard in self.shards:
            shard.close()

    def __contains__(self, name: str) -> bool:
        return name in self.at

    def entry(self, name: str) -> Entry:
        """Of a tensor that is there."""
        return self.at[name].entry(name)

    def rows(self, name: str, begin: int = 0, end: int | None = None) -> Array:
        """Rows of a tensor that is there, any unit."""
        return self.at[name].rows(name, begin, end)

    @property
    def quantization(self) -> dict[str, Any]:
        """What the config says of quantization, be it in the part for text; empty for nothing."""
        parts = [self.config, *(each for each in self.config.values() if isinstance(each, dict))]
        settings = (part.get(key) for part in parts for key in SETTINGS)
        return next((each for each in settings if isinstance(each, dict) and each), {})

    @property
    def bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(e.bytes for shard in self.shards for e in shard.header.entries.values())


def open_checkpoint(given: str | Path) -> Checkpoint:
    """The checkpoint at a path; BadInput with every fault of its index and headers."""
    path = Path(given)
    if path.is_dir():
        files = _files(path)
    elif path.is_file():
        files = [path]
    else:
        raise BadInput([Finding(str(given), "no such file or folder")], "checkpoint")
    shards: list[Shard] = []
    faults: list[Finding] = []
    for file in files:
        try:
            shards.append(Shard(file))
        except BadInput as fault:
            faults += [Finding(file.name, f"{each.key} {each.message}") for each in fault.findings]
    found = Checkpoint(path, path if path.is_dir() else None, shards)
    if not faults:
        faults = [*_doubled(shards), *(_against_index(found) if path.is_dir() else ())]
    if faults:
        found.__exit__()
        raise BadInput(_shortened(faults), str(given))
    return found


def _shortened(faults: list[Finding]) -> list[Finding]:
    more = len(faults) - MOST_SHOWN
    tail = [Finding("checkpoint", f"and {more:,} more faults")] if more > 0 else []
    return [*faults[:MOST_SHOWN], *tail]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a file, empty where there is no file."""
    if not path.is_file():
        return {}
    if path.stat().st_size > LARGEST_JSON:
        raise BadInput([Finding(path.name, "is too large for a JSON file of settings")], str(path))
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as fault:
        raise BadInput([Finding(path.name, f"is no JSON: {fault}")], str(path)) from None
    if not isinstance(found, dict):
        raise BadInput([Finding(path.name, "is no JSON object")], str(path))
    return found


def _weight_map(folder: Path) -> dict[str, str]:
    """Tensor -> file, as the index has it; empty without an index."""
    whole = read_json(folder / INDEX)
    named: dict[str, str] = whole.get("weight_map", {})
    if whole and not (isinstance(named, dict) and named):
        raise BadInput([Finding("weight_map", "expected files by tensor")], str(folder / INDEX))
    for name, file in named.items():
        if not isinstance(file, str) or Path(file).name != file or not file.endswith(SUFFIX):
            text = f"{str(file)[:60]!r} is no safetensors file of this folder"
            raise BadInput([Finding(name, text)], str(folder / INDEX))
    return named


def _files(folder: Path) -> list[Path]:
    named = sorted(set(_weight_map(folder).values()))
    if not named:
        named = sorted(each.name for each in folder.glob("*" + SUFFIX) if each.is_file())
    if not named:
        others = sorted({each.suffix for each in folder.iterdir() if each.is_file()})
        text = f"holds no safetensors file; found {', '.join(filter(None, others)) or 'nothing'}"
        raise BadInput([Finding(str(folder), text)], "checkpoint")
    missing = [name for name in named if not (folder / name).is_file()]
    if missing:
        faults = [Finding(name, "is named by the index and is not there") for name in missing]
        raise BadInput(_shortened(faults), str(folder / INDEX))
    return [folder / name for name in named]


def _doubled(shards: list[Shard]) -> list[Finding]:
    seen: dict[str, str] = {}
    found = []
    for shard in shards:
        for name in shard.header.entries:
            if name in seen:
                found.append(Finding(name, f"is in {seen[name]} and in {shard.path.name}"))
            seen[name] = shard.path.name
    return found


def _against_index(found: Checkpoint) -> list[Finding]:
    """What the index says and the shards do not hold, and the other way round."""
    named = _weight_map(found.folder) if found.folder else {}
    faults = []
    for name, file in named.items():
        if name not in found:
            faults.append(Finding(name, f"is not in {file}, where the index has it"))
        elif found.at[name].path.name != file:
            text = f"is in {found.at[name].path.name}; the index says {file}"
            faults.append(Finding(name, text))
    if named:
        extra = [name for name in found.at if name not in named]
        faults += [Finding(name, "is not in the index") for name in extra]
    return faults

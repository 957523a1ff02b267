"""What stands beside the shards: tokenizer and other small files, the index, the configs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from racktwin.checkpoints.checkpoint import INDEX, SETTINGS, Checkpoint
from racktwin.checkpoints.layout import Layout, hf_quant_config, quantization_config
from racktwin.checkpoints.plan import ShardPlan

COPIED = frozenset([".json", ".jsonl", ".txt", ".model", ".jinja", ".py", ".md", ".tiktoken"])
NAMED = frozenset(["LICENSE", "NOTICE", "USE_POLICY"])
QUANT = "hf_quant_config.json"
WRITTEN = (INDEX, "config.json", QUANT)


def copy_companions(found: Checkpoint, target: Path) -> tuple[str, ...]:
    """Copy tokenizer, chat template, licence and the like; what names they have."""
    if found.folder is None:
        return ()
    names = sorted(_companions(found.folder, target))
    for name in names:
        goal = target / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        rough = goal.with_name(goal.name + ".part")
        shutil.copyfile(found.folder / name, rough)
        os.replace(rough, goal)
    return tuple(names)


def _companions(folder: Path, target: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for file in files:
            path = Path(place, file)
            name = str(path.relative_to(folder))
            wanted = path.suffix in COPIED or path.stem in NAMED
            if wanted and not file.startswith(".") and name not in WRITTEN and path.is_file():
                yield name


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    """A config and its parts without what they say of quantization."""
    return {
        key: _plain(value) if isinstance(value, dict) else value
        for key, value in config.items()
        if key not in SETTINGS
    }


def write_configs(
    found: Checkpoint,
    target: Path,
    layout: Layout,
    kept: Sequence[str],
    plans: Sequence[ShardPlan],
    with_input: bool,
) -> tuple[str, ...]:
    """The index where there are several shards, config.json where there was one, and the like."""
    written: dict[str, Any] = {}
    if len(plans) > 1:
        size = sum(each.stored for each in plans)
        files = {name: each.file for each in plans for name in each.tensors}
        written[INDEX] = {
            "metadata": {"total_size": size},
            "weight_map": dict(sorted(files.items())),
        }
    settings = quantization_config(layout, kept, with_input)
    written["config.json"] = {**_plain(found.config), "quantization_config": settings}
    if layout.name == "modelopt":
        written[QUANT] = hf_quant_config(kept, with_input)
    for name, whole in written.items():
        rough = target / (name + ".part")
        rough.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")
        os.replace(rough, target / name)
    return tuple(written)

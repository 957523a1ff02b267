"""Settings of public benchmark launch scripts, for what a row of measurements does not say."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from racktwin.evidence import data
from racktwin.evidence.condition import matches


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Inferred settings; `rules` names the ones that set them.

    lengths: mean length over nominal length, 1. spread: see `Client`, 0 for what `lengths` says.
    waves: requests per client. kv: cache format.
    budget: tokens per step and rank, 0 for the engine's default; room: at least so many beside a
    prompt and a token per client, 0 for no such rule. held, polled, crowded: see `Client`.
    attention_data: whether every GPU of a replica keeps sequences of its own, experts over all.
    expert_parallel: whether the experts of a replica lie whole on its GPUs.
    version: of the engine, '' for what the row says.
    split_graphs: whether CUDA graphs leave attention out, which is then launched layer by layer.
    drafts: MTP tokens, `acceptance` of each, 0..1. fraction: memory flag, 0 for the epoch's.
    """

    lengths: float = 1.0
    spread: float = 0.0
    waves: int = 10
    kv: str = "bf16"
    budget: int = 0
    room: int = 0
    attention_data: bool = False
    expert_parallel: bool = False
    split_graphs: bool = False
    held: float = 0.0
    polled: float = 0.0
    crowded: bool = False
    drafts: int = 0
    acceptance: float = 0.0
    fraction: float = 0.0
    version: str = ""
    rules: tuple[str, ...] = ()


def launch(row: Mapping[str, str]) -> Launch:
    """How the row was most likely launched: every rule of data/launch.yaml that holds, in order."""
    settings: dict[str, object] = {}
    used = []
    for rule in data.load("launch")["rules"]:
        if matches(rule["where"], row):
            settings.update(rule["set"])
            used.append(rule["name"])
    return msgspec.convert({**settings, "rules": used}, Launch)

"""In which number format each part of a model is stored."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Part = Literal[
    "attention",
    "output",
    "recurrent",
    "indexer",
    "dense",
    "experts",
    "shared",
    "router",
    "norm",
    "head",
    "embedding",
    "vision",
    "mtp",
]
PARTS: tuple[Part, ...] = get_args(Part)


class Precision(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Formats (names of `formats.FORMATS`) by part of the model.

    attention: query, key and value projections; output: the projection behind attention.
    recurrent: projections of linear-attention and state-space layers.
    shared: shared experts and the projections into and out of a latent expert width.
    mtp: everything in the multi-token-prediction layers; '' means like the main layers.
    kv: the cache; state: recurrent states.
    layers: (layer index, part, format) where single layers differ from the rest.
    """

    name: str = "bf16"
    attention: str = "bf16"
    output: str = "bf16"
    recurrent: str = "bf16"
    indexer: str = "bf16"
    dense: str = "bf16"
    experts: str = "bf16"
    shared: str = "bf16"
    router: str = "bf16"
    norm: str = "bf16"
    head: str = "bf16"
    embedding: str = "bf16"
    vision: str = "bf16"
    mtp: str = ""
    kv: str = "bf16"
    state: str = "fp32"
    layers: tuple[tuple[int, str, str], ...] = ()

    @property
    def formats(self) -> set[str]:
        """Formats of the matrices that make up most of a model."""
        return {self.attention, self.dense, self.experts}

    def of(self, part: str) -> str:
        """The format of `part` where no single layer says otherwise."""
        dtype: str = getattr(self, part)
        return dtype

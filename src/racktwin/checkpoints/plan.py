"""What each shard of the output will hold, known to the byte before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import msgspec

from racktwin.checkpoints.checkpoint import Checkpoint
from racktwin.checkpoints.header import BITS
from racktwin.checkpoints.layout import Layout, Tensors
from racktwin.checkpoints.recognition import Holding
from racktwin.checkpoints.selection import Selection
from racktwin.checkpoints.shard import Shard
from racktwin.checkpoints.weight import Weight
from racktwin.checkpoints.writer import file_bytes, plan_header
from racktwin.finding import BadInput, Finding

WIDENED = (
    "BF16"  # what block-scaled FP8 that is not quantized becomes: its scales go with the config
)


class Job(msgspec.Struct, frozen=True):
    """What becomes of one tensor: 'quantize' or 'widen' its weight, or 'copy' its bytes."""

    kind: Literal["quantize", "widen", "copy"]
    name: str
    weight: Weight | None = None


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the output. bytes: of the whole file."""

    shard: Shard
    jobs: tuple[Job, ...]
    tensors: Tensors
    bytes: int

    @property
    def file(self) -> str:
        """Its name, that of the input's."""
        return self.shard.path.name

    @property
    def stored(self) -> int:
        """Bytes of the tensors."""
        header = plan_header(self.tensors, METADATA)
        return self.bytes - header.start


METADATA = {"format": "pt"}
MOST_SHOWN = 8


def plan_shards(
    found: Checkpoint,
    held: Holding,
    chosen: Selection,
    layout: Layout,
    scales: Mapping[str, object],
) -> list[ShardPlan]:
    """The shards of the output. scales: modules with a scale of their activations."""
    owner = {name: weight for weight in held.weights.values() for name in weight.tensors.values()}
    plans: list[ShardPlan] = []
    times: Counter[str] = Counter()
    for shard in found.shards:
        jobs, tensors = [], Tensors()
        for name, entry in shard.header.entries.items():
            weight = owner.get(name)
            if weight is not None and name != weight.tensors["weight"]:
                continue  # a scale: it goes into the new weight
            if weight is not None and weight.module in chosen.chosen:
                jobs.append(Job("quantize", name, weight))
                shape = (weight.shape[0], weight.shape[1])
                made = layout.tensors(weight.module, shape, weight.module in scales)
            elif weight is not None and weight.format == "fp8_block":
                jobs.append(Job("widen", name, weight))
                made = {name: (WIDENED, weight.shape)}
            else:
                jobs.append(Job("copy", name))
                made = {name: (entry.dtype, entry.shape)}
            times.update(made.keys())
            tensors |= made
        # Wide types first, so that each lies at a multiple of its own size.
        order = sorted(tensors, key=lambda name: (-BITS[tensors[name][0]], name))
        tensors = {name: tensors[name] for name in order}
        size = file_bytes(plan_header(tensors, METADATA))
        plans.append(ShardPlan(shard=shard, jobs=tuple(jobs), tensors=tensors, bytes=size))
    if clash := [name for name, count in times.items() if count > 1]:
        text = "would be written twice: it is there, and its module's weight gets one"
        raise BadInput([Finding(name, text) for name in clash[:MOST_SHOWN]], str(found.path))
    return plans

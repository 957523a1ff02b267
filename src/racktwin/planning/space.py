"""Which layouts are worth pricing on a cluster."""

from __future__ import annotations

from itertools import product

from racktwin.engine.deployment_check import unsupported
from racktwin.engine.epoch import Engine
from racktwin.hardware import Cluster
from racktwin.models.architecture import Architecture, Experts
from racktwin.models.layout import Layout, check
from racktwin.models.precision import Precision

TENSOR = (1, 2, 4, 8, 16)
ATTENTION_DATA = (1, 2, 4, 8, 16, 32, 64)
PIPELINE = (1, 2, 4, 8)
WIDEST = 64  # ranks of one expert group: EP 64 fills an NVL72 rack, and is the widest measured


def layouts(
    architecture: Architecture, precision: Precision, cluster: Cluster, gpus: int, engine: Engine
) -> list[Layout]:
    """All layouts of one replica on at most `gpus` GPUs that are legal and that `engine` can run.

    Tensor parallelism stays inside an NVLink domain; only expert groups of attention-data ranks
    may span domains. Pipelines are tried between full domains only: no published serving row uses
    one inside a domain.
    """
    domain = min(cluster.gpus_per_domain, gpus)
    found = []
    for tensor, data, pipeline in product(TENSOR, ATTENTION_DATA, PIPELINE):
        stage = tensor * data
        spans = stage > domain
        if tensor > domain or stage > WIDEST or stage * pipeline > gpus:
            continue
        if pipeline > 1 and 2 * stage <= domain:
            continue
        for expert in _expert_degrees(architecture, stage, data, spans):
            layout = Layout(
                tensor=tensor,
                pipeline=pipeline,
                attention_data=data,
                expert=expert,
                expert_tensor=stage // expert if _has_experts(architecture) else 1,
            )
            legal = all(each.note for each in check(layout, architecture, precision))
            if legal and not unsupported(layout, engine, _has_experts(architecture)):
                found.append(layout)
    return found


def _has_experts(architecture: Architecture) -> bool:
    return any(isinstance(layer.feedforward, Experts) for layer in architecture.kinds)


def _expert_degrees(
    architecture: Architecture, stage: int, data: int, spans: bool
) -> tuple[int, ...]:
    """Expert-parallel degrees to try: none or all of the stage; dense models shard nothing."""
    if not _has_experts(architecture):
        return (1,) if data == 1 else ()
    if stage == 1:
        return (1,)
    return (stage,) if spans or data > 8 else (1, stage)

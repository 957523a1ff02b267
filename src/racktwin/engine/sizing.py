"""The smallest layout of a replica that holds a model."""

from __future__ import annotations

from collections.abc import Iterator

from racktwin.finding import Finding
from racktwin.models import Architecture, Experts, Layout, Precision
from racktwin.models.layout import check


def faults(
    layout: Layout, architecture: Architecture, precision: Precision, gpus: int
) -> list[Finding]:
    """What makes a layout impossible on `gpus` GPUs; notes are left out."""
    found = [each for each in check(layout, architecture, precision) if not each.note]
    if layout.gpus > gpus:
        message = f"the layout takes {layout.gpus:,} GPUs; there are {gpus:,}"
        found.append(Finding("gpus", message))
    return found


def candidates(
    architecture: Architecture, precision: Precision, gpus: int, domain: int
) -> Iterator[Layout]:
    """Legal layouts of one replica without attention-DP, the smallest first.

    Tensor parallelism up to the NVLink `domain`, GPUs; the largest of these over more pipeline
    stages. Experts are cut like the rest, or spread whole where they cannot be cut.
    """
    widest = 0
    for tensor in _powers(min(gpus, domain)):
        layout = _legal(tensor, 1, architecture, precision, gpus)
        if layout is not None:
            widest = tensor
            yield layout
    for pipeline in range(2, len(architecture.layers) + 1) if widest else ():
        if widest * pipeline > gpus:
            return
        layout = _legal(widest, pipeline, architecture, precision, gpus)
        if layout is not None:
            yield layout


def _legal(
    tensor: int, pipeline: int, architecture: Architecture, precision: Precision, gpus: int
) -> Layout | None:
    routed = any(isinstance(layer.feedforward, Experts) for layer in architecture.kinds)
    for expert, cut in ((1, tensor), (tensor, 1)) if routed else ((1, 1),):
        layout = Layout(tensor=tensor, pipeline=pipeline, expert=expert, expert_tensor=cut)
        if not faults(layout, architecture, precision, gpus):
            return layout
    return None


def _powers(most: int) -> Iterator[int]:
    power = 1
    while power <= most:
        yield power
        power *= 2

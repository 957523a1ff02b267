"""What the images of a mean request cost before its prefill."""

from __future__ import annotations

from racktwin.engine.encoder import Encoder
from racktwin.engine.table import StepTable
from racktwin.serving.traffic import Traffic


def encoding(table: StepTable, traffic: Traffic) -> tuple[float, float]:
    """Seconds and joules per prompt; none without images, or for a model that reads none."""
    encoder = Encoder.of(table.step) if traffic.images else None
    if encoder is None:
        return 0.0, 0.0
    cost = encoder.cost(traffic.images, traffic.image_tokens)
    return float(cost.seconds) * table.step.imbalance, float(cost.joules)

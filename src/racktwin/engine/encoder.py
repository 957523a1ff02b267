"""The image encoder in front of a model: what the images of a request cost before their prefill."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from racktwin.engine import cost
from racktwin.engine.cost import Cost
from racktwin.engine.step import Step
from racktwin.models.vision import encoder_work, patches


class Encoder:
    """Prices images on the GPUs of an attention-data rank of `step`, whose model has an encoder."""

    def __init__(self, step: Step) -> None:
        vision = step.architecture.vision
        assert vision is not None
        self.step, self.vision = step, vision
        dtype = step.precision.vision
        self.work = encoder_work(vision, step.architecture.hidden, step.layout.tensor, dtype)

    @staticmethod
    def of(step: Step) -> Encoder | None:
        """The encoder of a model that has one."""
        return Encoder(step) if step.architecture.vision else None

    def cost(self, images: ArrayLike, tokens: ArrayLike) -> Cost:
        """Time (s) and energy of encoding `images` images of `tokens` tokens each, one request's.

        They are encoded together; host time is that of as many layers of the model itself
        (assumed: nothing was measured).
        """
        count, made = np.asarray(images, float), np.asarray(tokens, float)
        pieces = np.maximum(patches(self.vision, 1.0) * made, 1.0)
        work, epoch = self.work, self.step.epoch
        attended = self.step.kernels.encoder_attention(
            count, pieces, heads=work.heads, head_dim=work.head_dim
        )
        host = epoch.gap * work.layers * np.ones_like(count * made)
        parts = [
            self.step.work(count * pieces, work.patches),
            self.step.work(np.maximum(count * made, 1.0), work.tokens),
            cost.of("encoder attention", attended, epoch.attention).scaled(work.layers),
            Cost({"host": host}, np.zeros_like(host), {}),
        ]
        return cost.total(parts)

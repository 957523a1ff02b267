"""The weights of a model: every layer, what is around the layers, drafts, the image encoder."""

from __future__ import annotations

from functools import lru_cache

from racktwin.models.architecture import Architecture, Dense, Experts, Layer, Vision
from racktwin.models.mixer_weights import mixer_weights
from racktwin.models.precision import Part
from racktwin.models.weight import Weight

__all__ = ["Weight", "draft_weights", "layer_weights", "outer_weights", "vision_weights"]


@lru_cache(maxsize=4096)
def layer_weights(layer: Layer, hidden: int, streams: int = 1) -> tuple[Weight, ...]:
    """All weights of one layer, norms included."""
    weights = mixer_weights(layer.mixer, hidden)
    match layer.feedforward:
        case Dense():
            weights.append(
                _dense("dense", hidden, layer.feedforward.intermediate, layer.feedforward.gated)
            )
        case Experts():
            weights += _experts(layer.feedforward, hidden)
    halves = (layer.mixer is not None) + (layer.feedforward is not None)
    mixing = halves * _stream_mixing(hidden, streams) if streams > 1 else 0
    weights.append(Weight("norm", halves * hidden + mixing))
    return tuple(weights)


def _stream_mixing(hidden: int, streams: int) -> int:
    """Weights of one hyper-connection: a map from all streams to (2 + streams) x streams."""
    return (2 + streams) * streams * (streams * hidden + 1)


def _dense(part: Part, hidden: int, intermediate: int, gated: bool) -> Weight:
    return Weight(part, (3 if gated else 2) * hidden * intermediate, "tensor", intermediate)


def _experts(experts: Experts, hidden: int) -> list[Weight]:
    matrices = 3 if experts.gated else 2
    width = experts.latent or hidden
    routed = matrices * width * experts.intermediate
    if experts.bias:
        routed += (matrices - 1) * experts.intermediate + width
    weights = [
        Weight("router", experts.experts * (hidden + 1)),
        Weight("experts", experts.experts * routed, "experts", experts.experts),
    ]
    if experts.latent:
        weights.append(Weight("shared", 2 * hidden * width))
    if experts.shared:
        weights.append(_dense("shared", hidden, experts.shared, experts.gated))
    return weights


def outer_weights(architecture: Architecture) -> tuple[Weight, Weight, Weight]:
    """Input embedding, output head and final norm. A tied head has no weights of its own."""
    matrix = architecture.vocab * architecture.hidden
    return (
        Weight("embedding", matrix, "tensor", architecture.vocab),
        Weight("head", 0 if architecture.tied else matrix, "tensor", architecture.vocab),
        Weight("norm", architecture.hidden),
    )


def draft_weights(architecture: Architecture) -> tuple[Weight, ...]:
    """Weights of the multi-token-prediction layers; each fuses two hidden vectors into one."""
    weights: list[Weight] = []
    hidden = architecture.hidden
    for layer in architecture.mtp:
        weights += layer_weights(layer, hidden, architecture.streams)
        weights.append(Weight("mtp", 2 * hidden * hidden + 3 * hidden))
    return tuple(weights)


def vision_weights(vision: Vision, out: int) -> Weight:
    """All weights of the image encoder and its projections to width `out` (biases included)."""
    hidden, width = vision.hidden, vision.attention_width or vision.hidden
    feed = (3 if vision.gated else 2) * hidden * vision.intermediate
    block = 4 * hidden * width + 3 * width + hidden + feed + vision.intermediate + 5 * hidden
    patches = 3 * vision.frames * vision.patch**2 * hidden
    merged = hidden * vision.merge**2
    bridge = vision.mergers * merged * (merged + out) if vision.mergers else hidden * out
    elements = vision.layers * block + patches + vision.positions * hidden + bridge
    return Weight("vision", elements)

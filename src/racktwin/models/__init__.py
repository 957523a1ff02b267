"""What one forward pass computes: architecture, layout, parameters, cache."""

from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    Indexer,
    LatentAttention,
    Layer,
    Recurrent,
    Vision,
)
from racktwin.models.card import card
from racktwin.models.kv import kv_bytes_per_token, sequence_bytes, state_bytes
from racktwin.models.layout import Layout, check, legal_tensor_sizes
from racktwin.models.model import Model, model, names
from racktwin.models.parameters import (
    Parameters,
    checkpoint_bytes,
    parameters,
    weight_bytes,
    weight_parts,
)
from racktwin.models.precision import Precision
from racktwin.models.preset import preset

__all__ = [
    "Architecture",
    "Attention",
    "Dense",
    "Experts",
    "Indexer",
    "LatentAttention",
    "Layer",
    "Layout",
    "Model",
    "Parameters",
    "Precision",
    "Recurrent",
    "Vision",
    "card",
    "check",
    "checkpoint_bytes",
    "kv_bytes_per_token",
    "legal_tensor_sizes",
    "model",
    "names",
    "parameters",
    "preset",
    "sequence_bytes",
    "state_bytes",
    "weight_bytes",
    "weight_parts",
]

"""What there is to know about a model, as plain data: `racktwin show MODEL` prints it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from racktwin import catalog
from racktwin.models.architecture import (
    Architecture,
    Attention,
    Dense,
    Experts,
    FeedForward,
    LatentAttention,
    Mixer,
    Recurrent,
)
from racktwin.models.kv import kv_bytes_per_token, sequence_bytes, state_bytes
from racktwin.models.layout import legal_tensor_sizes
from racktwin.models.model import Model, model
from racktwin.models.parameters import parameters, weight_parts

PRECISIONS = ("bf16", "fp8", "nvfp4", "mxfp4", "int4")


def card(name: str | Path | Model) -> dict[str, Any]:
    """The card of a model: counts of elements, sizes in bytes, and where the figures come from.

    weights: bytes by precision, whole model, without draft layers. kv_bytes_per_token: one GPU
    holding all heads; 'hybrid' keeps only the window of windowed layers.
    """
    found = name if isinstance(name, Model) else model(name)
    architecture = found.architecture
    counts = parameters(architecture)
    precisions = {"checkpoint": found.precision} | {each: found.at(each) for each in PRECISIONS}
    return {
        "name": found.name,
        "title": found.title,
        "context": architecture.context,
        "hidden": architecture.hidden,
        "vocab": architecture.vocab,
        "layers": _layers(architecture),
        "draft_layers": len(architecture.mtp),
        "parameters": {
            "total": counts.total,
            "active": counts.active,
            "active_counts": "layers and head, without input embedding, image encoder, drafts",
            "embedding": counts.embedding,
            "head": counts.head,
            "vision": counts.vision,
            "draft": counts.mtp,
            "parts": counts.parts,
        },
        "checkpoint": found.precision.name,
        "weights": {
            label: weight_parts(architecture, precision) for label, precision in precisions.items()
        },
        "kv_bytes_per_token": _cache(architecture),
        "kv_bytes_at_context": {
            pool: sequence_bytes(architecture, architecture.context, pool=pool)
            for pool in ("uniform", "hybrid")
        },
        "state_bytes_per_sequence": state_bytes(architecture, found.precision.state),
        "tensor_sizes": [size for size in legal_tensor_sizes(architecture, "copied") if size <= 72],
        "kind": found.kind,
        "source": found.source,
        "sources": _sources(found),
        "notes": [str(note) for note in found.notes],
    }


def _cache(architecture: Architecture) -> dict[str, dict[str, float]]:
    return {
        dtype: {
            pool: kv_bytes_per_token(architecture, dtype, pool=pool)
            for pool in ("uniform", "hybrid")
        }
        for dtype in ("bf16", "fp8")
    }


def _layers(architecture: Architecture) -> list[dict[str, Any]]:
    """How often each kind of layer stands in the model, most frequent first."""
    return [
        {
            "count": count,
            "mixer": describe_mixer(layer.mixer),
            "feedforward": describe_feedforward(layer.feedforward),
        }
        for layer, count in architecture.kinds.most_common()
    ]


def describe_mixer(mixer: Mixer | None) -> str:
    """A mixer in a few words: 'attention, 64 heads x 128, 8 key-value heads, window 128'."""
    match mixer:
        case None:
            return ""
        case Attention():
            text = f"attention, {mixer.heads} heads x {mixer.head_dim}"
            text += f", {mixer.kv_heads} key-value heads"
            text += f", window {mixer.window:,}" if mixer.window else ""
        case LatentAttention():
            text = f"latent attention, {mixer.heads} heads, {mixer.cache_width} values a token"
            if mixer.compress_ratio > 1:
                text += f", 1 entry for {mixer.compress_ratio} tokens"
            text += f", window {mixer.window:,}" if mixer.window else ""
        case Recurrent():
            text = f"{mixer.kind}, {mixer.value_heads} heads, state {mixer.key_dim} x "
            return text + f"{mixer.value_dim}"
    index = mixer.indexer
    if index:
        text += f", {'shares a choice of' if index.shared else 'chooses'} {index.top_k:,} tokens"
    return text


def describe_feedforward(feed: FeedForward | None) -> str:
    """A feed-forward in a few words: '128 experts x 1,536, 8 a token, softmax gate'."""
    match feed:
        case Dense():
            return f"dense {feed.intermediate:,}" + ("" if feed.gated else ", ungated")
        case Experts():
            text = f"{feed.experts:,} experts x {feed.intermediate:,}, {feed.top_k} a token"
            text += f", shared {feed.shared:,}" if feed.shared else ""
            text += f", in width {feed.latent:,}" if feed.latent else ""
            return text + ("" if feed.gated else ", ungated") + f", {feed.gate} gate"
    return ""


def _sources(found: Model) -> list[dict[str, Any]]:
    """Every fact the card rests on, with its origin."""
    if found.kind == "given":
        return [{"key": "config", "kind": "given", "source": found.source, "date": "", "note": ""}]
    facts = catalog.load("models", found.name).facts()
    return [
        {
            "key": fact.key,
            "value": fact.value if isinstance(fact.value, int | float) else None,
            "kind": fact.kind,
            "source": fact.source,
            "date": fact.date,
            "note": fact.note,
        }
        for fact in facts
        if fact.source
    ]

"""The mixer of every layer, from the attention keys of a config.json."""

from __future__ import annotations

from typing import Any

import msgspec

from racktwin.models.architecture import Attention, Indexer, Mixer
from racktwin.models.fields import HIDDEN, Fields, shown
from racktwin.models.read_latent import read_compressed, read_latent
from racktwin.models.read_recurrent import read_recurrent

FULL = {"full_attention", "attention", "full", "global", "deepseek_sparse_attention"}
SLIDING = {"sliding_attention", "sliding", "local", "swa", "chunked_attention"}
LINEAR = {"linear_attention", "linear", "mamba", "mamba2", "lightning", "kda", "recurrent"}


def read_mixers(fields: Fields, layers: int) -> list[Mixer]:
    """The mixer of each of `layers` layers."""
    if fields.has("compress_ratios"):
        return read_compressed(fields, layers)
    if fields.has("kv_lora_rank"):
        return read_latent(fields, layers, layer_kinds(fields, layers))
    kinds = layer_kinds(fields, layers)
    found: dict[str, Mixer] = {}
    for kind in set(kinds):
        if kind == "linear":
            found[kind] = read_recurrent(fields)
        else:
            found[kind] = read_attention(fields, sliding=kind == "sliding")
    mixers = [found[kind] for kind in kinds]
    mixers = _with_block_indexer(fields, mixers)
    return _with_shared_cache(fields, mixers)


def layer_kinds(fields: Fields, layers: int) -> list[str]:
    """'full', 'sliding' or 'linear' for every layer."""
    listed = fields.items("layer_types", "layers_block_type", length=layers)
    if listed is not None:
        return [_kind(fields, name) for name in listed[:layers]]
    for key, names in (
        ("hybrid_layer_pattern", {0: "full", 1: "sliding"}),  # MiMo
        ("attn_type_list", {0: "linear", 1: "full"}),  # MiniMax
    ):
        pattern = fields.items(key, length=layers)
        if pattern is not None:
            return [_numbered(fields, key, value, names) for value in pattern[:layers]]
    if fields.has("full_attention_interval"):
        every = fields.integer("full_attention_interval")
        return ["full" if (index + 1) % every == 0 else "linear" for index in range(layers)]
    return _windowed_kinds(fields, layers)


def _kind(fields: Fields, name: Any) -> str:
    for kind, names in (("full", FULL), ("sliding", SLIDING), ("linear", LINEAR)):
        if isinstance(name, str) and name in names:
            return kind
    fields.fault("layer_types", f"layer type {shown(name)} is not known")
    return "full"


def _numbered(fields: Fields, key: str, value: Any, names: dict[int, str]) -> str:
    if isinstance(value, int) and value in names:
        return names[value]
    fields.fault(key, f"expected 0 or 1, found {shown(value)}")
    return "full"


def _windowed_kinds(fields: Fields, layers: int) -> list[str]:
    """Kinds of a model that says only how wide its window is, and at which period."""
    family = fields.text("model_type")
    chunked = fields.has("attention_chunk_size") and family.startswith("llama4")
    if not chunked and not (
        fields.has("sliding_window") and fields.flag("use_sliding_window", default=True)
    ):
        return ["full"] * layers
    if chunked:
        every = fields.integer("no_rope_layer_interval", default=4)
    else:
        every = fields.integer(
            "sliding_window_pattern",
            "_sliding_window_pattern",
            default={"gpt_oss": 2, "gemma2": 2, "gemma3_text": 6}.get(family, 0),
            low=0,
        )
    first = fields.integer("max_window_layers", default=0, low=0) if family == "qwen2" else 0
    return [
        "full" if index < first or (every and (index + 1) % every == 0) else "sliding"
        for index in range(layers)
    ]


def read_attention(fields: Fields, *, sliding: bool) -> Attention:
    """Grouped-query attention of the full or of the windowed layers, which may differ in shape."""
    hidden = fields.integer(*HIDDEN)
    heads = fields.integer("num_attention_heads", "n_head", "n_heads", "num_heads")
    kv_heads = fields.integer(
        "num_key_value_heads",
        "num_kv_heads",
        "num_attention_groups",
        "n_head_kv",
        "n_query_groups",
        default=1 if fields.flag("multi_query") else heads,
    )
    head_dim = fields.integer(
        "head_dim",
        "attention_head_dim",
        "head_size",
        "kv_channels",
        default=max(1, hidden // heads),
    )
    value_dim = fields.integer("v_head_dim", default=0, low=0)
    tied = False
    family = fields.text("model_type")
    if sliding:
        heads = fields.integer("swa_num_attention_heads", default=heads)
        kv_heads = fields.integer("swa_num_key_value_heads", default=kv_heads)
        head_dim = fields.integer("swa_head_dim", default=head_dim)
        value_dim = fields.integer("swa_v_head_dim", default=value_dim, low=0)
    elif fields.has("global_head_dim"):
        head_dim = fields.integer("global_head_dim")
        kv_heads = fields.integer("num_global_key_value_heads", default=kv_heads)
        tied = fields.flag("attention_k_eq_v")
    if kv_heads > heads or heads % kv_heads:
        fields.fault(
            "num_key_value_heads",
            f"{heads} attention heads cannot share {kv_heads} key-value heads",
        )
    return Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=0 if value_dim == head_dim else value_dim,
        window=_window(fields) if sliding else 0,
        bias=fields.flag("attention_bias", "qkv_bias") or family.startswith("qwen2"),
        qk_norm=fields.flag("use_qk_norm") or family.startswith("qwen3"),
        wide_norm=fields.flag("use_qk_norm") and family == "minimax_m2",
        output_gate=fields.flag(
            "attn_output_gate", "attention_output_gate", default=family == "qwen3_next"
        ),
        tied_value=tied,
    )


def _window(fields: Fields) -> int:
    """Tokens a windowed layer sees; 0 when the window is no shorter than the context."""
    if fields.text("model_type").startswith("llama4"):
        window = fields.integer("attention_chunk_size", default=8192)
    else:
        window = fields.integer("sliding_window", "sliding_window_size", "attention_chunk_size")
    context = fields.integer("max_position_embeddings", default=0, low=0)
    return 0 if 0 < context <= window else window


def _with_block_indexer(fields: Fields, mixers: list[Mixer]) -> list[Mixer]:
    """MiniMax-M3: from some layer on, attention reads only the blocks an indexer chooses."""
    sparse = fields.section("sparse_attention_config")
    if sparse is None or not sparse.flag("use_sparse_attention", default=True):
        return mixers
    blocks = sparse.integer("sparse_topk_blocks") * sparse.integer("sparse_block_size")
    indexer = Indexer(
        heads=sparse.integer("sparse_num_index_heads"),
        head_dim=sparse.integer("sparse_index_dim"),
        top_k=blocks,
    )
    used = sparse.items("sparse_attention_freq", length=len(mixers)) or [1] * len(mixers)
    return [
        msgspec.structs.replace(mixer, indexer=indexer)
        if use and isinstance(mixer, Attention)
        else mixer
        for mixer, use in zip(mixers, used, strict=False)
    ]


def _with_shared_cache(fields: Fields, mixers: list[Mixer]) -> list[Mixer]:
    """Gemma 3n: the last layers read the cache of earlier ones."""
    shared = fields.integer("num_kv_shared_layers", default=0, low=0, high=len(mixers))
    keep = len(mixers) - shared
    return [
        msgspec.structs.replace(mixer, shared_cache=True)
        if index >= keep and isinstance(mixer, Attention)
        else mixer
        for index, mixer in enumerate(mixers)
    ]

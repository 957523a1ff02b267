"""Latent attention from a config.json: DeepSeek MLA, its sparse and its compressed forms."""

from __future__ import annotations

from racktwin.models.architecture import Indexer, LatentAttention, Mixer
from racktwin.models.fields import Fields, shown
from racktwin.models.read_recurrent import read_kimi_delta, read_recurrent


def read_latent(fields: Fields, layers: int, kinds: list[str]) -> list[Mixer]:
    """Latent attention in all layers, or in the few that linear layers leave.

    kinds: 'full' or 'linear' for every layer, as the config lists them.
    """
    linear = fields.section("linear_attn_config")
    recurrent: Mixer | None = None
    where: set[int] = set()
    if linear is not None:  # Kimi counts layers from 1
        where = {number - 1 for number in linear.whole_numbers("kda_layers")}
        recurrent = read_kimi_delta(linear)
    elif "linear" in kinds:
        where = {index for index, kind in enumerate(kinds) if kind == "linear"}
        recurrent = read_recurrent(fields)
    shared = _shared_indexers(fields, layers)
    plain, sharing = (_latent(fields, reuse) for reuse in (False, True))
    return [
        recurrent
        if recurrent is not None and index in where
        else sharing
        if shared[index]
        else plain
        for index in range(layers)
    ]


def _shared_indexers(fields: Fields, layers: int) -> list[bool]:
    """Which layers reuse the token choice of an earlier layer."""
    listed = fields.items("indexer_types", length=layers)
    if listed is not None:
        return [value == "shared" for value in listed[:layers]]
    every = fields.integer("index_topk_freq", default=1)
    first = fields.integer("index_skip_topk_offset", default=0, low=0)
    return [index >= first and (index + 1 - first) % every != 0 for index in range(layers)]


def _latent(fields: Fields, shared_indexer: bool) -> LatentAttention:
    index = None
    if fields.has("index_topk"):
        index = Indexer(
            heads=fields.integer("index_n_heads"),
            head_dim=fields.integer("index_head_dim"),
            top_k=fields.integer("index_topk"),
            shared=shared_indexer,
        )
    return LatentAttention(
        heads=fields.integer("num_attention_heads"),
        q_rank=fields.integer("q_lora_rank", default=0, low=0),
        kv_rank=fields.integer("kv_lora_rank"),
        rope_dim=fields.integer("qk_rope_head_dim", low=0),
        nope_dim=fields.integer("qk_nope_head_dim"),
        value_dim=fields.integer("v_head_dim"),
        indexer=index,
        output_gate=fields.flag("mla_use_output_gate"),
    )


def read_compressed(fields: Fields, layers: int) -> list[Mixer]:
    """DeepSeek-V4: each layer's ratio says whether it keeps a window, 1 in 4 or 1 in 128."""
    ratios = fields.items("compress_ratios", length=layers) or [0] * layers
    width = fields.integer("head_dim")
    rope = fields.integer("qk_rope_head_dim", high=width)
    index = Indexer(
        heads=fields.integer("index_n_heads"),
        head_dim=fields.integer("index_head_dim"),
        top_k=fields.integer("index_topk"),
    )
    found: dict[int, Mixer] = {}
    for ratio in ratios[:layers]:
        if isinstance(ratio, bool) or not isinstance(ratio, int) or ratio < 0:
            fields.fault("compress_ratios", f"expected whole numbers, found {shown(ratio)}")
            return [_single(fields, 0, width, rope, None)] * layers
        if ratio not in found:
            # Only the finest ratio is long enough to need a choice of tokens.
            found[ratio] = _single(fields, ratio, width, rope, index if ratio == 4 else None)
    return [found[ratio] for ratio in ratios[:layers]]


def _single(
    fields: Fields, ratio: int, width: int, rope: int, index: Indexer | None
) -> LatentAttention:
    return LatentAttention(
        heads=fields.integer("num_attention_heads"),
        q_rank=fields.integer("q_lora_rank"),
        kv_rank=width - rope,
        rope_dim=rope,
        nope_dim=width - rope,
        value_dim=width,
        indexer=index,
        compress_ratio=ratio,
        window=fields.integer("sliding_window"),
        single=True,
        output_rank=fields.integer("o_lora_rank"),
        output_groups=fields.integer("o_groups"),
    )

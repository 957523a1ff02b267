"""The image encoder of a vision-language model, from its vision_config."""

from __future__ import annotations

from racktwin.models.architecture import Vision
from racktwin.models.fields import Fields


def read_vision(fields: Fields) -> Vision | None:
    """The encoder that `fields` (a whole config) describes, or None for a text model."""
    here = fields.section("vision_config")
    if here is None or not here.has(*LAYERS):
        return None
    listed = here.items("merge_kernel_size")
    compression = here.section("img_token_compression_config")
    whole = fields.integer("spatial_merge_size", default=1)  # Mistral 3
    merge = here.integer("spatial_merge_size", "pooling_kernel_size", default=whole)
    patch = here.integer("patch_size", "spatial_patch_size", default=14)
    pooled = fields.integer("mm_tokens_per_image", default=0, low=0)  # Gemma 3
    if listed and isinstance(listed[0], int) and 0 < listed[0] < 100:
        merge = listed[0]
    elif compression is not None:
        merge = compression.integer("spatial_merge_size", default=1)
    elif (share := here.number("pixel_shuffle_ratio", default=1.0, low=0.01, high=1.0)) < 1:
        merge = round(1 / share)  # Llama 4: a half makes one token of 2 x 2 patches
    elif pooled and here.has("image_size"):
        merge = max(1, round(here.integer("image_size") / patch / pooled**0.5))
    hidden = here.integer("vt_hidden_size", "embed_dim", "hidden_size")
    gated = here.text("model_type").startswith(("qwen2_5_vl", "gemma4", "pixtral"))
    deep = here.items("deepstack_visual_indexes") or []
    return Vision(
        layers=here.integer(*LAYERS, high=1000),
        hidden=hidden,
        heads=here.integer("vt_num_attention_heads", "num_attention_heads", "num_heads"),
        intermediate=here.integer("vt_intermediate_size", "intermediate_size", default=4 * hidden),
        patch=patch,
        merge=merge,
        gated=gated,
        frames=here.integer("temporal_patch_size", default=1),
        positions=here.integer("num_position_embeddings", "position_embedding_size", default=0),
        mergers=0 if pooled or here.has("pooling_kernel_size") else 1 + len(deep),
        attention_width=here.integer("qkv_hidden_size", default=0, low=0),
    )


LAYERS = ("vt_num_hidden_layers", "depth", "num_hidden_layers", "layers")

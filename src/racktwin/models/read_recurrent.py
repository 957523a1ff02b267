"""Linear-attention and state-space layers from a config.json."""

from __future__ import annotations

from racktwin.models.architecture import Recurrent
from racktwin.models.fields import Fields


def read_recurrent(fields: Fields) -> Recurrent:
    """The linear-attention layer of a hybrid (Qwen3.5 gated delta, MiniMax lightning)."""
    if fields.has("linear_num_value_heads"):
        return Recurrent(
            kind="gated-delta",
            key_heads=fields.integer("linear_num_key_heads"),
            value_heads=fields.integer("linear_num_value_heads"),
            key_dim=fields.integer("linear_key_head_dim"),
            value_dim=fields.integer("linear_value_head_dim"),
            conv=fields.integer("linear_conv_kernel_dim", default=4),
        )
    if fields.has("mamba_num_heads", "mamba_n_heads"):
        return read_mamba(fields)
    heads = fields.integer("num_attention_heads")
    width = fields.integer("head_dim", default=max(1, fields.integer("hidden_size") // heads))
    return Recurrent(
        kind="lightning", key_heads=heads, value_heads=heads, key_dim=width, value_dim=width, conv=0
    )


def read_mamba(fields: Fields) -> Recurrent:
    """The Mamba-2 layer of a hybrid (Nemotron-H, Granite, Bamba)."""
    return Recurrent(
        kind="mamba2",
        key_heads=fields.integer("n_groups", "mamba_n_groups", default=1),
        value_heads=fields.integer("mamba_num_heads", "mamba_n_heads"),
        key_dim=fields.integer("ssm_state_size", "mamba_d_state"),
        value_dim=fields.integer("mamba_head_dim", "mamba_d_head"),
        conv=fields.integer("conv_kernel", "mamba_d_conv", default=4),
    )


def read_kimi_delta(fields: Fields) -> Recurrent:
    """Kimi delta attention: as many key as value heads."""
    heads, width = fields.integer("num_heads"), fields.integer("head_dim")
    return Recurrent(
        kind="kimi-delta",
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        conv=fields.integer("short_conv_kernel_size", default=4),
    )

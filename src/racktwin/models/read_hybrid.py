"""Models whose layers are listed one by one: Nemotron-H patterns and Nemotron NAS blocks."""

from __future__ import annotations

from racktwin.models.architecture import Attention, Dense, Layer
from racktwin.models.fields import Fields, shown
from racktwin.models.read_attention import read_attention
from racktwin.models.read_feedforward import read_dense, read_experts
from racktwin.models.read_recurrent import read_mamba

SIGNS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def read_pattern(fields: Fields, prefix: str = "") -> tuple[Layer, ...]:
    """Layers of a Nemotron-H hybrid: each is a mixer or a feed-forward, never both.

    prefix: 'mtp_' reads the pattern of the multi-token-prediction layers.
    """
    listed = fields.items(f"{prefix}layers_block_type")
    pattern = fields.text(f"{prefix}hybrid_override_pattern")
    names = listed if listed is not None else [SIGNS.get(sign, sign) for sign in pattern]
    found: dict[str, Layer] = {}
    layers = []
    for name in names[:4096]:
        if not isinstance(name, str) or name not in SIGNS.values():
            fields.fault(f"{prefix}layers_block_type", f"layer type {shown(name)} is not known")
            return ()
        if name not in found:
            found[name] = _pattern_layer(fields, name)
        layers.append(found[name])
    stated = fields.integer("num_hidden_layers", default=len(layers))
    if not prefix and stated != len(layers):
        fields.fault("num_hidden_layers", f"{stated}, but the pattern lists {len(layers)} layers")
    return tuple(layers)


def _pattern_layer(fields: Fields, name: str) -> Layer:
    match name:
        case "mamba":
            return Layer(read_mamba(fields), None)
        case "attention":
            return Layer(read_attention(fields, sliding=False), None)
        case "moe":
            return Layer(None, read_experts(fields))
    return Layer(None, read_dense(fields))


def read_blocks(fields: Fields, layers: int) -> tuple[Layer, ...]:
    """Layers of a network found by architecture search (Llama-Nemotron Super and Ultra)."""
    blocks = fields.items("block_configs", length=layers) or []
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    result = []
    for index, block in enumerate(blocks[:layers]):
        here = Fields(block, fields.findings, f"block_configs.{index}.")
        result.append(Layer(_block_attention(here, hidden, heads), _block_dense(here, hidden)))
    return tuple(result)


def _block_attention(block: Fields, hidden: int, heads: int) -> Attention | None:
    attention = block.section("attention")
    if attention is None or attention.flag("no_op"):
        return None
    return Attention(
        heads=heads,
        kv_heads=max(1, heads // attention.integer("n_heads_in_group")),
        head_dim=max(1, hidden // heads),
        window=attention.integer("window_length", default=0, low=0),
    )


def _block_dense(block: Fields, hidden: int) -> Dense | None:
    feed = block.section("ffn")
    if feed is None or feed.flag("no_op"):
        return None
    if feed.has("intermediate_size"):
        return Dense(intermediate=feed.integer("intermediate_size"))
    # DeciLM: two thirds of the multiple, rounded up to 256.
    width = int(2 * feed.number("ffn_mult", default=4.0, high=1000) * hidden / 3)
    return Dense(intermediate=max(256, -(-width // 256) * 256))

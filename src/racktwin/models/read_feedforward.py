"""The feed-forward of every layer, from the dense and expert keys of a config.json."""

from __future__ import annotations

from typing import Literal

from racktwin.models.architecture import Dense, Experts, FeedForward
from racktwin.models.fields import HIDDEN, Fields

COUNT = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
UNGATED_FAMILIES = {
    *("gpt2", "gpt_neox", "gptj", "gpt_bigcode", "codegen", "falcon", "opt", "bloom", "mpt", "phi"),
    *("starcoder2", "nemotron", "persimmon"),
}


def read_feedforwards(fields: Fields, layers: int) -> list[FeedForward]:
    """The feed-forward of each of `layers` layers."""
    routed = _routed_layers(fields, layers)
    experts = read_experts(fields) if any(routed) else None
    dense = read_dense(fields, beside=experts) if not all(routed) else None
    return [
        experts
        if experts is not None and route
        else dense
        if dense is not None
        else Dense(intermediate=1)
        for route in routed
    ]


def _routed_layers(fields: Fields, layers: int) -> list[bool]:
    """Which layers have experts."""
    if not _has_experts(fields):
        return [False] * layers
    listed = fields.items("mlp_layer_types", length=layers)
    if listed is not None:
        return [value == "sparse" for value in listed[:layers]]
    freq = fields.values.get("moe_layer_freq")
    if isinstance(freq, list):
        flags = fields.items("moe_layer_freq", length=layers) or [0] * layers
        return [bool(value) for value in flags[:layers]]
    chosen = fields.whole_numbers("moe_layers")
    if chosen:
        return [index in chosen for index in range(layers)]
    first = fields.integer(
        "first_k_dense_replace", "moe_layer_start_index", default=0, low=0, high=10**4
    )
    every = fields.integer(
        "interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq", default=1
    )
    dense = fields.whole_numbers("mlp_only_layers")
    # DeepSeek counts from layer 0, Llama 4 and Qwen from layer 1: layer `every` - 1 is the first.
    phase = 0 if fields.has("first_k_dense_replace") else every - 1
    return [
        index >= first and index not in dense and index % every == phase for index in range(layers)
    ]


def _has_experts(fields: Fields) -> bool:
    if fields.values.get("enable_moe_block") is False or not fields.has(*COUNT):
        return False
    return fields.integer(*COUNT, low=0) > 1


def read_dense(fields: Fields, beside: Experts | None = None) -> Dense:
    """The dense feed-forward; `beside` are the experts of the model's other layers."""
    names = ["intermediate_size", "n_inner", "ffn_hidden_size", "d_ff"]
    if beside is not None:
        names = ["intermediate_size_mlp", "dense_intermediate_size", *names]
    hidden = fields.integer(*HIDDEN)
    return Dense(
        intermediate=fields.integer(*names, default=4 * hidden if _ungated(fields) else None),
        gated=not _ungated(fields),
    )


def _ungated(fields: Fields) -> bool:
    squared = fields.text("mlp_hidden_act", "hidden_act", "activation_function") == "relu2"
    return squared or fields.text("model_type") in UNGATED_FAMILIES


def read_experts(fields: Fields) -> Experts:
    """The routed and shared experts of one layer."""
    count = fields.integer(*COUNT)
    top_k = fields.integer(
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "top_k_experts",
        "moe_top_k",
        "moe_k",
        "moe_topk",
    )
    if top_k > count:
        fields.fault("num_experts_per_tok", f"a token cannot go to {top_k} of {count} experts")
    intermediate = fields.integer(
        "moe_intermediate_size", "expert_intermediate_size", "intermediate_size"
    )
    return Experts(
        experts=count,
        top_k=min(top_k, count),
        intermediate=intermediate,
        shared=_shared(fields, intermediate),
        gated=not _ungated(fields),
        gate=_gate(fields),
        latent=fields.integer("moe_latent_size", "routed_expert_hidden_size", default=0, low=0),
        bias=fields.text("model_type") == "gpt_oss",
    )


def _shared(fields: Fields, intermediate: int) -> int:
    """Total width of the shared experts."""
    family = fields.text("model_type")
    if family.startswith("llama4"):
        return fields.integer("intermediate_size")
    if fields.flag("enable_moe_block"):  # Gemma 4: a dense feed-forward beside the experts
        return fields.integer("intermediate_size")
    count = fields.integer(
        "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=-1, low=0
    )
    width = fields.integer(
        "moe_shared_expert_intermediate_size",
        "shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
        default=-1,
        low=0,
    )
    if count == 0 or (count < 0 and width < 0):
        return 0
    if width < 0:
        return count * intermediate
    return width if count < 0 else width * count


def _gate(fields: Fields) -> Literal["softmax", "sigmoid", "sqrt-softplus"]:
    name = fields.text(
        "scoring_func", "score_func", "moe_router_activation_func", "router_activation_func"
    )
    match name:
        case "":
            sigmoid = fields.text("model_type").startswith(("llama4", "nemotron_h", "glm4"))
            return "sigmoid" if sigmoid else "softmax"
        case "softmax" | "sigmoid":
            return name
        case "sqrtsoftplus":
            return "sqrt-softplus"
    fields.fault("scoring_func", f"{name!r} is not known; expected softmax or sigmoid")
    return "softmax"

"""Which part of which layer a module name, or a pattern of names, in a quantization file means.

Names differ by family; their words do not. Patterns are sorted by words and never compiled.
"""

from __future__ import annotations

import re

LINEAR = ("attention", "output", "recurrent", "indexer", "dense", "experts", "shared")
LONGEST = 300  # letters of a module name
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"lm_head|^head$", ("head",)),
    (r"embed|wte", ("embedding",)),
    (
        r"linear_attn\.in_proj_[ab]$|norm|conv1d|e_score|hc_|indexers_proj|gate$|router|shared_expert_gate",
        (),
    ),
    (r"indexer|index_[qk]", ("indexer",)),
    (r"shared_?experts?|share_expert|latent_proj", ("shared",)),
    (r"experts", ("experts",)),
    (r"linear_attn|mixer\.(in|out)_proj|mamba", ("recurrent",)),
    (r"o_proj|wo_b|wo_a|attn\.wo|out_proj|c_proj|dense$", ("output",)),
    (r"(^|\.)(q|qkv|q_b|wq|wq_b|qkv_proj|q_proj|q_b_proj|c_attn|query_key_value)$", ("attention",)),
    (r"(^|\.)(k|v|kv_b|kv_a|q_a|wkv|wq_a)(_proj)?(_with_mqa)?$", ()),
    (r"attn|attention", ("attention", "output", "indexer")),
    (r"(mlp|mixer|feed_forward|ffn|block_sparse_moe)[.\\(|\w]*(gate|up|down|w\d|fc\d)", ("dense",)),
    (r"mlp\*?$|ffn\*?$|feed_forward\*?$", ("dense", "experts", "shared")),
    (r"^$", LINEAR),
)
OUTSIDE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"^mtp|\.mtp|nextn", ("mtp",)),
    (r"vision|visual|mm_projector|multi_modal|patch_merge", ("vision",)),
)
LAYER = re.compile(r"layers\.(\d+)(?:\*|\.\*)?$|layers\.(\d+)\.(.*)$|layers\.\*\.(.*)$")


def places(pattern: str) -> tuple[int, tuple[str, ...]]:
    """(layer or -1 for all, parts) that a module name or pattern of a quantization file means."""
    if len(pattern) > LONGEST:
        return -1, ()
    for words, parts in OUTSIDE:
        if re.search(words, pattern):
            return -1, parts
    found = LAYER.search(pattern)
    layer, rest = -1, pattern
    if found:
        number = found[1] or found[2]
        layer = int(number) if number and len(number) < 6 else -1
        rest = "" if found[1] else (found[3] or found[4] or "")
    rest = rest.removeprefix("re:").strip(".*")
    for words, parts in WORDS:
        if re.search(words, rest):
            return layer, parts
    return layer, ()

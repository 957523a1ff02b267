"""How long an engine takes to start, and what it then prints about its cache."""

from __future__ import annotations

from racktwin.engine.convention import Convention
from racktwin.engine.memory import MemoryFit
from racktwin.units import GIB


def seconds(fit: MemoryFit, rule: Convention) -> float:
    """From the start of the process until it serves, s."""
    return float(rule.start + fit.weights / rule.loading)


def lines(fit: MemoryFit, rule: Convention, max_len: int) -> tuple[str, ...]:
    """The lines to look for in the engine's log; max_len: tokens of the longest request."""
    if not fit.loads:
        return ()
    match rule.name:
        case "sglang":
            return _sglang(fit, rule)
        case "trtllm":
            return _trtllm(fit, max_len)
    return _vllm(fit, max_len)


def _vllm(fit: MemoryFit, max_len: int) -> tuple[str, ...]:
    served = fit.sequences(max_len)
    found = (
        f"Available KV cache memory: {fit.kv_room / GIB:.2f} GiB",
        f"GPU KV cache size: {fit.kv_tokens:,} tokens",
        f"Maximum concurrency for {max_len:,} tokens per request: {served:.2f}x",
    )
    if fit.cache.windows or fit.cache.recurrent:
        later = f"GPU KV cache size: {int(served * max_len):,} tokens (newest releases)"
        return (*found, later)
    return found


def _sglang(fit: MemoryFit, rule: Convention) -> tuple[str, ...]:
    """SGLang prints GiB as 'GB'."""
    tokens = fit.kv_tokens
    if fit.cache.shared:
        smaller = int(tokens * rule.window_share)
        return (f"full_layer_tokens={tokens}, swa_layer_tokens={smaller}",)
    keys = tokens * fit.cache.key / GIB
    values = tokens * fit.cache.charged / GIB - keys
    if not keys:
        return (f"KV Cache is allocated. #tokens: {tokens}, KV size: {values:.2f} GB",)
    return (
        f"KV Cache is allocated. #tokens: {tokens}, K size: {keys:.2f} GB, V size: {values:.2f} GB",
    )


def _trtllm(fit: MemoryFit, max_len: int) -> tuple[str, ...]:
    size = fit.kv_tokens * fit.kv_bytes_per_token / GIB
    longest = int(min(max_len, fit.longest))
    return (
        f"Max KV cache blocks per sequence: {-(-longest // fit.block)} [window size={longest}], "
        f"primary blocks={fit.kv_blocks}",
        f"[MemUsageChange] Allocated {size:.2f} GiB for max tokens in paged KV cache "
        f"({fit.kv_tokens}).",
    )

"""vLLM: `vllm serve` and vllm-router.

Flags: docs.vllm.ai, data parallel deployment, expert parallel deployment, parallelism and scaling,
NixlConnector usage, 0.19. --max-num-seqs and --max-num-batched-tokens hold per data-parallel rank.
"""

from __future__ import annotations

import json

from racktwin.engine.deployment import Deployment
from racktwin.export.group import Group, cache_word
from racktwin.export.router import router
from racktwin.export.script import Flag, Shell, place, script

DOCUMENTATION = "Flags as in vLLM 0.19, docs.vllm.ai."
KV_DTYPES = {"fp8": "fp8", "bf16": "bfloat16", "fp16": "float16", "nvfp4": "nvfp4"}
ALL_TO_ALL = {
    "prefill": "deepep_high_throughput",
    "decode": "deepep_low_latency",
    "serve": "deepep_low_latency",
}
RPC_PORT = 13345
HANDSHAKE_PORT = 5600  # NIXL; one for each data-parallel rank of a host, counting up


def files(deployment: Deployment, groups: list[Group]) -> dict[str, str]:
    """The start script of every pool, and the router's."""
    out = {f"{group.role}.sh": _server(deployment, group) for group in groups}
    if deployment.serve is None or groups[0].pool.replicas > 1:
        words = "--vllm-pd-disaggregation --kv-connector nixl"
        head = "vllm-router (github.com/vllm-project/router)."
        out["router.sh"] = router(deployment, groups, "vllm-router", words, head)
    return out


def _server(deployment: Deployment, group: Group) -> str:
    spread, setup, tail = _spread(group)
    flags = {
        "--host": "0.0.0.0",
        "--port": Shell("$port"),
        **_layout(group),
        **spread,
        **_limits(deployment, group),
    }
    lines = [*place(group.checkpoint, group.span), *setup]
    if group.role != "serve":
        first = (
            f"$(({HANDSHAKE_PORT} + (port - ${{PORT:-8000}}) * {group.pool.layout.attention_data}))"
        )
        lines.append('export VLLM_NIXL_SIDE_CHANNEL_HOST="${HOST_ADDR:-$(hostname)}"')
        lines.append(f'export VLLM_NIXL_SIDE_CHANNEL_PORT="{first}"')
        role = "kv_producer" if group.role == "prefill" else "kv_consumer"
        flags["--kv-transfer-config"] = json.dumps(
            {"kv_connector": "NixlConnector", "kv_role": role}
        )
    head = [*group.notes, DOCUMENTATION]
    return script(head, lines, 'vllm serve "$model"', flags, tail)


def _layout(group: Group) -> dict[str, Flag]:
    layout = group.pool.layout
    together = group.experts > 0 and layout.expert > 1
    flags: dict[str, Flag] = {
        "--tensor-parallel-size": layout.tensor,
        "--pipeline-parallel-size": layout.pipeline,
        "--data-parallel-size": layout.attention_data,
        "--enable-expert-parallel": together,
    }
    if together and group.pool.spare_experts:
        flags["--enable-eplb"] = True
        spare = {"num_redundant_experts": group.pool.spare_experts}
        flags["--eplb-config"] = json.dumps(spare)
    if together and group.span.hosts > 1 and layout.attention_data > 1:
        flags["--all2all-backend"] = ALL_TO_ALL[group.role]
    return flags


def _spread(group: Group) -> tuple[dict[str, Flag], list[str], list[str]]:
    """Flags, lines before and lines after them that spread a replica over its hosts."""
    layout, span = group.pool.layout, group.span
    if span.hosts == 1:
        return {}, [], []
    headless = ['if [ "$NODE_RANK" -ne 0 ]; then args+=(--headless); fi']
    if layout.attention_data == 1:
        flags: dict[str, Flag] = {
            "--nnodes": span.hosts,
            "--node-rank": Shell("$NODE_RANK"),
            "--master-addr": Shell("$HEAD_ADDR"),
        }
        return flags, [], headless
    rank = layout.tensor * layout.pipeline
    if span.gpus % rank == 0:
        local = span.gpus // rank
        flags = {
            "--data-parallel-size-local": local,
            "--data-parallel-start-rank": Shell(f"$((NODE_RANK * {local}))"),
            "--data-parallel-address": Shell("$HEAD_ADDR"),
            "--data-parallel-rpc-port": RPC_PORT,
        }
        return flags, [], headless
    # a rank wider than a host: Ray spreads it; the script runs on the first host only
    setup = [
        "export VLLM_RAY_DP_PACK_STRATEGY=span",
        'if [ "$NODE_RANK" -ne 0 ]; then exec ray start --block --address="$HEAD_ADDR:6379"; fi',
        "ray start --head --port=6379",
    ]
    ray: dict[str, Flag] = {
        "--data-parallel-backend": "ray",
        "--distributed-executor-backend": "ray",
    }
    return ray, setup, []


def _limits(deployment: Deployment, group: Group) -> dict[str, Flag]:
    pool = group.pool
    flags: dict[str, Flag] = {
        "--max-num-seqs": pool.max_batch,
        "--max-num-batched-tokens": pool.max_batch_tokens,
        "--gpu-memory-utilization": deployment.fraction,
        "--kv-cache-dtype": cache_word(deployment, KV_DTYPES),
    }
    if group.drafts:
        draft = {"method": "mtp", "num_speculative_tokens": group.drafts}
        flags["--speculative-config"] = json.dumps(draft)
    return flags

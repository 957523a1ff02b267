"""SGLang: `sglang.launch_server` and its router.

Flags: docs.sglang.io, server arguments and PD disaggregation, 0.5.9. With attention-DP the server
divides --max-running-requests and --chunked-prefill-size by --dp-size (server_args.py,
_handle_data_parallelism), so both are written as totals over the attention-data ranks.
"""

from __future__ import annotations

from racktwin.engine.deployment import Deployment
from racktwin.export.group import Group, cache_word
from racktwin.export.router import BOOTSTRAP_PORT, router
from racktwin.export.script import Flag, Shell, place, script

DOCUMENTATION = "Flags as in SGLang 0.5.9, docs.sglang.io."
KV_DTYPES = {"fp8": "fp8_e4m3", "bf16": "bf16", "nvfp4": "fp4_e2m1"}
DEEPEP_MODES = {"prefill": "normal", "decode": "low_latency", "serve": "auto"}
RENDEZVOUS_PORT = 5000


def files(deployment: Deployment, groups: list[Group]) -> dict[str, str]:
    """The start script of every pool, and the router's."""
    out = {f"{group.role}.sh": _server(deployment, group) for group in groups}
    if deployment.serve is None or groups[0].pool.replicas > 1:
        command = "python3 -m sglang_router.launch_router"
        out["router.sh"] = router(deployment, groups, command, "--pd-disaggregation", DOCUMENTATION)
    return out


def _server(deployment: Deployment, group: Group) -> str:
    flags = {
        "--model-path": Shell("$model"),
        "--host": "0.0.0.0",
        "--port": Shell("$port"),
        **_layout(group),
        **_limits(deployment, group),
    }
    if group.span.hosts > 1:
        flags["--nnodes"] = group.span.hosts
        flags["--node-rank"] = Shell("$NODE_RANK")
        flags["--dist-init-addr"] = Shell(f"$HEAD_ADDR:{RENDEZVOUS_PORT}")
    if group.role != "serve":
        flags["--disaggregation-mode"] = group.role
        flags["--disaggregation-transfer-backend"] = "nixl"
    if group.role == "prefill":
        port = f"$(({BOOTSTRAP_PORT} + port - ${{PORT:-8000}}))"
        flags["--disaggregation-bootstrap-port"] = Shell(port)
    head = [*group.notes, DOCUMENTATION]
    return script(
        head, place(group.checkpoint, group.span), "python3 -m sglang.launch_server", flags
    )


def _layout(group: Group) -> dict[str, Flag]:
    layout = group.pool.layout
    shared = layout.attention_data > 1 and group.experts > 0  # attention-DP over shared experts
    flags: dict[str, Flag] = {
        "--tp-size": layout.stage if shared else layout.tensor,
        "--dp-size": layout.attention_data,
        "--pp-size": layout.pipeline,
        "--enable-dp-attention": shared,
        "--enable-dp-lm-head": shared,
    }
    if group.experts:
        flags["--ep-size"] = layout.expert
        flags["--enable-eplb"] = group.pool.spare_experts > 0
        flags["--ep-num-redundant-experts"] = group.pool.spare_experts or None
    if shared and layout.tensor == 1:
        flags["--moe-dense-tp-size"] = 1
    if shared and layout.expert == layout.stage:
        flags["--moe-a2a-backend"] = "deepep"
        flags["--deepep-mode"] = DEEPEP_MODES[group.role]
    return flags


def _limits(deployment: Deployment, group: Group) -> dict[str, Flag]:
    pool, engine = group.pool, deployment.engine
    divided = pool.layout.attention_data if group.experts else 1
    flags: dict[str, Flag] = {
        "--max-running-requests": pool.max_batch * divided,
        "--chunked-prefill-size": pool.max_batch_tokens * divided,
        "--enable-mixed-chunk": engine.mixed and group.role == "serve" and not group.drafts,
        "--mem-fraction-static": deployment.fraction,
        "--kv-cache-dtype": cache_word(deployment, KV_DTYPES),
    }
    if group.drafts:
        flags["--speculative-algorithm"] = "EAGLE"  # runs the model's own MTP layers
        flags["--speculative-num-steps"] = group.drafts
        flags["--speculative-eagle-topk"] = 1
        flags["--speculative-num-draft-tokens"] = group.drafts + 1
    return flags

"""TensorRT-LLM: `trtllm-serve` with its options file, and the disaggregated front end.

Options: `TorchLlmArgs` of TensorRT-LLM 1.3 (nvidia.github.io/TensorRT-LLM/llm-api/reference.html);
several hosts: the page of trtllm-serve; two pools: features/disagg-serving.
"""

from __future__ import annotations

from typing import Any

import yaml

from racktwin.engine.convention import of_epoch
from racktwin.engine.deployment import Deployment, Pool
from racktwin.export.group import Group, cache_word
from racktwin.export.router import addresses, nginx
from racktwin.export.script import ROUTER_PORT, Shell, comment, place, script
from racktwin.finding import BadInput, Finding

DOCUMENTATION = "TensorRT-LLM 1.3, nvidia.github.io/TensorRT-LLM"
KV_DTYPES = {"fp8": "fp8", "nvfp4": "nvfp4", "bf16": "auto"}  # auto: as the checkpoint says
ROUTERS = {
    "least_outstanding": "load_balancing",
    "round_robin": "round_robin",
    "cache_aware": "kv_cache_aware",
}


def files(deployment: Deployment, groups: list[Group]) -> dict[str, str]:
    """Options and start script of every pool, and what stands in front of them."""
    out: dict[str, str] = {}
    for group in groups:
        head = [f"{group.role}: options of trtllm-serve ({DOCUMENTATION})", *group.notes]
        options = yaml.safe_dump(_options(deployment, group), sort_keys=False)
        out[f"{group.role}.yaml"] = "\n".join([*map(comment, head), options])
        out[f"{group.role}.sh"] = _start(group)
    if deployment.serve is None:
        front = yaml.safe_dump(_disaggregated(deployment, groups), sort_keys=False)
        head = [f"trtllm-serve disaggregated -c disaggregated.yaml ({DOCUMENTATION})"]
        out["disaggregated.yaml"] = "\n".join([*map(comment, head), front])
    elif groups[0].pool.replicas > 1:
        if deployment.router == "cache_aware":
            message = (
                "TensorRT-LLM has no cache-aware router in front of aggregated replicas; "
                "use least_outstanding or round_robin"
            )
            raise BadInput([Finding("router", message)])
        out["nginx.conf"] = nginx(groups[0], least=deployment.router == "least_outstanding")
    return out


def _start(group: Group) -> str:
    span = group.span
    setup = [*place(group.checkpoint, span), 'here="$(cd "$(dirname "$0")" && pwd)"']
    flags = {
        "--host": "0.0.0.0",
        "--port": Shell("$port"),
        "--extra_llm_api_options": Shell(f"$here/{group.role}.yaml"),
    }
    ranks = group.pool.layout.gpus
    head = [*group.notes]
    command = 'trtllm-serve "$model"'
    if span.hosts > 1:
        command = f"trtllm-llmapi-launch {command}"
        setup = [line for line in setup if "NODE_RANK" not in line and "HEAD_ADDR" not in line]
        head.append(
            f"Start it once per GPU: srun --mpi=pmix -N {span.hosts} --ntasks {ranks} "
            f"--ntasks-per-node {span.gpus} bash {group.role}.sh"
        )
    return script(head, setup, command, flags)


def _options(deployment: Deployment, group: Group) -> dict[str, Any]:
    pool, layout, prefill = group.pool, group.pool.layout, group.role == "prefill"
    options: dict[str, Any] = {
        # with attention-DP every rank of this group attends alone
        "tensor_parallel_size": layout.stage,
        "pipeline_parallel_size": layout.pipeline,
        "enable_attention_dp": layout.attention_data > 1,
        "max_batch_size": pool.max_batch,
        "max_num_tokens": pool.max_batch_tokens,
        "enable_chunked_prefill": group.role != "decode",
        "kv_cache_config": {
            "dtype": cache_word(deployment, KV_DTYPES),
            "free_gpu_memory_fraction": deployment.fraction,
            "tokens_per_block": of_epoch(deployment.engine).block,
        },
        "cuda_graph_config": None
        if prefill
        else {"enable_padding": True, "max_batch_size": pool.max_batch},
    }
    if deployment.scheduler:
        policy = deployment.scheduler.upper()
        options["scheduler_config"] = {"capacity_scheduler_policy": policy}
    if group.span.hosts > 1:
        options["gpus_per_node"] = group.span.gpus
    if group.experts:
        options["moe_expert_parallel_size"] = layout.expert
        options["moe_tensor_parallel_size"] = layout.expert_tensor
        options["moe_config"] = {"backend": _moe_backend(deployment, pool)}
        if pool.spare_experts:
            slots = group.experts + pool.spare_experts
            balancer = {"num_slots": slots, "layer_updates_per_iter": 1}
            options["moe_config"]["load_balancer"] = balancer
    if group.drafts:
        # 1.3 renamed num_nextn_predict_layers
        old = _version(deployment.engine.version) < (1, 3)
        name = "num_nextn_predict_layers" if old else "max_draft_len"
        options["speculative_config"] = {"decoding_type": "MTP", name: group.drafts}
    if deployment.prefill is not None:
        buffer = deployment.prefill.max_batch_tokens
        options["disable_overlap_scheduler"] = prefill
        options["cache_transceiver_config"] = {"backend": "NIXL", "max_tokens_in_buffer": buffer}
    return options


def _moe_backend(deployment: Deployment, pool: Pool) -> str:
    """The kernels for the experts: deployment guides of DeepSeek-R1 and gpt-oss, 1.3.

    WIDEEP, once the choice beyond 8 expert ranks, is deprecated in favour of these.
    """
    dtype = deployment.precision.experts
    if deployment.cluster.chip.family == "hopper":
        return "TRITON" if dtype == "mxfp4" else "CUTLASS"
    if dtype == "fp8_block":
        return "DEEPGEMM"
    small = dtype in ("nvfp4", "mxfp4") and pool.layout.attention_data == 1
    return "TRTLLM" if small else "CUTLASS"


def _disaggregated(deployment: Deployment, groups: list[Group]) -> dict[str, Any]:
    names = {"prefill": "context_servers", "decode": "generation_servers"}
    front: dict[str, Any] = {"hostname": "0.0.0.0", "port": ROUTER_PORT, "backend": "pytorch"}
    for group in groups:
        front[names[group.role]] = {
            "num_instances": group.pool.replicas,
            "router": {"type": ROUTERS[deployment.router]},
            "urls": addresses(group),
        }
    return front


def _version(text: str) -> tuple[int, int]:
    """'1.3.0rc24' -> (1, 3); a version that is no number counts as new."""
    parts = text.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (ValueError, IndexError):
        return (99, 0)

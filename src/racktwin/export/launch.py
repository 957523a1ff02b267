"""Launch files: what to run on which host so that a deployment stands."""

from __future__ import annotations

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_check import check
from racktwin.export import sglang, trtllm, vllm
from racktwin.export.group import Group, groups
from racktwin.export.script import PORT, ROUTER_PORT
from racktwin.finding import BadInput

EXPORTERS = {"trtllm": trtllm.files, "sglang": sglang.files, "vllm": vllm.files}
FRONTS = {
    "router.sh": "bash router.sh",
    "disaggregated.yaml": "trtllm-serve disaggregated -c disaggregated.yaml",
    "nginx.conf": 'nginx -c "$PWD/nginx.conf"',
}


def launch_files(deployment: Deployment) -> dict[str, str]:
    """Relative path -> text: a start script per pool, what stands in front, and README.txt.

    The files describe one copy; README.txt says how many of each to start where. Raises BadInput
    when the engine cannot run the layout.
    """
    faults = [each for each in check(deployment) if not each.note]
    if faults:
        raise BadInput(faults, "deployment")
    pools = groups(deployment)
    files = EXPORTERS[deployment.engine.engine](deployment, pools)
    return {"README.txt": _readme(deployment, pools, files), **files}


def _readme(deployment: Deployment, pools: list[Group], files: dict[str, str]) -> str:
    cluster, copies = deployment.cluster, deployment.copies
    lines = [
        f"{deployment.model.title} on {cluster.title}, {deployment.engine.name}",
        f"{copies:,} {'copy' if copies == 1 else 'copies'} of {deployment.gpus:,} GPUs: "
        f"{copies * deployment.gpus:,} of the cluster's {cluster.gpus:,}. "
        "The files here describe one copy.",
        "",
        f"{'start':12} {'a copy':>7} {'in all':>7}  {'a replica is':24} {'hosts, all':>10}  layout",
    ]
    for group in pools:
        span, replicas = group.span, group.pool.replicas
        shape = f"{span.hosts} hosts x {span.gpus} GPUs" if span.hosts > 1 else f"{span.gpus} GPUs"
        shape += f", {span.share} a host" if span.share > 1 else ""
        hosts = copies * span.hosts_of(replicas)
        lines.append(
            f"{group.role + '.sh':12} {replicas:7,} {replicas * copies:7,}  {shape:24} "
            f"{hosts:10,}  {_words(group)}"
        )
    lines += ["", "Steps, for each copy", *_steps(deployment, pools, files), ""]
    return "\n".join(lines)


def _steps(deployment: Deployment, pools: list[Group], files: dict[str, str]) -> list[str]:
    domain = deployment.cluster.gpus_per_domain
    name = deployment.precision.name
    lines = [f"- Put a checkpoint with {name} weights on every host and set MODEL to its path"]
    if pools[0].checkpoint:
        lines.append(f"  (without MODEL the engine loads {pools[0].checkpoint}).")
    for group in pools:
        role, span = group.role, group.span
        if span.hosts > 1 and deployment.engine.engine == "trtllm":
            lines.append(f"- {role}: {span.hosts} hosts each; the srun line stands in {role}.sh.")
        elif span.hosts > 1:
            lines.append(
                f"- {role}: on each of the {span.hosts} hosts of a replica, "
                f"NODE_RANK=0..{span.hosts - 1} HEAD_ADDR=<first host> bash {role}.sh"
            )
        elif span.share > 1:
            lines.append(
                f"- {role}: {span.share} on a host, SLOT=0..{span.share - 1} bash {role}.sh "
                f"(ports {PORT} to {PORT + span.share - 1})"
            )
        else:
            lines.append(f"- {role}: bash {role}.sh (port {PORT})")
        if span.hosts > 1:
            lines.append(
                f"  Keep a replica inside one NVLink domain ({domain} GPUs) where it fits."
            )
    front = next((name for name in FRONTS if name in files), None)
    if front:
        roles = ", ".join(
            f"{group.role}-0 to {group.role}-{group.pool.replicas - 1}" for group in pools
        )
        lines.append(f"- Let {roles} be names of the replicas' first hosts, in the order of the")
        lines.append(f"  slots (DNS, /etc/hosts, or edit {front}), then: {FRONTS[front]}")
    port = ROUTER_PORT if front else PORT
    lines.append(f"- Clients speak OpenAI's protocol to port {port}.")
    return lines


def _words(group: Group) -> str:
    layout = group.pool.layout
    names = ["tensor", "pipeline", "attention_data"]
    names += ["expert", "expert_tensor"] if group.experts else []
    words = [f"{name} {getattr(layout, name)}" for name in names if getattr(layout, name) > 1]
    return ", ".join(words) or "one GPU"

"""Launch files say what the deployment says: they are run with stand-ins, and read back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from racktwin.engine.deployment import Deployment, Pool, Speculation
from racktwin.engine.deployment_file import ROUTERS, read_deployment
from racktwin.engine.epochs import epoch
from racktwin.export import launch_files
from racktwin.export.group import groups
from racktwin.export.router import POLICIES
from racktwin.export.trtllm import ROUTERS as TRTLLM_ROUTERS
from racktwin.finding import BadInput
from racktwin.hardware import cluster
from racktwin.models import Layout, model

ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm-1.3"}
STANDIN = "#!/bin/sh\nprintf '%s\\0' \"$@\"\n"
COMMANDS = ("vllm", "python3", "trtllm-serve", "trtllm-llmapi-launch", "vllm-router", "ray")
SHARED = {"max_batch": 64, "max_batch_tokens": 4096}
POOLS = {
    "one GPU": {"serve": Pool(layout=Layout(), **SHARED)},
    "tensor": {"serve": Pool(layout=Layout(tensor=4, expert_tensor=4), replicas=3, **SHARED)},
    "wide": {
        "serve": Pool(
            layout=Layout(attention_data=16, expert=16),
            speculation=Speculation(2, 0.7),
            spare_experts=32,
            **SHARED,
        )
    },
    "two hosts": {"serve": Pool(layout=Layout(tensor=8, expert=8), replicas=2, **SHARED)},
    "pipeline": {"serve": Pool(layout=Layout(tensor=4, pipeline=2, expert_tensor=4), **SHARED)},
    "split": {
        "prefill": Pool(layout=Layout(tensor=2, expert_tensor=2), replicas=5, **SHARED),
        "decode": Pool(
            layout=Layout(attention_data=8, expert=8),
            replicas=2,
            max_batch=128,
            max_batch_tokens=512,
            speculation=Speculation(1, 0.8),
        ),
    },
}


def deployment(
    pools: dict[str, Pool], engine: str = "vllm", name: str = "deepseek-r1"
) -> Deployment:
    of = model(name)
    return Deployment(
        model=of,
        cluster=cluster("azure-nd-gb300-v6", racks=2),
        engine=epoch(ENGINES[engine]),
        precision=of.at("nvfp4") if name == "deepseek-r1" else of.precision,
        copies=2,
        **pools,
    )


def run(files: dict[str, str], name: str, folder: Path, **said: str) -> list[str]:
    """Arguments that the script `name` would start its server with."""
    for command in COMMANDS:
        path = folder / "bin" / command
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STANDIN)
        path.chmod(0o755)
    (folder / name).write_text(files[name])
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOST_ADDR": "me", **said}
    done = subprocess.run(
        ["bash", folder / name], env=env, capture_output=True, check=True, cwd=folder, timeout=20
    )
    return done.stdout.decode().split("\0")[:-1]


def flags(arguments: list[str]) -> dict[str, Any]:
    """--flag value, or True for a flag alone."""
    found: dict[str, Any] = {}
    for word, after in zip(arguments, [*arguments[1:], "--"], strict=True):
        if word.startswith("--"):
            found[word] = True if after.startswith("--") else after
    return found


def started(files: dict[str, str], role: str, folder: Path, pool: Pool) -> list[dict[str, Any]]:
    """The flags on every host of one replica."""
    hosts = -(-pool.layout.gpus // 4)
    said = {"MODEL": "m", "SLOT": "0", "HEAD_ADDR": "h"}
    ranks = [str(rank) for rank in range(hosts)]
    return [flags(run(files, f"{role}.sh", folder, NODE_RANK=rank, **said)) for rank in ranks]


def read_vllm(found: list[dict[str, Any]], pool: Pool) -> dict[str, Any]:
    head = found[0]
    tensor, data = int(head["--tensor-parallel-size"]), int(head["--data-parallel-size"])
    together = head.get("--enable-expert-parallel", False)
    if "--data-parallel-size-local" in head:
        local = int(head["--data-parallel-size-local"])
        starts = [int(each["--data-parallel-start-rank"]) for each in found]
        ranks = [start + rank for start in starts for rank in range(local)]
        assert ranks == list(range(data))
    elif len(found) > 1:
        assert [each["--node-rank"] for each in found] == [str(n) for n in range(len(found))]
        assert head["--nnodes"] == str(len(found))
    assert ["--headless" in each for each in found] == [False] + [True] * (len(found) - 1)
    draft = json.loads(head.get("--speculative-config", '{"num_speculative_tokens": 0}'))
    spare = json.loads(head.get("--eplb-config", '{"num_redundant_experts": 0}'))
    return {
        "tensor": tensor,
        "pipeline": int(head["--pipeline-parallel-size"]),
        "attention_data": data,
        "expert": tensor * data if together else 1,
        "max_batch": int(head["--max-num-seqs"]),
        "max_batch_tokens": int(head["--max-num-batched-tokens"]),
        "tokens": draft["num_speculative_tokens"],
        "spare": spare["num_redundant_experts"],
        "fraction": float(head["--gpu-memory-utilization"]),
        "kv": {"fp8": "fp8", "bfloat16": "bf16"}[head["--kv-cache-dtype"]],
    }


def read_sglang(found: list[dict[str, Any]], pool: Pool) -> dict[str, Any]:
    head = found[0]
    group, data = int(head["--tp-size"]), int(head["--dp-size"])
    assert head.get("--enable-dp-attention", False) == (data > 1)
    if len(found) > 1:
        assert [each["--node-rank"] for each in found] == [str(n) for n in range(len(found))]
        assert {each["--dist-init-addr"] for each in found} == {"h:5000"}
    if "--moe-a2a-backend" in head:
        assert head["--ep-size"] == head["--tp-size"]
    drafts = int(head.get("--speculative-num-steps", 0))
    assert int(head.get("--speculative-num-draft-tokens", 1)) == drafts + 1
    return {
        "tensor": group // data,
        "pipeline": int(head["--pp-size"]),
        "attention_data": data,
        "expert": int(head["--ep-size"]),
        "max_batch": int(head["--max-running-requests"]) // data,
        "max_batch_tokens": int(head["--chunked-prefill-size"]) // data,
        "tokens": drafts,
        "spare": int(head.get("--ep-num-redundant-experts", 0)),
        "fraction": float(head["--mem-fraction-static"]),
        "kv": {"fp8_e4m3": "fp8", "bf16": "bf16"}[head["--kv-cache-dtype"]],
    }


def read_trtllm(options: dict[str, Any], pool: Pool) -> dict[str, Any]:
    group, data = options["tensor_parallel_size"], options["enable_attention_dp"]
    expert = options["moe_expert_parallel_size"]
    assert expert * options["moe_tensor_parallel_size"] == group
    slots = options["moe_config"].get("load_balancer", {"num_slots": 256})["num_slots"]
    return {
        "tensor": 1 if data else group,
        "pipeline": options["pipeline_parallel_size"],
        "attention_data": group if data else 1,
        "expert": expert,
        "max_batch": options["max_batch_size"],
        "max_batch_tokens": options["max_num_tokens"],
        "tokens": options.get("speculative_config", {"max_draft_len": 0})["max_draft_len"],
        "spare": slots - 256,
        "fraction": options["kv_cache_config"]["free_gpu_memory_fraction"],
        "kv": options["kv_cache_config"]["dtype"],
    }


def test_trtllm_is_told_its_scheduler() -> None:
    plan = msgspec.structs.replace(
        deployment(POOLS["tensor"], "trtllm"), scheduler="max_utilization"
    )
    (options,) = (
        yaml.safe_load(text) for name, text in launch_files(plan).items() if name == "serve.yaml"
    )
    assert options["scheduler_config"] == {"capacity_scheduler_policy": "MAX_UTILIZATION"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", POOLS)
def test_servers_get_the_numbers_of_the_plan(engine: str, shape: str, tmp_path: Path) -> None:
    plan = deployment(POOLS[shape], engine)
    files = launch_files(plan)
    drafts = max(pool.speculation.tokens for pool in plan.pools.values())
    for role, pool in plan.pools.items():
        found = started(files, role, tmp_path, pool)
        if engine == "trtllm":
            assert found[0]["--extra_llm_api_options"] == str(tmp_path / f"{role}.yaml")
            got = read_trtllm(yaml.safe_load(files[f"{role}.yaml"]), pool)
        else:
            got = {"vllm": read_vllm, "sglang": read_sglang}[engine](found, pool)
        layout = msgspec.structs.asdict(pool.layout)
        assert {key: got[key] for key in layout if key != "expert_tensor"} == {
            key: value for key, value in layout.items() if key != "expert_tensor"
        }
        assert got["max_batch"] == pool.max_batch
        assert got["max_batch_tokens"] == pool.max_batch_tokens
        assert got["tokens"] == drafts
        assert got["spare"] == pool.spare_experts
        assert got["fraction"] == plan.engine.memory_fraction
        assert got["kv"] == "fp8"


def test_routers_name_every_replica(tmp_path: Path) -> None:
    pools = POOLS["split"]
    prefill = [
        "prefill-0:8000",
        "prefill-1:8001",
        "prefill-2:8000",
        "prefill-3:8001",
        "prefill-4:8000",
    ]
    decode = ["decode-0:8000", "decode-1:8000"]
    front = yaml.safe_load(launch_files(deployment(pools, "trtllm"))["disaggregated.yaml"])
    assert front["context_servers"]["urls"] == prefill
    assert front["generation_servers"]["urls"] == decode
    assert front["context_servers"]["num_instances"] == 5
    for engine in ("vllm", "sglang"):
        found = run(launch_files(deployment(pools, engine)), "router.sh", tmp_path)
        after = {word: [] for word in ("--prefill", "--decode")}
        for word, following in pairwise(found):
            if word in after:
                after[word].append(following)
        assert after["--prefill"] == [f"http://{each}" for each in prefill]
        assert after["--decode"] == [f"http://{each}" for each in decode]
    assert found[found.index("http://prefill-1:8001") + 1] == "8999"  # SGLang's bootstrap port


def test_replicas_of_a_host_take_their_own_gpus_and_ports(tmp_path: Path) -> None:
    files = launch_files(deployment(POOLS["split"], "sglang"))
    seen = files["prefill.sh"].replace("exec python3", 'echo "$CUDA_VISIBLE_DEVICES"; exec python3')
    for slot, gpus, port, bootstrap in (("0", "0,1", "8000", "8998"), ("1", "2,3", "8001", "8999")):
        first, *rest = run({"prefill.sh": seen}, "prefill.sh", tmp_path, MODEL="m", SLOT=slot)
        assert first.split("\n")[0] == gpus
        found = flags([first, *rest])
        assert found["--port"] == port
        assert found["--disaggregation-bootstrap-port"] == bootstrap
        assert found["--disaggregation-mode"] == "prefill"


@pytest.mark.parametrize("engine", ENGINES)
def test_names_cannot_break_out_of_the_scripts(engine: str, tmp_path: Path) -> None:
    evil = "a b'; touch pwned; $(touch pwned) `touch pwned` \"\n touch pwned #"
    plan = deployment({"serve": Pool(layout=Layout(tensor=4), **SHARED)}, engine, "llama-3.1-70b")
    source = str(tmp_path / evil / "config.json")
    of = msgspec.structs.replace(plan.model, source=source, kind="given", title=evil)
    files = launch_files(msgspec.structs.replace(plan, model=of))
    found = run(files, "serve.sh", tmp_path)
    assert str(tmp_path / evil) in found
    assert not (tmp_path / "pwned").exists()
    for text in (files[name] for name in files if name.endswith(".yaml")):
        assert yaml.safe_load(text)["max_batch_size"] == 64


def test_a_checkpoint_with_other_weights_is_never_loaded_by_itself() -> None:
    pools = {"serve": Pool(layout=Layout(tensor=4), **SHARED)}
    plan = deployment(pools, "vllm", "llama-3.1-70b")
    assert groups(plan)[0].checkpoint == "meta-llama/Meta-Llama-3.1-70B"
    other = msgspec.structs.replace(plan, precision=plan.model.at("fp8"))
    assert groups(other)[0].checkpoint == ""
    assert "${MODEL:?" in launch_files(other)["serve.sh"]


def test_the_readme_counts_hosts() -> None:
    text = launch_files(deployment(POOLS["split"], "trtllm"))["README.txt"]
    assert "2 copies of 26 GPUs: 52 of the cluster's 144." in text
    # 5 replicas, two on a host: 3 hosts; 2 replicas of 2 hosts; twice
    assert re.search(r"prefill.sh +5 +10  2 GPUs, 2 a host +6  tensor 2, expert_tensor 2", text)
    assert re.search(r"decode.sh +2 +4  2 hosts x 4 GPUs +8  attention_data 8, expert 8", text)


def test_moe_kernels_follow_the_deployment_guides() -> None:
    def backend(weights: str, data: int, cluster_name: str = "azure-nd-gb300-v6") -> str:
        layout = Layout(attention_data=8, expert=8) if data else Layout(tensor=8, expert=8)
        plan = deployment({"serve": Pool(layout=layout, **SHARED)}, "trtllm")
        precision, on = plan.model.at(weights), cluster(cluster_name)
        plan = msgspec.structs.replace(plan, precision=precision, cluster=on)
        return str(yaml.safe_load(launch_files(plan)["serve.yaml"])["moe_config"]["backend"])

    assert backend("nvfp4", data=1) == "CUTLASS"
    assert backend("nvfp4", data=0) == "TRTLLM"
    assert backend("checkpoint", data=1) == "DEEPGEMM"
    assert backend("checkpoint", data=1, cluster_name="azure-nd-h200-v5") == "CUTLASS"


def test_older_releases_call_drafts_otherwise() -> None:
    plan = msgspec.structs.replace(deployment(POOLS["wide"], "trtllm"), engine=epoch("trtllm-1.1"))
    options = yaml.safe_load(launch_files(plan)["serve.yaml"])
    assert options["speculative_config"] == {"decoding_type": "MTP", "num_nextn_predict_layers": 2}


def test_every_router_word_has_a_name_in_every_engine() -> None:
    assert set(POLICIES) == set(TRTLLM_ROUTERS) == set(ROUTERS)


def test_what_an_engine_cannot_do_is_refused() -> None:
    mixed = {"serve": Pool(layout=Layout(tensor=2, attention_data=4, expert=8), **SHARED)}
    with pytest.raises(BadInput, match="rank of TensorRT-LLM is one GPU; use tensor 1 with"):
        launch_files(deployment(mixed, "trtllm"))
    partly = {"serve": Pool(layout=Layout(tensor=8, expert=4, expert_tensor=2), **SHARED)}
    with pytest.raises(BadInput, match="over all 8 GPUs of a stage or over none; use 8 or 1"):
        launch_files(deployment(partly, "vllm"))
    plan = deployment(POOLS["tensor"], "trtllm")
    with pytest.raises(BadInput, match="no cache-aware router"):
        launch_files(msgspec.structs.replace(plan, router="cache_aware"))
    with pytest.raises(BadInput, match="'random' is not known"):
        launch_files(msgspec.structs.replace(plan, router="random"))
    odd = msgspec.structs.replace(plan.precision, kv="fp16")
    with pytest.raises(BadInput, match="keeps no fp16 cache; use fp8, nvfp4, bf16"):
        launch_files(msgspec.structs.replace(plan, precision=odd))


def test_the_examples_can_be_launched(root: Path) -> None:
    for path in sorted((root / "examples").glob("*.yaml")):
        plan, _ = read_deployment(path)
        files = launch_files(plan)
        assert "README.txt" in files
        assert all(f"{role}.sh" in files for role in plan.pools)

"""What is written reads back equal, and hides no default."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from racktwin.engine.autoscale import METRICS, Autoscale
from racktwin.engine.deployment import (
    ROUTERS,
    SCHEDULERS,
    SCOPES,
    Deployment,
    Pool,
    Speculation,
)
from racktwin.engine.deployment_file import HEAD, read_deployment
from racktwin.engine.deployment_text import text, write_deployment
from racktwin.engine.epochs import epoch
from racktwin.engine.offload import Offload
from racktwin.finding import BadInput
from racktwin.hardware import cluster
from racktwin.models import Layout, model
from racktwin.units import Bandwidth, Bytes, Price

POWERS = st.sampled_from([1, 2, 4, 8])
COUNTS = st.integers(1, 4)
PRECISIONS = st.sampled_from(["checkpoint", "bf16", "fp8", "nvfp4"])


def again(deployment: Deployment, folder: Path) -> Deployment:
    path = folder / "deployment.yaml"
    path.write_text(write_deployment(deployment))
    return read_deployment(path)[0]


@st.composite
def pools(draw: st.DrawFn, drafts: int, acceptance: float | tuple[float, ...]) -> Pool:
    data, expert = draw(POWERS), draw(POWERS)
    stage = data if data >= expert else expert
    batch = draw(st.integers(1, 2048))
    return Pool(
        layout=Layout(attention_data=stage, expert=expert, expert_tensor=stage // expert),
        replicas=draw(COUNTS),
        max_batch=batch,
        max_batch_tokens=batch * (1 + drafts) + draw(st.integers(0, 10_000)),
        speculation=Speculation(drafts, acceptance) if drafts else Speculation(),
        spare_experts=expert * draw(st.integers(0, 2)),
    )


@st.composite
def scales(draw: st.DrawFn, replicas: int) -> Autoscale:
    metric = draw(st.sampled_from(METRICS))
    targets = {"outstanding": st.floats(0.1, 1e4), "kv": st.floats(0.01, 1.0)}
    return Autoscale(
        least=draw(st.integers(1, replicas)),
        most=replicas + draw(st.integers(0, 2)),
        metric=metric,
        target=draw(targets.get(metric, st.integers(1, 10**6).map(float))),
        interval=draw(st.floats(1.0, 60.0)),
        tolerance=draw(st.floats(0.0, 1.0)),
        stabilisation=draw(st.floats(0.0, 900.0)),
        start_up=draw(st.none() | st.floats(0.0, 900.0)),
    )


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    of, drafts = model("deepseek-r1"), draw(st.integers(0, 3))
    chance = st.floats(0, 1)
    acceptance = draw(chance | st.tuples(*[chance] * drafts)) if drafts else 0.0
    precision = of.at(draw(PRECISIONS))
    precision = msgspec.structs.replace(precision, kv=draw(st.sampled_from(["bf16", "fp8"])))
    if draw(st.booleans()):
        precision = msgspec.structs.replace(precision, head="fp8")
    on = cluster("azure-nd-gb300-v6").with_(nodes=draw(st.integers(300, 1152)))
    if draw(st.booleans()):
        on = msgspec.structs.replace(on, price=Price(draw(st.floats(0.01, 99))), price_note="x")
    split = draw(st.booleans())
    roles = ("prefill", "decode") if split else ("serve",)
    made = {role: draw(pools(drafts, acceptance)) for role in roles}
    if draw(st.booleans()):
        role = draw(st.sampled_from(roles))
        scale = draw(scales(made[role].replicas))
        made[role] = msgspec.structs.replace(made[role], autoscale=scale)
    return Deployment(
        model=of,
        cluster=on,
        engine=epoch("trtllm-1.3"),
        precision=precision,
        scheduler=draw(st.sampled_from(["", *SCHEDULERS])),
        router=draw(st.sampled_from(ROUTERS)),
        copies=draw(COUNTS),
        router_scope=draw(st.sampled_from(SCOPES)),
        offload=Offload(
            host=Bytes(draw(st.sampled_from([0, 200e9, 123456789012.5]))),
            shared=Bytes(draw(st.floats(0, 1e18))),
            shared_bandwidth=draw(st.none() | st.floats(1, 1e12).map(Bandwidth)),
            write=draw(st.sampled_from([None, "through", "eviction"])),
        ),
        **made,
    )


@given(deployment=deployments())
def test_what_is_written_reads_back_equal(
    deployment: Deployment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = again(deployment, tmp_path_factory.getbasetemp())
    note = msgspec.structs.replace(found.cluster, price_note=deployment.cluster.price_note)
    assert msgspec.structs.replace(found, cluster=note) == deployment


def test_the_examples_read_back_equal(root: Path, tmp_path: Path) -> None:
    for path in (root / "examples").glob("*.yaml"):
        deployment, _ = read_deployment(path)
        assert again(deployment, tmp_path) == deployment


def test_files_and_quantized_checkpoints_keep_their_names(tmp_path: Path, shared: Path) -> None:
    config = shared / "models/configs/deepseek-ai--DeepSeek-R1_config.json"
    small = tmp_path / "my cluster.yaml"
    small.write_text("extends: azure-nd-gb300-v6\nracks: 8\ntitle: 'a: b # c'\n")
    pool = Pool(layout=Layout(attention_data=8, expert=8))
    for of in (model(config), model("nvidia/DeepSeek-R1-NVFP4"), model("deepseek-r1")):
        deployment = Deployment(
            model=of,
            cluster=cluster(str(small), racks=3),
            engine=epoch("vllm-0.19"),
            precision=of.precision,
            serve=pool,
        )
        assert again(deployment, tmp_path) == deployment


def test_every_default_is_shown(root: Path) -> None:
    deployment, _ = read_deployment(root / "examples/deepseek-r1-gb300-288xdp16.yaml")
    written = yaml.safe_load(write_deployment(deployment))
    given = {*HEAD, "serve", "router", "router_scope", "copies"}
    assert set(written) == given - {"memory_fraction", "scheduler"}
    assert written["serve"] == {
        "replicas": 288,
        "tensor": 1,
        "pipeline": 1,
        "attention_data": 16,
        "expert": 16,
        "expert_tensor": 1,
        "slots": 256,
        "max_batch": 256,
        "max_batch_tokens": 8192,
    }


def test_what_has_no_name_cannot_be_written(root: Path) -> None:
    deployment, _ = read_deployment(root / "examples/deepseek-r1-gb300-288xdp16.yaml")
    for key, change in {
        "engine": {"gap": 1.0},
        "cluster": {"title": "mine"},
        "model": {"title": "mine"},
        "precision": {"layers": ((3, "dense", "fp8"),)},
    }.items():
        part = msgspec.structs.replace(getattr(deployment, key), **change)
        with pytest.raises(BadInput, match=f"{key}: .* differs from what this name stands for"):
            write_deployment(msgspec.structs.replace(deployment, **{key: part}))


@given(st.text(max_size=20))
def test_any_word_survives_yaml(word: str) -> None:
    assert yaml.safe_load(f"a: {{b: {text(word)}}}") == {"a": {"b": word}}

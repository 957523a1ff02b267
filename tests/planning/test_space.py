"""Layouts worth pricing: legal, inside domains, and known to the engine."""

from __future__ import annotations

import pytest

from racktwin import hardware
from racktwin.engine.deployment_check import unsupported
from racktwin.engine.epoch import Engine
from racktwin.models import Layout, check, model
from racktwin.planning.space import WIDEST, layouts

RACKS, HOSTS = hardware.cluster("azure-nd-gb300-v6"), hardware.cluster("azure-nd-h100-v5")
DENSE, R1 = model("llama-3.1-70b"), model("deepseek-r1")


def test_a_dense_model_on_one_host_is_cut_by_tensor_only() -> None:
    found = layouts(DENSE.architecture, DENSE.at("fp8"), HOSTS, 8, "vllm")
    assert found == [Layout(tensor=size) for size in (1, 2, 4, 8)]


def test_pipelines_start_where_domains_are_full() -> None:
    found = layouts(DENSE.architecture, DENSE.at("fp8"), HOSTS, 32, "vllm")
    deep = [each for each in found if each.pipeline > 1]
    assert deep == [Layout(tensor=8, pipeline=2), Layout(tensor=8, pipeline=4)]


@pytest.mark.parametrize("engine", ["trtllm", "sglang", "vllm"])
@pytest.mark.parametrize("cluster", [RACKS, HOSTS], ids=lambda each: each.name)
@pytest.mark.parametrize("gpus", [1, 6, 64, 500])
def test_every_layout_is_legal_and_fits(
    engine: Engine, cluster: hardware.Cluster, gpus: int
) -> None:
    precision = R1.at("fp8")
    found = layouts(R1.architecture, precision, cluster, gpus, engine)
    assert found
    assert len(set(found)) == len(found)
    for layout in found:
        assert all(each.note for each in check(layout, R1.architecture, precision))
        assert not unsupported(layout, engine, experts=True)
        assert layout.gpus <= gpus
        assert layout.stage <= WIDEST
        assert layout.tensor <= cluster.gpus_per_domain
        assert layout.expert * layout.expert_tensor == layout.stage


def test_tensorrt_llm_has_one_gpu_per_attention_rank() -> None:
    found = layouts(R1.architecture, R1.at("nvfp4"), RACKS, 72, "trtllm")
    assert not [each for each in found if each.tensor > 1 and each.attention_data > 1]
    assert Layout(attention_data=32, expert=32) in found

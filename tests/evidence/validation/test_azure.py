"""Azure's published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from racktwin.evidence import inferencex
from racktwin.evidence.validation import azure
from racktwin.evidence.validation.point import Validation
from racktwin.finding import BadInput
from racktwin.models.layout import Layout

ROW = {
    "gpu": "GB300 NVL72",
    "framework": "dynamo-trt 0.8.1.post2",
    "precision": "NVFP4 weights/acts, KV fp8",
    "model": "DeepSeek-R1-0528-NVFP4-v2",
    "isl": "8192",
    "osl": "1024",
    "concurrency": "24.0",
    "config": "1P TEP2 (2 GPU) + 4D TEP8 (32 GPU); decode batch 4; MTP3 (disaggregated)",
}


@pytest.fixture(scope="module")
def shipped() -> Validation:
    return azure()


def test_layouts_in_prose() -> None:
    row = inferencex.measurement(ROW)
    assert row.prefill is not None
    assert row.decode is not None
    assert row.prefill.layout == Layout(tensor=2, expert=2)
    assert (row.decode.replicas, row.decode.layout) == (4, Layout(tensor=8, expert=8))
    assert row.decode.max_batch == 4
    assert row.decode.speculation.tokens == 3
    assert row.gpus == 34
    assert (row.engine, row.model, row.precision) == ("trtllm-1.2", "deepseek-r1", "nvfp4")


def test_attention_data_parallel_prefill() -> None:
    text = "10P (TP2/EP2 ADP, max batch 2, 16640 tokens) + 1D DEP8; decode batch 256/GPU; MTP1"
    row = inferencex.measurement(ROW | {"config": text})
    assert row.prefill is not None
    assert row.decode is not None
    assert row.prefill.layout == Layout(attention_data=2, expert=2)
    assert row.prefill.max_batch_tokens == 16640
    assert row.decode.layout == Layout(attention_data=8, expert=8)
    assert (row.gpus, row.decode.max_batch) == (28, 256)


def test_a_config_without_layout_is_refused() -> None:
    with pytest.raises(BadInput, match="states no layout"):
        inferencex.measurement(ROW | {"config": "best-throughput config"})


def test_the_curve_is_near(shipped: Validation) -> None:
    curve = [each for each in shipped.answered if each.traits["kind"] == "serving"]
    assert len(curve) == 5
    for point in curve:
        for each in point.values:
            if each.measured and each.figure in ("tpot", "total_rate"):
                assert 0.7 < each.value / each.measured < 1.4


def test_kinds_of_figures(shipped: Validation) -> None:
    kinds = {each.traits["kind"] for each in shipped.answered}
    assert kinds == {"serving", "collective", "compute", "bandwidth", "throughput", "power"}
    triad = next(each for each in shipped.answered if each.traits["kind"] == "bandwidth")
    assert triad.values[0].value < 4.9  # TB/s, the H200's datasheet: 4.8
    assert [each.reason.split(":")[0] for each in shipped.points if each.reason]


def test_a_file_is_known_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    cells = ['"' + text + '"' for text in ROW.values()]
    measured = ",tok_s_per_gpu,ttft_ms,tpot_ms"
    path.write_text(",".join(ROW) + measured + "\n" + ",".join(cells) + ",,,\n")
    (point,) = azure(path).points
    assert float(point.columns["predicted_tok_s_per_gpu"]) > 0
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="column is missing"):
        azure(path)

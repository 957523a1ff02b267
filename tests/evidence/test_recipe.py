"""Places of disaggregated benchmarks, by the recipes they were launched with."""

from __future__ import annotations

import msgspec
import pytest

from racktwin.engine.deployment import Pool
from racktwin.evidence import inferencex, sheet
from racktwin.evidence.recipe import Run, launched, recipe
from racktwin.finding import BadInput
from racktwin.models.layout import Layout

PREFILL = Pool(layout=Layout(attention_data=2, expert=2))
RUN = Run(
    model="deepseek-r1",
    system="gb300",
    precision="fp4",
    input=8192,
    output=1024,
    clients=24,
    drafts=3,
)


def decode(replicas: int = 4) -> Pool:
    return Pool(layout=Layout(tensor=8, expert=8), replicas=replicas)


def test_four_workers_of_four_places_for_twenty_four_clients() -> None:
    """recipes/trtllm/gb300-fp4/8k1k/mtp/ctx1_gen4_tep8_batch4_eplb0_mtp3.yaml, read."""
    found = recipe(RUN, PREFILL, decode())
    assert found is not None
    assert (found.batch, found.tokens, found.drafts) == (4, 16640, 3)
    prefill, after, said = launched(RUN, PREFILL, decode())
    assert (after.max_batch, prefill.max_batch_tokens) == (4, 16640)
    assert said.startswith("4 sequences a decode rank: recipes/trtllm/gb300-fp4/8k1k/mtp/")


def test_other_pools_clients_or_lengths_have_no_recipe() -> None:
    assert recipe(RUN, PREFILL, decode(replicas=5)) is None
    assert recipe(Run("deepseek-r1", "gb300", "fp4", 8192, 1024, 25, 3), PREFILL, decode()) is None
    assert recipe(Run("deepseek-r1", "gb300", "fp4", 4096, 1024, 24, 3), PREFILL, decode()) is None
    assert recipe(msgspec.structs.replace(RUN, model="gpt-oss-120b"), PREFILL, decode()) is None
    same = launched(Run("deepseek-r1", "h100_sxm", "fp8", 8192, 1024, 24), PREFILL, decode())
    assert same == (PREFILL, decode(), "")


def test_a_run_with_and_one_without_drafts_have_recipes_of_their_own() -> None:
    """gb300-fp4 1k1k at 12 clients: batch8 with three drafts, batch32 without."""
    batches = {}
    for drafts in (3, 0):
        found = recipe(
            Run("deepseek-r1", "gb300", "nvfp4", 1024, 1024, 12, drafts), PREFILL, decode()
        )
        assert found is not None
        batches[drafts] = found.batch
    assert batches == {3: 8, 0: 32}


def test_a_recipe_whose_name_says_other_than_its_file_has_the_file_s_batch() -> None:
    """b200-fp4/8k1k/stp/ctx1_gen5_tep8_batch8_eplb0_mtp0.yaml: max_batch_size 16."""
    prefill = Pool(layout=Layout(attention_data=4, expert=4))
    found = recipe(
        Run("deepseek-r1", "b200_sxm", "fp4", 8192, 1024, 100), prefill, decode(replicas=5)
    )
    assert found is not None
    assert found.batch == 16


ROW = {
    "gpu": "GB300 NVL72",
    "framework": "dynamo-trt 0.8.1.post2",
    "precision": "NVFP4 weights/acts, KV fp8",
    "model": "DeepSeek-R1-0528-NVFP4-v2",
    "isl": "8192",
    "osl": "1024",
}


@pytest.mark.parametrize(
    ("config", "clients", "batch"),
    [
        ("1P TEP2 + 4D TEP8; MTP3 (disaggregated)", "24", 4),
        ("1P TEP2 + 3D TEP8; MTP3 (disaggregated)", "33", 8),
        ("1P TEP2 (2 GPU) + 4D TEP8 (32 GPU); decode batch 4; MTP3", "5", 4),  # as the row says
    ],
)
def test_azure_s_curve_has_the_places_of_its_recipes(config: str, clients: str, batch: int) -> None:
    found = inferencex.measurement({**ROW, "config": config, "concurrency": clients})
    assert found.decode is not None
    assert found.decode.max_batch == batch


def test_a_published_row_has_them_too(published_row: dict[str, str]) -> None:
    sides = {
        f"{side}_{name}": value
        for side, workers, ranks in (("prefill", "1", "2"), ("decode", "4", "1"))
        for name, value in {
            "num_workers": workers,
            "tp_size": "1" if side == "prefill" else "8",
            "attention_dp_size": ranks,
            "moe_tp_size": "1",
            "moe_ep_size": "2" if side == "prefill" else "8",
        }.items()
    }
    row = {**published_row, **sides, "mode": "disagg", "gpu_system": "gb300", "isl": "1024"}
    one = sheet.measurement({**row, "osl": "1024", "concurrency": "192", "precision": "fp4"})
    assert one.decode is not None
    assert one.decode.max_batch == 32
    assert any("sequences a decode rank" in note for note in one.inferred)


@pytest.mark.parametrize(
    "config",
    [
        "0P TEP2 (2 GPU) + 4D TEP8 (32 GPU)",
        "1P TEP2 + 0D TEP8",
        "1P TEP2 + 4D TEP0",
        "1P TEP2 + 4D TEP8; decode batch 0",
        "1P (TP2/EP2 ADP, 000 tokens) + 4D TEP8",
        "9999P TEP2 + 9999D TEP9999",
    ],
)
def test_configs_that_count_nothing_or_too_much_are_refused(config: str) -> None:
    with pytest.raises(BadInput, match="config"):
        inferencex.measurement({**ROW, "config": config, "concurrency": "24"})


def test_a_recipe_with_drafts_is_none_of_a_run_without() -> None:
    """recipes/trtllm/gb200-fp4/1k8k/mtp/ctx1_gen7_tep8_batch1_eplb0_mtp3.yaml at 7 clients."""
    prefill = Pool(layout=Layout(attention_data=4, expert=4))
    run = Run("deepseek-r1", "gb200", "fp4", 1024, 8192, 7)
    assert recipe(run, prefill, decode(replicas=7)) is None
    drafted = recipe(msgspec.structs.replace(run, drafts=3), prefill, decode(replicas=7))
    assert drafted is not None
    assert drafted.batch == 1


def test_a_pipeline_has_no_recipe() -> None:
    layout = Layout(tensor=4, expert=4, pipeline=2)
    assert recipe(RUN, PREFILL, Pool(layout=layout, replicas=4)) is None

"""Reading tables of measurements: the published one row by row, and tables made to hurt."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from racktwin.evidence import cells, sheet
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.sheet import Sheet
from racktwin.finding import BadInput
from racktwin.models.layout import Layout

Reader = Callable[..., Measurement]


@pytest.fixture
def one(published_row: dict[str, str]) -> Reader:
    """Reads the published row with some cells changed."""
    return lambda **changes: sheet.measurement({**published_row, **changes})


@pytest.fixture(scope="module")
def published(shared: Path) -> Sheet:
    return sheet.read(shared / "truth" / "serving_measured.csv")


def test_every_complete_row_has_a_deployment(published: Sheet, shared: Path) -> None:
    with (shared / "truth" / "serving_measured.csv").open() as file:
        complete = {row["id"] for row in csv.DictReader(file) if row["complete"] == "True"}
    read = {each.id: each for each in published.measurements}
    assert len(complete) == 1965
    assert set(read) == complete
    assert all(each.gpus > 0 and each.tpot for each in read.values())
    refused = Counter(f.key for each in published.refused for f in each.findings)
    assert len(published.refused) == 416
    assert refused == {"prefill_num_workers": 412, "decode_num_workers": 412, "concurrency": 4}


def test_a_step_has_room_for_a_prompt(published: Sheet) -> None:
    """A budget of some tokens would have prompts of a thousand wait for a thousand steps."""
    budgets = {pool.max_batch_tokens for each in published.measurements for pool in each.pools}
    assert min(budgets) >= 1024


def test_gb300_rows_by_gpus(published: Sheet) -> None:
    """By hand from the worker columns: 1 x 4 + 4 x 8 is 36 GPUs, and so on."""
    rows = [each for each in published.measurements if each.system == "gb300"]
    sizes = {8: 2, 12: 1, 20: 4, 22: 3, 26: 1, 28: 1, 34: 6, 36: 6, 56: 1, 72: 5}
    assert Counter(each.gpus for each in rows) == sizes


def test_scripts_of_2025_chose_attention_data_parallelism_by_their_load(one: Reader) -> None:
    """dsr1_fp4_b200_trt_slurm.sh of October 2025: from 256 clients, or 33 at long prompts."""
    then = {"measured_on": "2025-11-02", "framework_version": ""}
    few, many = one(**then, concurrency="128"), one(**then, concurrency="256")
    long = one(**then, concurrency="64", isl="8192")
    assert few.serve is not None
    assert few.serve.layout == Layout(tensor=4, expert=4)
    assert few.serve.max_batch_tokens == 1024 + 128 + 64
    assert few.client.held == 0
    for each in (many, long):
        assert each.serve is not None
        assert each.serve.layout == Layout(attention_data=4, expert=4)
        assert each.client.held == 60
        assert any("attention-DP" in note for note in each.inferred)
    later = one(measured_on="2026-02-03", concurrency="256")
    assert later.serve is not None
    assert later.serve.layout == Layout(tensor=4, expert_tensor=4)
    assert later.serve.max_batch_tokens == 8192


def test_results_of_2025_do_not_say_how_experts_lay(one: Reader) -> None:
    """.github/configs/master.yaml of October 2025: EP = TP from so many clients on."""
    then = {"measured_on": "2025-11-02", "framework_version": "", "gemm_quant_mode": ""}
    fp8 = {"precision": "fp8", "tp_size": "8", "moe_tp_size": "8"}
    h200 = one(**then, **fp8, gpu_system="h200_sxm", concurrency="4")
    few, more = one(**then, concurrency="32"), one(**then, concurrency="64")
    found = [each.serve.layout for each in (h200, few, more) if each.serve]
    assert found == [
        Layout(tensor=8, expert=8),
        Layout(tensor=4, expert_tensor=4),
        Layout(tensor=4, expert=4),
    ]


def test_a_release_can_be_known_from_the_script(one: Reader) -> None:
    then = {"measured_on": "2025-11-02", "framework_version": "", "image": ""}
    assert one(**then).engine == "trtllm-1.1"
    assert one(**then, model="openai/gpt-oss-120b").engine == "trtllm-1.2"
    assert one(model="openai/gpt-oss-120b", framework_version="1.1.0").engine == "trtllm-1.1"


def test_precision_follows_the_checkpoint(one: Reader) -> None:
    assert one().precision == "nvfp4"
    assert one(precision="fp8", gemm_quant_mode="fp8").precision == "fp8_block"
    assert one(model="openai/gpt-oss-120b", gemm_quant_mode="nvfp4").precision == "mxfp4"
    assert one(model="meta-llama/Llama-3.1-70B", precision="fp8").precision == "fp8"
    blank = one(model="meta-llama/Llama-3.1-70B", precision="")
    assert blank.precision == "bf16"
    assert "precision empty: bf16, as its checkpoint is" in blank.inferred


def test_lengths_and_cache_come_from_the_launch_scripts(one: Reader) -> None:
    drawn = one()
    assert drawn.traffic.input == pytest.approx(0.9 * 1024)
    assert drawn.kv == "fp8"
    fixed = one(id="qwen_trtllm_agg_1024x1024_c64_tp4_epnone_1")
    assert fixed.traffic.input == 1024
    assert any("range ratio" in note for note in drawn.inferred)


def test_replicas_are_concurrency_over_batch_size_without_attention_dp(one: Reader) -> None:
    many = one(
        id="x_c448_tp8_epnone_1",
        tp_size="8",
        moe_tp_size="1",
        moe_ep_size="8",
        concurrency="448",
        batch_size="56",
    )
    assert many.serve is not None
    assert many.serve.replicas == 8
    assert many.gpus == 64
    ranks = one(
        tp_size="1",
        attention_dp_size="16",
        moe_tp_size="4",
        moe_ep_size="4",
        concurrency="256",
        batch_size="16",
    )
    assert ranks.gpus == 4


def test_multi_token_prediction_is_inferred_and_doubted(one: Reader) -> None:
    fast = one(framework_version="1.2.0rc6.post3")
    assert fast.serve is not None
    assert fast.serve.speculation.tokens == 3
    assert not fast.trusted("tpot")
    assert one().trusted("tpot")


def test_a_sum_over_the_rack_is_split_and_doubted(one: Reader) -> None:
    rack = one(
        gpu_system="gb200", tp_size="36", attention_dp_size="1", moe_tp_size="36", moe_ep_size="1"
    )
    assert rack.gpus == 36
    assert rack.decode is not None
    assert rack.decode.layout == Layout(attention_data=32, expert=32)
    assert not rack.trusted("tpot")


def test_disaggregated_rows_need_their_replicas(one: Reader) -> None:
    columns = {"tp_size": "1", "attention_dp_size": "4", "moe_tp_size": "1", "moe_ep_size": "4"}
    pools = {f"{role}_{name}": text for role in cells.ROLES for name, text in columns.items()}
    with pytest.raises(BadInput, match="decode_num_workers"):
        one(mode="disagg", **pools)
    both = {"prefill_num_workers": "6", "decode_num_workers": "1"}
    assert one(mode="disagg", **pools, **both).gpus == 28


def test_every_fault_of_a_row_is_found_at_once(one: Reader) -> None:
    with pytest.raises(BadInput) as error:
        one(
            concurrency="nan",
            isl="-3",
            tp_size="1e9",
            moe_tp_size="2.5",
            model="deepseek-r9",
            gpu_system="b2000",
            framework="vlm",
            mode="both",
            osl="",
        )
    keys = {finding.key for finding in error.value.findings}
    assert keys == {
        "concurrency",
        "isl",
        "tp_size",
        "moe_tp_size",
        "model",
        "gpu_system",
        "framework",
        "mode",
        "osl",
    }


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00\x01", "id\n" + "x" * 200_000])
def test_files_that_are_no_table_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(BadInput):
        sheet.read(path)


def test_other_bytes_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,model\n\xff\xfe\n" * 9)
    with pytest.raises(BadInput):
        sheet.read(path)
    with pytest.raises(BadInput, match="cannot be read"):
        sheet.read(tmp_path / "none.csv")


def test_a_truncated_row_is_refused_and_the_rest_is_read(
    tmp_path: Path, published_row: dict[str, str]
) -> None:
    path = tmp_path / "rows.csv"
    lines = [
        ",".join(published_row),
        ",".join(published_row.values()),
        ",".join(published_row.values())[:60],
    ]
    path.write_text("\n".join(lines))
    found = sheet.read(path)
    assert [each.line for each in found.measurements] == [2]
    assert [each.line for each in found.refused] == [3]


def test_names_of_columns_do_not_depend_on_their_order(
    tmp_path: Path, published_row: dict[str, str]
) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted(published_row, reverse=True))
        writer.writeheader()
        writer.writerow(published_row)
    assert sheet.read(path).measurements[0].gpus == 4


def test_a_prediction_does_not_hang_on_how_a_row_is_spelled(one: Reader) -> None:
    ran = {"framework": "vllm", "framework_version": "0.19.0", "precision": "fp8"}
    plain = one(**ran, model="MiniMaxAI/MiniMax-M2.5")
    for other in (
        {"model": "minimax-m2.5"},
        {"model": "minimaxai/minimax-m2.5"},
        {"framework_version": "v0.19.0"},
        {"framework_version": "V0.19.0"},
        {"framework_version": "vllm-0.19.0"},
        {"framework_version": "vLLM 0.19.0"},
        {"precision": "FP8"},
        {"framework_version": "", "image": "vllm/vllm-openai:v0.19.0"},
    ):
        again = one(**{**ran, "model": plain.model, **other})
        assert (again.kv, again.pools, again.engine) == (plain.kv, plain.pools, plain.engine)


def test_models_distilled_from_another_have_no_settings_of_its_own(one: Reader) -> None:
    """MTP rules of DeepSeek-R1 made a Llama 70B faster than its weights can be read."""
    day = {"measured_on": "2026-01-14", "framework_version": "1.1.0rc2.post2"}
    found = one(**day, model="deepseek-ai/DeepSeek-R1-Distill-Llama-70B", tp_size="4")
    assert found.serve is not None
    assert found.serve.speculation.tokens == 0
    teacher = one(**day, model="deepseek-ai/DeepSeek-R1")
    assert teacher.serve is not None
    assert teacher.serve.speculation.tokens == 3


@pytest.mark.parametrize("written", ["17.04.2026", "04/17/2025", "20250401", "2026-04-31", "x"])
def test_what_is_no_date_is_not_read_and_said(one: Reader, written: str) -> None:
    bare = one(framework="vllm", framework_version="nightly", measured_on="")
    odd = one(framework="vllm", framework_version="nightly", measured_on=written)
    assert odd.engine == bare.engine
    assert any("measured_on" in note for note in odd.inferred)


def test_clients_beyond_what_engines_hold_take_no_memory(one: Reader) -> None:
    most = [one(concurrency=f"{count}").serve for count in (100, 1500, 5000, 50_000)]
    assert [pool.max_batch for pool in most if pool] == [512, 1500, 2048, 2048]
    loads = [one(framework=each, concurrency="5000").serve for each in ("vllm", "sglang")]
    assert [pool.max_batch for pool in loads if pool] == [1024, 2048]

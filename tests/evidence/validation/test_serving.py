"""Validation of serving rows: blind to what was measured, answers to whatever is complete."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from racktwin.evidence import sheet
from racktwin.evidence.data import HERE
from racktwin.evidence.table import rows
from racktwin.evidence.validation import serving
from racktwin.evidence.validation.point import Point, Validation
from racktwin.evidence.validation.record import points_csv
from racktwin.evidence.validation.serving import Priced
from racktwin.finding import BadInput

Row = dict[str, str]
Validate = Callable[[Sequence[Row]], Validation]
MEASURED = ("ttft_mean_ms", "tpot_mean_ms")
ADDED = [
    *("predicted_ttft_ms", "predicted_tpot_ms", "predicted_tokens_per_s_per_gpu"),
    *("ttft_low_ms", "ttft_high_ms", "tpot_low_ms", "tpot_high_ms", "evidence", "reason"),
]


@pytest.fixture(scope="module")
def sample() -> list[Row]:
    """Thirty complete rows of the published table, of every chip."""
    table = [row for _, row in rows(HERE / "serving_measured.csv.gz", ("complete",))]
    complete = [row for row in table if row["complete"] == "True"]
    picked = random.Random(1).sample(complete, 26)
    return picked + [row for row in complete if row["gpu_system"] == "gb300"][:4]


@pytest.fixture
def validate(tmp_path: Path) -> Validate:
    """Validates rows by way of a file."""

    def run(table: Sequence[Row]) -> Validation:
        path = tmp_path / "rows.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
        return serving(path)

    return run


def predicted(found: Validation) -> list[tuple[str, ...]]:
    return [tuple(p.columns[name] for name in ADDED) for p in found.points]


def one(found: Validation) -> Point:
    (point,) = found.points
    return point


def test_predictions_do_not_see_what_was_measured(validate: Validate, sample: list[Row]) -> None:
    asked = predicted(validate(sample))
    blank = [row | dict.fromkeys(MEASURED, "") for row in sample]
    moved = sample[1:] + sample[:1]
    shuffled = [
        row | {name: other[name] for name in MEASURED}
        for row, other in zip(sample, moved, strict=True)
    ]
    huge = [row | dict.fromkeys(MEASURED, "99999999") for row in sample]
    junk = [row | dict.fromkeys(MEASURED, "n/a") for row in sample]
    for changed in (blank, shuffled, huge, junk):
        assert predicted(validate(changed)) == asked


def test_every_row_lies_in_a_sane_band(validate: Validate, sample: list[Row]) -> None:
    found = validate(sample)
    assert len(found.answered) == len(sample)
    for point in found.points:
        tpot = next(each for each in point.values if each.figure == "tpot")
        assert tpot.measured is not None
        if not tpot.doubt:
            assert 0.4 < tpot.value / tpot.measured < 2.5, point.cells["id"]


def test_columns_are_those_of_the_input_and_the_prediction(
    validate: Validate, sample: list[Row]
) -> None:
    first = validate(sample[:3])
    table = list(csv.reader(io.StringIO(points_csv(first))))
    assert table[0] == [*sample[0], *ADDED]
    assert [row[: len(sample[0])] for row in table[1:]] == [list(r.values()) for r in sample[:3]]
    again = validate(list(csv.DictReader(io.StringIO(points_csv(first)))))
    assert points_csv(again) == points_csv(first)


def test_rate_follows_from_both_latencies_by_littles_law(
    validate: Validate, published_row: Row
) -> None:
    point = one(validate([published_row]))
    ttft, tpot, rate = (float(point.columns[name]) for name in ADDED[:3])
    assert rate == pytest.approx(64 * 921.6 / (ttft + 920.6 * tpot) * 1e3 / 4, rel=1e-4)
    low, high = (float(point.columns[name]) for name in ("tpot_low_ms", "tpot_high_ms"))
    assert low <= tpot < high


@pytest.mark.parametrize(
    "changes",
    [
        {"gpu_system": "b300_sxm"},
        {"gpu_system": "GB300 NVL72"},
        {"model": "moonshotai/Kimi-K2-Instruct"},
        {"model": "zai-org/GLM-4.5"},
        {"model": "kimi-k2", "tp_size": "16", "moe_tp_size": "1", "moe_ep_size": "16"},
        {"tp_size": "2", "attention_dp_size": "8", "moe_tp_size": "1", "moe_ep_size": "16"},
        {"tp_size": "1", "moe_tp_size": "1", "moe_ep_size": "1"},
        {"framework": "vllm", "framework_version": "0.99.1"},
        {"framework": "TensorRT-LLM", "framework_version": ""},
        {"precision": "bf16", "pp_size": "2"},
        {"isl": "131072", "osl": "8192", "concurrency": "4096"},
    ],
)
def test_what_was_never_fitted_is_answered(
    changes: Row, validate: Validate, published_row: Row
) -> None:
    point = one(validate([published_row | changes]))
    assert point.reason == ""
    assert all(0 < each.value < 1e9 and (each.low or 0) <= each.value for each in point.values)


def test_published_rows_are_also_predicted_by_constants_that_never_saw_them(
    validate: Validate, sample: list[Row], published_row: Row
) -> None:
    found = validate(sample)
    held = [value for point in found.points for value in point.values if value.held]
    assert len(held) > 2 * len(sample)
    assert any(value.held and value.held.value != value.value for value in held)
    off = [abs(v.value / v.held.value - 1) for v in held if v.held and v.figure == "tpot"]
    assert max(off) < 0.5
    assert not any(v.held for v in one(validate([published_row | {"isl": "3000"}])).values)


def test_evidence_that_is_farther_makes_intervals_wider(
    validate: Validate, published_row: Row
) -> None:
    many = {"framework": "vllm", "framework_version": "0.19.0", "model": "MiniMaxAI/MiniMax-M2.5"}

    def width(**changes: str) -> float:
        tpot = one(validate([published_row | many | changes])).values[0]
        assert tpot.low is not None
        assert tpot.high is not None
        return (tpot.high - tpot.low) / tpot.value

    unseen = width(gpu_system="b300_sxm")
    assert unseen > width()
    assert width(model="moonshotai/Kimi-K2-Instruct") > width()
    said = one(validate([published_row | many | {"gpu_system": "b300_sxm"}])).columns["evidence"]
    assert "b300 was never measured: errors of" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"concurrency": ""}, "concurrency empty: 64 from the id"),
        ({"mode": ""}, "mode empty: agg from the columns that are filled"),
        ({"moe_tp_size": "3", "moe_ep_size": "5"}, "read as 4 x 1"),
        ({"framework_version": "1.9.3"}, "version 1.9.3 is not calibrated: nearest"),
        ({"framework": "dynamo-trt"}, "framework 'dynamo-trt' read as trtllm"),
        (
            {"model": "kimi-k2", "tp_size": "1", "moe_tp_size": "1"},
            "no request fits into the memory of serve",
        ),
    ],
)
def test_what_is_inferred_is_said(
    changes: Row, said: str, validate: Validate, published_row: Row
) -> None:
    point = one(validate([published_row | changes]))
    assert point.reason == ""
    assert said in point.columns["evidence"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "deepseek-r9"}, "did you mean 'deepseek-"),
        ({"model": "../../etc/passwd"}, "model: "),
        ({"framework": "vlm"}, "framework: "),
        ({"gpu_system": "b2000"}, "gpu_system: "),
        ({"id": "x", "tp_size": ""}, "tp_size: empty: the layout is not known"),
        ({"mode": "disagg"}, "decode_num_workers: is empty"),
        ({"isl": "8k"}, "isl: '8k' is no number"),
        ({"concurrency": "nan"}, "concurrency: 'nan' is no number"),
    ],
)
def test_rows_without_an_answer_say_why(
    changes: Row, reason: str, validate: Validate, published_row: Row
) -> None:
    point = one(validate([published_row | changes]))
    assert reason in point.reason
    assert point.columns == {"reason": point.reason}


def test_doubted_repeated_and_unmeasured_rows(validate: Validate, published_row: Row) -> None:
    doubted = published_row | {"framework_version": "1.2.0rc6.post3"}
    table = [published_row, published_row, doubted, published_row | {"tpot_mean_ms": ""}]
    first, second, third, fourth = validate(table).points
    assert [each.repeated for each in (first, second, third, fourth)] == [False, True, False, False]
    assert not first.values[0].doubt
    assert "version occurs in the MTP scripts" in third.values[0].doubt
    assert fourth.values[0].measured is None


def test_strange_columns_are_named(validate: Validate, published_row: Row) -> None:
    row = {("ttft_mean_s" if k == "ttft_mean_ms" else k): v for k, v in published_row.items()}
    (note,) = validate([row]).notes
    assert note == "column 'ttft_mean_s' is not read; is it 'ttft_mean_ms'?"


def test_seconds_in_a_column_of_milliseconds_are_noted(
    validate: Validate, published_row: Row
) -> None:
    (note,) = validate([published_row | {"tpot_mean_ms": "0.0165"}]).notes
    assert note.startswith("tpot_mean_ms: are these seconds?")
    assert validate([published_row]).notes == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "column is missing"),
        (b"id,model\n1,2\n", "concurrency: column is missing"),
        (b"gpu_sys,framework,model,isl,osl,concurrency\n", "is it 'gpu_sys'"),
        (b"isl,isl,gpu_system,framework,model,osl,concurrency\n", "stands twice"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "file: is not UTF-8 text"),
        (b"words and words " * 70_000, "file: is no CSV"),
    ],
)
def test_files_that_are_no_table_are_refused_whole(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said.replace("'", ".")):
        serving(path)


def test_constants_of_a_fold_are_those_of_the_run_too(published_row: Row) -> None:
    """A run whose graphs leave attention out has them out in every fold."""
    changes = {"framework": "vllm", "framework_version": "0.18.0", "gpu_system": "h100_sxm"}
    minimax = {"model": "MiniMaxAI/MiniMax-M2.5", "precision": "fp8", "gemm_quant_mode": ""}
    row = sheet.measurement({**published_row, **changes, **minimax, "moe_quant_mode": ""})
    assert dict(row.constants) == {"split_graphs": True}
    priced = Priced()
    assert priced.of(row)[0].deployment.engine.split_graphs
    assert all(priced.without(row, each).deployment.engine.split_graphs for each in range(5))

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from racktwin.finding import BadInput
from racktwin.serving.traces import load
from racktwin.serving.traces.vllm_bench import Result, measured

RUN: dict[str, Any] = {
    "completed": 4,
    "total_input_tokens": 4000,
    "total_output_tokens": 802,
    "request_throughput": 2.0,
    "duration": 2.0,
    "output_throughput": 401.0,
    "max_output_tokens_per_s": 500.0,
}
DETAIL = {
    "input_lens": [10, 20, 30, 40],
    "output_lens": [1, 2, 3, 4],
    "start_times": [7.5, 7.0, 8.0, 9.0],
    "errors": ["", "", "timeout", ""],
    "itls": [[0.1], [], [], []],
    "generated_texts": ["a", "b", "c", "d"],
}


def write(folder: Path, *runs: dict[str, Any], indent: int | None = None) -> Path:
    path = folder / "result"
    path.write_text("\n".join(json.dumps(run, indent=indent) for run in runs))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_detailed_results_by_hand(tmp_path: Path, indent: int | None) -> None:
    made = load(write(tmp_path, RUN | DETAIL, indent=indent))
    assert made.arrival.tolist() == [0.0, 0.5, 2.0]
    assert made.input.tolist() == [20, 10, 40]
    assert made.output.tolist() == [2, 1, 4]
    assert made.skipped[0].reason == "the request failed"
    assert made.skipped[0].lines == (3,)


def test_without_start_times_arrivals_are_even_and_this_is_said(tmp_path: Path) -> None:
    made = load(write(tmp_path, RUN | DETAIL | {"start_times": [], "errors": []}))
    assert made.arrival.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert made.warnings == ("no start times: arrivals are even at the measured rate",)


def test_without_detail_all_have_the_mean_lengths_and_this_is_said(tmp_path: Path) -> None:
    made = load(write(tmp_path, RUN))
    assert made.input.tolist() == [1000] * 4
    assert made.output.tolist() == [200] * 4
    assert made.rate == pytest.approx(2.0)
    assert "all have the mean lengths" in made.warnings[0]


def test_of_several_runs_the_last_is_taken(tmp_path: Path) -> None:
    made = load(write(tmp_path, RUN, RUN | {"completed": 9}))
    assert len(made) == 9
    assert made.warnings[0] == "2 runs in the file: the last is taken"


def test_e05_a_peak_below_the_mean_is_dropped(tmp_path: Path) -> None:
    """vllm-project/vllm#50677: mean 410.61 tok/s, peak 113, counted in chunks of 3.6 or more."""
    result = Result(4, 4000, 800, 2.0, output_throughput=410.61, max_output_tokens_per_s=113.0)
    told = measured(result)
    assert (told.mean, told.peak) == (410.61, None)
    (remark,) = told.remarks
    assert "peak of 113 output tokens/s is below the mean of 410.61" in remark
    assert "chunks, of 3.6 tokens or more" in remark
    made = load(write(tmp_path, RUN | {"max_output_tokens_per_s": 113.0}))
    assert "the mean is kept" in made.warnings[0]
    sound = measured(
        Result(4, 4000, 800, 2.0, output_throughput=400.0, max_output_tokens_per_s=410)
    )
    assert (sound.peak, sound.remarks) == (410, ())


def test_broken_results_are_one_message(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no complete vLLM benchmark result"):
        load(write(tmp_path, {"completed": 1, "total_input_tokens": "many"}))
    with pytest.raises(BadInput, match="tells of -3 completed requests"):
        load(write(tmp_path, RUN | {"completed": -3}))

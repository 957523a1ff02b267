from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.serving.traces import load

START = 1_759_813_207_532_900_363


def record(session: str, start: float, seconds: float, input: int, error: object = None) -> str:
    metadata = {
        "x_correlation_id": session,
        "request_start_ns": START + round(start * 1e9),
        "request_end_ns": START + round((start + seconds) * 1e9),
        "was_cancelled": False,
    }
    lengths = {"input_sequence_length": input, "output_sequence_length": 9}
    metrics = {name: {"value": value, "unit": "tokens"} for name, value in lengths.items()}
    if error:
        metrics = {"error_isl": {"value": input, "unit": "tokens"}}
    return json.dumps({"metadata": metadata, "metrics": metrics, "error": error})


def test_records_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "profile_export.jsonl"
    lines = [
        record("a", 0.5, 2.0, 550),
        record("b", 0.0, 1.0, 100),
        record("c", 1.0, 0.1, 70, {"code": 499}),
        record("a", 4.0, 1.0, 900),
    ]
    path.write_text("\n".join(lines))
    made = load(path)
    assert made.arrival == pytest.approx([0.0, 0.5, 4.0], abs=1e-6)
    assert made.input.tolist() == [100, 550, 900]
    assert made.after.tolist() == [-1, -1, 1]
    assert made.pause == pytest.approx([0, 0, 1.5], abs=1e-6)
    assert made.notes == (
        "1 line skipped: the request failed or was cancelled (line 3)",
        "1 line was out of order and sorted",
    )


def test_a_summary_becomes_as_many_requests(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    percentiles = {"min": 10, "p1": 12, "p50": 100, "p90": 500, "p99": 900, "max": 1000}
    told = {
        "request_count": {"avg": 20_000.0, "unit": "requests"},
        "request_throughput": {"avg": 4.0, "unit": "requests/sec"},
        "input_sequence_length": {"avg": 180.0, "unit": "tokens"} | percentiles,
        "output_sequence_length": {"avg": 32.0, "unit": "tokens"},
    }
    path.write_text(json.dumps(told, indent=2))
    made = load(path)
    assert len(made) == 20_000
    assert made.rate == pytest.approx(4.0)
    assert (made.output == 32).all()
    assert np.percentile(made.input, [50, 90]) == pytest.approx([100, 500], rel=0.05)
    assert made.warnings[0].startswith("a summary: lengths are drawn from its percentiles")
    path.write_text('{"request_count": {"avg": 3}, "input_sequence_length": 3}')
    with pytest.raises(BadInput, match="is no complete AIPerf summary"):
        load(path)

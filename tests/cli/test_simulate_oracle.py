"""`simulate --oracle`: the same requests through the other simulation."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.test_simulate import LENGTHS, PAIR, SERVE, run


@pytest.mark.parametrize("text", [SERVE, PAIR])
def test_the_oracle_tells_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "deployment.yaml"
    path.write_text(text)
    role = "decode" if text == PAIR else "serve"
    load = (*LENGTHS, "--rate", "60/s", "--requests", "300", "--fail", f"{role}:0@1s+1s")
    answers, frames = [], []
    for words in ((), ("--oracle",)):
        rows = tmp_path / f"rows{len(words)}.parquet"
        code, out, err = run(
            capsys, str(path), *load, "--requests-out", str(rows), "--json", *words
        )
        assert (code, err) == (0, "")
        answers.append(json.loads(out))
        frames.append(pl.read_parquet(rows).sort("request"))
    assert frames[0].equals(frames[1])
    assert [each["simulator"] for each in answers] == ["kernel", "oracle"]
    assert "oracle" in answers[1]["notes"][0]
    assert "oracle" not in str(answers[0]["notes"])
    for name in ("ttft", "tpot", "e2e"):
        assert answers[0][name] == pytest.approx(answers[1][name])

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from racktwin.finding import BadInput
from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import COLUMNS, Trace, join
from racktwin.serving.traces import load, parquet, read, write
from racktwin.serving.workload import workload


def same(one: Trace, other: Trace) -> bool:
    arrays = (*COLUMNS, "blocks", "starts")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays)


@pytest.mark.parametrize("name", ["agentic-coding", "azure-conv-2023"])
def test_a_trace_comes_back_as_it_was(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = workload(name).trace(700)
    write(made, tmp_path / "t")
    assert same(made, load(tmp_path / "t"))
    monkeypatch.setattr(parquet, "ROWS", 90)
    assert same(made, join(read(tmp_path / "t", chunk=128)))
    assert load(tmp_path / "t").block_size == made.block_size


def test_all_columns_are_kept(tmp_path: Path) -> None:
    made = Trace.of(
        [1.0, 2.0],
        [40, 50],
        [5, 6],
        priority=[-3, 4],
        model=[1, 0],
        session=[0, 0],
        after=[-1, 0],
        pause=[0.0, 0.25],
        encoder=[16, 0],
        images=[2, 0],
        models=("a", "b"),
        slo_class=[1, -1],
        classes=("c", "d"),
        block_size=32,
        prefix=Ragged.of([np.array([1, 2]), np.array([1, 3])]),
    )
    write(made, tmp_path / "t.parquet")
    again = load(tmp_path / "t.parquet")
    assert same(made, again)
    assert again.models == ("a", "b")
    assert again.classes == ("c", "d")


def test_tables_of_others_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "t"
    columns = {"arrival": [3.0, None, 1.0, 2.0], "input": [5, 5, 0, 7], "output": [1, 1, 1, 1]}
    pl.DataFrame(columns).write_parquet(path)
    made = load(path)
    assert made.input.tolist() == [7, 5]
    assert {each.reason: each.lines for each in made.skipped} == {
        "no finite time": (2,),
        "input of less than 1 token": (3,),
    }


def test_what_is_no_trace_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "t"
    pl.DataFrame({"arrival": [1.0], "output": [1]}).write_parquet(path)
    with pytest.raises(BadInput, match="has no column input"):
        load(path)
    pl.DataFrame({"arrival": ["x"], "input": [1], "output": [1]}).write_parquet(path)
    with pytest.raises(BadInput, match="cannot be read"):
        load(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(BadInput, match="cannot be read"):
        load(path)


def test_classes_of_others_are_words(tmp_path: Path) -> None:
    columns = {"arrival": [0.0, 1.0, 2.0], "input": [5] * 3, "output": [1] * 3}
    pl.DataFrame(columns | {"class": ["b", None, "a"]}).write_parquet(tmp_path / "t")
    made = load(tmp_path / "t")
    assert (made.classes, made.slo_class.tolist()) == (("b", "a"), [0, -1, 1])

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.serving.trace import join
from racktwin.serving.traces import load, read, source

HEAD = "arrival_s,input_tokens,output_tokens\n"


def test_streams_join_to_what_load_gives(tmp_path: Path) -> None:
    path = tmp_path / "t"
    times = np.arange(5000) / 10 + np.random.default_rng(1).uniform(0, 1, 5000)
    rows = [f"{time:.4f},{100 + index},7" for index, time in enumerate(times)]
    rows[1234] = "broken"
    path.write_text(HEAD + "\n".join(rows))
    whole, parts = load(path), list(read(path, chunk=512))
    assert [len(part) for part in parts] == [512] * 9 + [391]
    assert [part.first for part in parts] == list(range(0, 5000, 512))
    streamed = join(parts)
    assert streamed.arrival.tobytes() == whole.arrival.tobytes()
    assert streamed.input.tobytes() == whole.input.tobytes()
    assert parts[-1].notes == whole.notes
    assert str(whole.skipped[0]) == "1 line skipped: cannot be read (line 1,236)"


def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    monkeypatch.setattr(source, "BLOCK", 1 << 14)

    def peak(count: int) -> int:
        path.write_text(HEAD + "".join(f"{index},100,7\n" for index in range(count)))
        tracemalloc.start()
        assert sum(map(len, read(path, chunk=1000))) == count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(40_000) < 1.2 * peak(20_000)


def test_a_missing_file_is_known_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        read(tmp_path / "nothing")

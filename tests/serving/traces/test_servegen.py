from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.serving.trace import join
from racktwin.serving.traces import load, read

EMPTY = {"input_tokens": "{}", "output_tokens": "{}", "reason_ratio": "{}"}


def client(folder: Path, name: str, windows: list[str], **quarters: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"chunk-{name}-trace.csv").write_text("\n".join(windows))
    (folder / f"chunk-{name}-dataset.json").write_text(json.dumps(quarters))


def quarter(input: str, output: str) -> dict[str, str]:
    return {"input_tokens": input, "output_tokens": output, "reason_ratio": "{0.0: 1.0}"}


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    busy = ["0,2.0,1.5,Gamma,0.44,1.1", "600,0.5,1,Weibull,1.0,2.0", "1200,0,0,,0,0"]
    client(folder, "1", busy, **{"0": quarter("{10: 0.25, 30: 0.75}", "{7: 1.0}")})
    client(
        folder,
        "2",
        ["0,0,0,,0,0", "600,1.0,1,Gamma,1,1"],
        **{"0": EMPTY, "600": quarter("{5: 1}", "{6: 1}")},
    )
    client(folder, "3", ["0,1.0,1,Gamma,1,1"], **{"0": EMPTY})
    return folder


def test_each_window_has_as_many_requests_as_its_rate_says(clients: Path) -> None:
    made = load(clients)
    assert made.rates(600.0).tolist()[0] == pytest.approx(2.0, abs=0.01)
    assert len(made) == 1200 + 300 + 600
    early = made.input[:1200]
    assert set(early.tolist()) == {10, 30}
    assert (early == 30).mean() == pytest.approx(0.75, abs=5 * 0.433 / np.sqrt(1200))
    assert set(made.input[1200:].tolist()) == {5, 10, 30}
    assert made.warnings == ("1 clients without lengths left out",)


def test_gaps_have_the_recorded_variation(clients: Path) -> None:
    gaps = np.diff(load(clients).arrival[:1200])
    assert gaps.std() / gaps.mean() == pytest.approx(0.44**-0.5, rel=0.15)


def test_the_seed_decides(clients: Path) -> None:
    one, again, other = load(clients), join(read(clients, chunk=100)), load(clients, seed=1)
    assert one.arrival.tobytes() == again.arrival.tobytes()
    assert one.input.tobytes() == again.input.tobytes()
    assert one.arrival.tobytes() != other.arrival.tobytes()


@pytest.mark.parametrize(
    "text",
    ["__import__('os').getcwd()", "{1: 2, 3}", "{1: nan}", "{-5: 1}", "{1: 0}", "[1]", "{a: 1}"],
)
def test_text_that_is_no_table_is_refused_and_not_run(tmp_path: Path, text: str) -> None:
    client(tmp_path / "bad", "1", ["0,1,1,Gamma,1,1"], **{"0": quarter(text, "{1: 1}")})
    with pytest.raises(BadInput, match="chunk-1: cannot be read"):
        load(tmp_path / "bad")


def test_incomplete_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no ServeGen client"):
        load(tmp_path)
    (tmp_path / "chunk-1-trace.csv").write_text("0,1,1,Gamma,1,1")
    with pytest.raises(BadInput, match=r"chunk-1-dataset\.json is missing"):
        load(tmp_path)
    for rate in ("nan", "-1", "1e30", "x"):
        client(tmp_path, "1", [f"0,{rate},1,Gamma,1,1"], **{"0": quarter("{1: 1}", "{1: 1}")})
        with pytest.raises(BadInput, match="chunk-1: cannot be read"):
            load(tmp_path)


def test_the_shared_set(shared: Path) -> None:
    made = load(shared / "traces/servegen_deepseek_r1_excerpt.tgz")
    assert len(made) == 251_166  # the sum of rates x 600 s over 20 clients
    assert made.rate == pytest.approx(251_166 / 86_400, rel=0.001)
    assert made.output.max() == 32_768

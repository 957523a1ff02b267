"""The fit of epoch constants: it finds what made the data, and does not follow few or odd rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from calibration import write as writing
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.epochs import epoch, names
from racktwin.evidence import data, interval
from racktwin.evidence.calibration.fit import ENOUGH, TPOT, TTFT, Linear, applied, fit, started
from racktwin.evidence.calibration.rescale import Rescaled, neutral
from racktwin.hardware import cluster
from racktwin.models import Layout, model
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

PER_SEQUENCE = 8e-6
NAMES = ("gap", "per_sequence", "communication")  # that each epoch has its own value of
EVERY = tuple(each for name in NAMES for each in TPOT if each.name == name)
START = np.array([constant.start for constant in EVERY])


def rows(count: int, seed: int) -> Linear:
    """Steps of 5 to 30 ms of which gaps, sequences and collectives take known parts."""
    drawn = np.random.default_rng(seed)
    base = drawn.uniform(5e-3, 30e-3, count)
    layers, sequences = drawn.uniform(30, 94, count), drawn.uniform(1, 256, count)
    slope = np.stack([layers, sequences, drawn.uniform(0.05, 0.3, count) * base], axis=1)
    return Linear(base, slope, np.broadcast_to(START, slope.shape).copy())


def truth(linear: Linear, gap: float, communication: float) -> np.ndarray:
    return linear(np.broadcast_to([gap, PER_SEQUENCE, communication], linear.slope.shape))


def fitted(linear: Linear, measured: np.ndarray, name: str, use: np.ndarray | None = None) -> dict:
    """The fit of rows of one epoch that are all unlike each other."""
    count = len(measured)
    use = np.ones(count, dtype=bool) if use is None else use
    return fit(EVERY, linear, measured, [name] * count, [str(row) for row in range(count)], use)


def test_the_constants_behind_many_rows_are_found() -> None:
    linear = rows(400, 1)
    measured = truth(linear, 45e-6, 1.6)
    found = fitted(linear, measured, "vllm-0.11")
    assert found["vllm-0.11"] == pytest.approx([45e-6, PER_SEQUENCE, 1.6], rel=0.03)


def test_epochs_without_rows_take_their_engines_value_and_others_stay() -> None:
    linear = rows(300, 2)
    measured = truth(linear, 45e-6, 1.6)
    found = fitted(linear, measured, "vllm-0.11")
    assert found["vllm-0.19"] == pytest.approx(found["vllm-0.11"], rel=0.1)
    assert found["sglang-0.5.9"] == pytest.approx(START)


def test_a_few_rows_move_an_epoch_less_than_many() -> None:
    linear = rows(400, 3)
    epochs = ["vllm-0.11"] * (400 - ENOUGH) + ["vllm-0.19"] * ENOUGH
    measured = truth(linear, 20e-6, 1.2)
    measured[-ENOUGH:] = truth(linear, 90e-6, 1.2)[-ENOUGH:]
    everything = np.ones(400, dtype=bool)
    unlike = [str(row) for row in range(400)]
    few = fit(EVERY, linear, measured, epochs, unlike, everything)["vllm-0.19"][0]
    assert 20e-6 < few < 90e-6
    alike = ["one"] * 400
    assert few > fit(EVERY, linear, measured, epochs, alike, everything)["vllm-0.19"][0]


def test_fewer_rows_than_enough_leave_an_epoch_with_the_values_of_its_engine() -> None:
    linear = rows(400, 3)
    epochs = ["vllm-0.11"] * (401 - ENOUGH) + ["vllm-0.19"] * (ENOUGH - 1)
    measured = truth(linear, 20e-6, 1.2)
    measured[1 - ENOUGH :] = truth(linear, 90e-6, 1.2)[1 - ENOUGH :]
    unlike = [str(row) for row in range(400)]
    found = fit(EVERY, linear, measured, epochs, unlike, np.ones(400, dtype=bool))
    assert found["vllm-0.19"] == pytest.approx(found["vllm-0.12"])


def test_a_constant_of_one_release_stays_where_it_is_for_the_others() -> None:
    (gemm,) = (each for each in TPOT if each.name == "gemm")
    linear = rows(200, 6)
    measured = 1.3 * linear.value
    alone = Linear(linear.value, linear.value[:, None], np.ones((200, 1)))
    unlike, everything = [str(row) for row in range(200)], np.ones(200, dtype=bool)
    old = fit((gemm,), alone, measured, ["trtllm-1.0"] * 200, unlike, everything)
    new = fit((gemm,), alone, measured, ["trtllm-1.2"] * 200, unlike, everything)
    assert old["trtllm-1.0"] == pytest.approx([1.3], rel=0.03)
    assert new["trtllm-1.2"] == pytest.approx([1.0], abs=0.01)


def test_one_row_that_is_ten_times_off_hardly_matters() -> None:
    linear = rows(200, 4)
    measured = truth(linear, 30e-6, 1.3)
    measured[7] *= 10
    found = fitted(linear, measured, "trtllm-1.2")
    assert found["trtllm-1.2"] == pytest.approx([30e-6, PER_SEQUENCE, 1.3], rel=0.04)


def test_rows_left_out_or_doubted_are_not_used() -> None:
    linear = rows(200, 5)
    measured = truth(linear, 30e-6, 1.3)
    measured[:60] *= 3
    measured[60:90] = np.nan
    found = fitted(linear, measured, "trtllm-1.2", np.arange(200) >= 60)
    assert found["trtllm-1.2"] == pytest.approx([30e-6, PER_SEQUENCE, 1.3], rel=0.03)


@pytest.mark.parametrize(
    ("where", "layout"),
    [
        ("hgx-b200", Layout(attention_data=4, expert=4)),
        ("azure-nd-h100-v5", Layout(tensor=4, expert_tensor=4)),
    ],
)
def test_rescaled_tables_equal_tables_priced_under_the_epoch(where: str, layout: Layout) -> None:
    asked = Deployment(
        model=model("gpt-oss-120b"),
        cluster=cluster(where),
        engine=epoch("trtllm-1.1"),
        precision=model("gpt-oss-120b").precision,
        serve=Pool(layout=layout),
    )
    bare = Deployment(
        **{name: getattr(asked, name) for name in asked.__struct_fields__}
        | {"engine": neutral(asked.engine)}
    )
    traffic = Traffic(input=1000, output=500)
    direct = Served(asked).closed(traffic, 64)
    again = Rescaled(Served(bare), asked.engine).closed(traffic, 64)
    assert again.tpot == pytest.approx(direct.tpot, rel=1e-9)
    assert again.ttft == pytest.approx(direct.ttft, rel=1e-9)


def test_fitted_lines_are_rewritten_and_the_rest_stays(tmp_path: Path) -> None:
    name = "vllm-0.18"
    path = tmp_path / f"{name}.yaml"
    path.write_text((writing.EPOCHS / path.name).read_text())
    before = path.read_text().splitlines()
    values = {name: np.array([12.5e-6, 2e-6, 1.25])}
    found = applied(started(TPOT + TTFT), EVERY, values)
    writing.write(found, Counter({name: 70}), "2026-12-01", tmp_path)
    after = path.read_text().splitlines()
    assert "gap: {value: 1.25e-05, kind: measured" in path.read_text()
    changed = {line.split(":")[0] for old, line in zip(before, after, strict=True) if old != line}
    assert changed <= {constant.name for constant in TPOT + TTFT}


def test_a_constant_that_nothing_moved_is_assumed(tmp_path: Path) -> None:
    name = "trtllm-1.2"
    path = tmp_path / f"{name}.yaml"
    path.write_text((writing.EPOCHS / path.name).read_text())
    found = started(TPOT + TTFT)
    moved = msgspec.structs.replace(found[name], gap=20e-6)
    writing.write({name: moved}, Counter({name: 70}), "2026-12-01", tmp_path)
    kinds = {
        line.partition(":")[0]: "kind: measured" in line for line in path.read_text().splitlines()
    }
    assert kinds["gap"]
    assert not kinds["piecewise"]


@pytest.mark.parametrize("engine", ["trtllm", "sglang", "vllm"])
def test_shipped_constants_lie_within_the_bounds_of_the_fit(engine: str) -> None:
    for name in names(engine):
        for constant in TPOT + TTFT:
            assert constant.low <= getattr(epoch(name), constant.name) <= constant.high


def test_shipped_intervals_hold_the_prediction_and_widen_for_the_unseen() -> None:
    known = interval("tpot", chip="gb300", engine="trtllm", role="disaggregated")
    unseen = interval("tpot", chip="vr200", engine="trtllm", role="disaggregated")
    assert known.low <= 1 <= known.high
    assert unseen.high - unseen.low > known.high - known.low
    assert {"deepseek-r1", "gpt-oss-120b"} <= set(data.load("intervals")["models"])

"""The fitting tool: it recovers what data was made from, and makes the constants that ship."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collectives import exchanges, nccl, pieces
from collectives.descent import descend
from collectives.libraries import two_sided, with_copies
from collectives.records import link
from racktwin.network import fabric
from racktwin.network.curve import Curve
from racktwin.network.exchange import Exchange

SIZE = np.array([2.0**power for power in range(9, 30)])


def test_descent_finds_an_exponential_law() -> None:
    x = np.linspace(1, 5, 30)
    truth = 3.0 * x**1.5
    found = descend(lambda p: p[0] + p[1] * np.log(x) - np.log(truth), [0.0, 0.0])
    assert found == pytest.approx([np.log(3.0), 1.5], rel=1e-3)


def test_pieces_recover_a_protocol_switch() -> None:
    made = Curve(upto=(1e5,), alpha=(5e-6, 20e-6), bandwidth=(2e10, 6e11), largest=SIZE[-1])
    found = pieces.fit(SIZE, made.seconds(SIZE))
    assert found["error"]["p90"] < 0.003
    assert found["alpha"][0] == pytest.approx(5e-6, rel=0.01)
    assert found["bandwidth"][-1] == pytest.approx(6e11, rel=0.01)


def test_jitter_is_not_fitted_but_counts_as_error() -> None:
    truth = 1e-5 + SIZE / 5e11
    noisy = truth.copy()
    noisy[3] *= 3
    found = pieces.fit(SIZE, noisy)
    assert found["alpha"][0] == pytest.approx(1e-5, rel=0.01)
    assert found["error"]["held_p90"] < 0.01


def test_shipped_curve_is_what_the_tool_makes(shared: Path) -> None:
    key = (pl.col("system") == "gb300") & (pl.col("op") == "all_reduce") & (pl.col("ranks") == 4)
    rows = nccl.read(shared).filter(key)
    found = pieces.fit(rows["size"].to_numpy(), rows["seconds"].to_numpy())
    curve = fabric.nccl().curves["gb300"]["all_reduce"]["4"]
    assert found["alpha"] == pytest.approx(curve.alpha)
    assert found["bandwidth"] == pytest.approx(curve.bandwidth)


def rows_of_dispatch(shared: Path) -> pl.DataFrame:
    rows = two_sided(shared).filter((pl.col("phase") == "dispatch") & (pl.col("payload") == "fp8"))
    return with_copies(rows, "rank", balanced=True)


def test_shipped_exchange_is_what_the_tool_makes(shared: Path) -> None:
    found = exchanges.fit(rows_of_dispatch(shared), 4, link("gb200"))
    made = fabric.experts().libraries["nvlink_two_sided"].phases["gb200"]["dispatch"]["fp8"]
    assert found["alpha"] == pytest.approx(made.alpha, rel=0.01)
    assert found["bandwidth"] == pytest.approx(made.bandwidth, rel=0.01)


def test_rank_counts_predicted_from_the_others(shared: Path) -> None:
    """EP8 to EP64 within 10 % in the median; fewer ranks, whose copies stay home, within 20 %."""
    off = exchanges.without_ranks(rows_of_dispatch(shared), 4, link("gb200"))
    medians = {ranks: float(np.median(e)) for ranks, e in off.items()}
    assert max(medians[ranks] for ranks in (8, 16, 32, 64)) < 0.10
    assert max(medians.values()) < 0.20


def test_exchanges_recover_their_constants() -> None:
    made = Exchange(alpha=1.2e-5, per_token=2e-8, per_copy=1e-8, bandwidth=4e11, power=1.0, ranks=8)
    grid = np.array([(t, c, b) for t in 2.0 ** np.arange(17) for c in (2, 5) for b in (4e3, 1e4)])
    columns = {"tokens": grid[:, 0], "copies": grid[:, 1], "size": grid[:, 2]}
    rows = pl.DataFrame(columns).with_columns(ranks=pl.lit(8), experts=pl.lit(0))
    rows = rows.with_columns(pl.Series("seconds", exchanges.seconds(made, rows)))
    found = exchanges.fit(rows, 8, 9e11)
    assert found["error"]["p90"] < 0.02
    assert found["alpha"] == pytest.approx(1.2e-5, rel=0.03)


def test_the_start_of_the_reducing_switch_is_that_of_the_published_runs(shared: Path) -> None:
    """Half of 22 sizes up to 1 MiB of 8 H100 and 8 H200 held to NVLS took less than it."""
    shipped = {each["all_reduce"].switch_alpha for each in fabric.nccl().rules.values()}
    assert shipped == {nccl.switch_start(shared)}

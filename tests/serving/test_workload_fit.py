"""The workloads that ship are what the tool makes of the public traces, and are close to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from racktwin.serving import traces
from racktwin.serving.workload import workload
from workload_fit import goodness, laws, main, published
from workload_fit.sample import SAMPLES


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "servegen-deepseek-r1"])
def test_the_tool_writes_what_ships(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shipped = (main.CATALOG / f"{name}.yaml").read_text()
    monkeypatch.setattr(main, "CATALOG", tmp_path)
    main.fit(name, SAMPLES[name], shared / "traces")
    assert (tmp_path / f"{name}.yaml").read_text() == shipped


@pytest.mark.parametrize("name", ["azure-code-2023", "azure-conv-2023", "servegen-deepseek-r1"])
def test_lengths_and_arrivals_are_those_of_the_trace(shared: Path, name: str) -> None:
    real = traces.load(shared / "traces" / SAMPLES[name].file)
    made = workload(name).trace(len(real), seed=99)
    chance = 1.63 * np.sqrt(2 / len(real))  # of two samples of one law, 1 in 100 is farther apart
    for column in ("input", "output"):
        drawn, recorded = getattr(made, column), getattr(real, column)
        assert goodness.distance(drawn, recorded) < chance + 0.01
        assert drawn.mean() == pytest.approx(recorded.mean(), rel=0.03)
    assert made.rate == pytest.approx(real.rate, rel=0.05)
    cv = goodness.variation(real.arrival, 0)
    assert goodness.variation(made.arrival, 0) == pytest.approx(cv, rel=0.15)


def test_the_page_lists_every_workload(root: Path) -> None:
    page = (root / "docs/reference/workloads.md").read_text()
    assert main.page.page() == page


def test_distance_by_hand() -> None:
    assert goodness.distance(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6])) == 0.5
    assert goodness.distance(np.array([1, 2]), np.array([2, 1])) == 0.0


def test_quantiles_are_as_close_as_the_sample_allows() -> None:
    few, many = laws.lengths(np.arange(32)), laws.lengths(np.arange(100_000))
    assert few == {"law": "empirical", "values": [0, 8, 16, 23, 31]}
    assert (len(many["values"]), many["levels"][-2]) == (54, 0.999)
    assert laws.lengths(np.full(9, 7)) == {"mean": 7}


def test_a_cut_lognormal_keeps_the_published_mean() -> None:
    law = published.uncut(684.68, 0.8, 20_000)
    drawn = np.random.default_rng(1).lognormal(
        np.log(law) - np.log1p(0.64) / 2, np.sqrt(np.log1p(0.64)), 400_000
    )
    assert np.minimum(drawn, 20_000).mean() == pytest.approx(684.68, rel=0.01)
    assert published.cut_mean(1000, 1.0, 1000) < 1000

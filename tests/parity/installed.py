"""Packages that are compared with, where they are installed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest


def have(name: str) -> Any:
    """A module, or the test is skipped with the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"no {name}: make test-parity installs it")

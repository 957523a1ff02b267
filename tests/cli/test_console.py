"""The width of a screen."""

from __future__ import annotations

import sys

import pytest

from racktwin.cli.console import console, print_screen


@pytest.mark.parametrize(
    ("columns", "width"), [("10", 80), ("40", 80), ("80", 80), ("90", 90), ("400", 100)]
)
def test_a_terminal_gets_80_to_100_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    assert console().width == width


def test_a_pipe_gets_100_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert console().width == 100


def test_a_share_keeps_its_sign(capsys: pytest.CaptureFixture[str]) -> None:
    """A line never begins with the % of the one before it, and blanks stay blanks."""
    print_screen([f"{'x' * 96} 22 %) and on"])
    out = capsys.readouterr().out
    assert out == f"{'x' * 96}\n22 %) and on\n"

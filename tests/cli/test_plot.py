"""The plot in characters: where its marks stand."""

from __future__ import annotations

from racktwin.cli.plot import scatter


def test_points_and_the_marked_one_stand_in_their_cells() -> None:
    lines = scatter([10.0, 100.0], [50.0, 10.0], (55.0, 26.0), width=10, height=5)
    assert lines == [
        "     50 | *",
        "        |",
        "        |     O",
        "        |         *",
        "        |",
        "      0 +----------",
        "        0       100",
    ]

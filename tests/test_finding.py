"""The name that may be meant: near in spelling, or one begins the other; else none."""

from __future__ import annotations

import pytest

from racktwin.finding import nearest

NAMES = ("h200", "b300", "hgx-b200", "telemetry", "migrate", "kW")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("H20O", "h200"),
        ("hgx-b20", "hgx-b200"),
        ("tele", "telemetry"),
        ("H200 NVL", "h200"),
        ("kV", "kW"),
        ("MI300X", None),
        ("L40S", None),
        ("ignore", None),
        ("te", None),
        ("", None),
    ],
)
def test_a_nearest_name_is_plausible(text: str, near: str | None) -> None:
    assert nearest(text, NAMES) == near


def test_no_plausible_name_is_made_of_a_few_letters_alike() -> None:
    assert nearest("H20O", ("hgx-b200",)) is None

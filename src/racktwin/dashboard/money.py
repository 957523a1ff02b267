"""Dollars as printed; prices of electricity may be negative."""

from __future__ import annotations


def dollars(value: float, form: str) -> str:
    """$12, -$3: the sign goes in front."""
    return f"{'-' if value < 0 else ''}${abs(value):{form}}"

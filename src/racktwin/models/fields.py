"""Reading values out of a config.json that nobody has checked.

A `Fields` looks values up under any of several names, skips nulls, checks type and range, and
notes what is wrong; reading goes on with a harmless value so that all faults are found at once.
"""

from __future__ import annotations

import math
from typing import Any

from racktwin.finding import Finding

LARGEST = 10**8  # no size in a config.json is larger
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model", "dim")  # the model width by family


class Fields:
    """A JSON object with a path ('text_config.') for messages and a list of findings."""

    def __init__(self, values: Any, findings: list[Finding], path: str = "") -> None:
        self.findings = findings
        self.path = path
        if not isinstance(values, dict):
            self.fault("", f"expected an object, found {shown(values)}")
            values = {}
        self.values: dict[str, Any] = values

    def fault(self, name: str, message: str) -> None:
        self.findings.append(Finding(f"{self.path}{name}".rstrip(".") or "config", message))

    def note(self, name: str, message: str) -> None:
        self.findings.append(Finding(f"{self.path}{name}", message, note=True))

    def has(self, *names: str) -> bool:
        """Whether any of `names` holds something but null."""
        return any(self.values.get(name) is not None for name in names)

    def _found(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            if self.values.get(name) is not None:
                return name, self.values[name]
        return names[0], None

    def integer(
        self, *names: str, default: int | None = None, low: int = 1, high: int = LARGEST
    ) -> int:
        """A whole number within [low, high]; without a default it must be there."""
        name, value = self._found(names)
        if value is None and default is not None:
            return default
        if value is None:
            other = f" (or {', '.join(names[1:])})" if len(names) > 1 else ""
            self.fault(name, f"missing or null{other}; expected a whole number")
            return low
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(name, f"expected a whole number, found {shown(value)}")
            return low
        if not low <= value <= high:
            self.fault(name, f"expected a whole number from {low} to {high}, found {shown(value)}")
            return low
        return value

    def number(self, *names: str, default: float, low: float = 0.0, high: float = 1e9) -> float:
        """A finite number (any unit) within [low, high]; `default` (any unit) when it is absent."""
        name, value = self._found(names)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            self.fault(name, f"expected a number, found {shown(value)}")
            return default
        if not low <= value <= high:
            self.fault(name, f"expected a number from {low} to {high}, found {shown(value)}")
            return default
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false; 0 and 1 count as such."""
        name, value = self._found(names)
        if value is None:
            return default
        if value in (0, 1):
            return bool(value)
        self.fault(name, f"expected true or false, found {shown(value)}")
        return default

    def text(self, *names: str, default: str = "") -> str:
        """A string."""
        name, value = self._found(names)
        if value is None:
            return default
        if not isinstance(value, str):
            self.fault(name, f"expected a string, found {shown(value)}")
            return default
        return value

    def items(self, *names: str, length: int | None = None) -> list[Any] | None:
        """A list, or None when absent. length: how many it must hold at least."""
        name, value = self._found(names)
        if value is None:
            return None
        if not isinstance(value, list):
            self.fault(name, f"expected a list, found {shown(value)}")
            return None
        if length is not None and len(value) < length:
            self.fault(name, f"holds {len(value)} entries for {length} layers")
            return None
        return value

    def whole_numbers(self, name: str) -> set[int]:
        """The set of whole numbers in a list; empty when absent."""
        values = self.items(name) or []
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int):
                self.fault(name, f"expected whole numbers, found {shown(value)}")
                return set()
        return set(values)

    def section(self, *names: str) -> Fields | None:
        """A nested object, or None when absent."""
        name, value = self._found(names)
        if value is None:
            return None
        return Fields(value, self.findings, f"{self.path}{name}.")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """A value cut to a length fit for a message."""
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None:
        return "null"
    if isinstance(value, int) and abs(value) > 10**18:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."

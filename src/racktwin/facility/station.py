"""Where weather comes from: a climate of the catalog, or a file."""

from __future__ import annotations

from pathlib import Path

from racktwin import catalog
from racktwin.facility.climate import read_climate, typical_year
from racktwin.facility.epw import read_epw
from racktwin.facility.weather import Weather
from racktwin.finding import BadInput, Finding, unknown


def weather(name: str | Path) -> Weather:
    """The year of a climate ('phoenix', or a YAML file like one), or of an EPW file."""
    text = str(name)
    if text.lower().endswith(".epw"):
        return read_epw(text)
    if not catalog.is_path(text) and text.lower() not in catalog.names("climates"):
        known = unknown("--weather", text[:40], catalog.names("climates"))
        hint = f"{known.message}; or a path to an .epw file"
        raise BadInput([Finding("--weather", hint)], "weather")
    return typical_year(read_climate(text))

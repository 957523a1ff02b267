"""The engine epochs of the catalog, and which of them a reported version belongs to."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from racktwin import catalog
from racktwin.engine.epoch import Epoch
from racktwin.engine.epoch_check import faults
from racktwin.finding import BadInput, Finding

KIND = "epochs"
EXTRA = ("title", "versions", "since", "calibrated")


class Match(msgspec.Struct, frozen=True):
    """The epoch a version belongs to; `how` says what it was read from, '' when exact."""

    name: str
    how: str = ""


class _Release(msgspec.Struct, frozen=True):
    name: str
    engine: str
    version: str
    versions: tuple[str, ...]
    since: str


def epoch(name: str) -> Epoch:
    """The epoch called `name`: 'trtllm-1.3', an engine ('vllm': its newest), or a user's YAML."""
    if catalog.is_own(KIND, name):  # may be fitted again at any time
        return _built(name)
    return _kept(name)


@cache
def _kept(name: str) -> Epoch:
    return _built(name)


def _built(name: str) -> Epoch:
    found = catalog.load(KIND, name).build(Epoch, skip=EXTRA)
    if wrong := list(faults(found)):
        raise BadInput(wrong, f"engine {name}")
    return found


def names(engine: str = "") -> list[str]:
    """Names of the known epochs (of one engine), newest first; engine defaults left out."""
    return [each.name for each in _releases() if engine in ("", each.engine)]


@cache
def _releases() -> tuple[_Release, ...]:
    found = []
    for name in catalog.names(KIND):
        data = catalog.load(KIND, name).data
        if data["name"] != name:
            continue
        release = _Release(
            name, data["engine"], data["version"], tuple(data["versions"]), data["since"]
        )
        found.append(release)
    return tuple(sorted(found, key=lambda each: (each.engine, each.since), reverse=True))


def match(engine: str, version: str = "", date: str = "") -> Match:
    """The epoch of an engine at a reported version, else at a date ('2026-03-25'), else the newest.

    A version nobody calibrated takes the nearest one that is known.
    """
    releases = [each for each in _releases() if each.engine == engine]
    if not releases:
        known = sorted({each.engine for each in _releases()})
        raise BadInput([Finding("framework", f"{engine!r} is none of {', '.join(known)}")])
    version = version.strip().removeprefix("v")
    said = [
        (len(prefix), each.name)
        for each in releases
        for prefix in each.versions
        if _starts(version, prefix)
    ]
    if said:
        return Match(max(said)[1])
    digits = _digits(version)
    if digits:
        order = sorted(releases, key=lambda each: _digits(each.version))
        older = [each for each in order if _digits(each.version) <= digits] or order[:1]
        return Match(older[-1].name, f"version {version} is not calibrated: nearest")
    if date:
        before = [each for each in releases if each.since <= date] or releases[-1:]
        return Match(before[0].name, f"version {version or 'empty'}: the newest on {date}")
    return Match(releases[0].name, f"version {version or 'empty'}, no date: the newest")


def is_version(text: str) -> bool:
    """Whether a text is a version of some engine: it starts with its numbers, or is known."""
    version = text.strip().removeprefix("v")
    known = (prefix for each in _releases() for prefix in each.versions)
    return bool(_digits(version)) or any(_starts(version, prefix) for prefix in known)


def _starts(version: str, prefix: str) -> bool:
    return bool(re.match(re.escape(prefix) + r"(?![0-9])", version))


def _digits(version: str) -> tuple[int, ...]:
    found = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()

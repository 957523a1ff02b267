"""Outages as typed: flags, files, and all that can be wrong with them."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.planning.outage_wish import Asked, Crew, outages
from racktwin.serving.outages import Chance, Outage, Outages, Recovery

POOLS = {"prefill": Crew(4, 2, 30.0), "decode": Crew(2, 16, 60.0)}

FILE = """\
on_failure: migrate
detection: 3s
fail:
  - {replica: prefill:3, at: 2min, lasts: 5min}
  - {replica: decode:*, at: 1h}
drain:
  - {replica: prefill:0-2, at: 10min, together: 2, pause: 20s, restart: 1min}
random:
  - {pool: prefill, gpu_mtbf: 1000h, repair: 10min}
"""


def asked(**words: object) -> Outages | None:
    return outages(Asked(**words), POOLS, 7)  # type: ignore[arg-type]


def refused(**words: object) -> list[str]:
    with pytest.raises(BadInput) as caught:
        asked(**words)
    return [str(each) for each in caught.value.findings]


def test_nothing_is_asked() -> None:
    assert asked() is None


def test_flags() -> None:
    found = asked(
        fail=("prefill:3@120s+5min", "decode:0-1 @ 1h"),
        drain=("prefill:*@2h",),
        on_failure="migrate",
        detection="1.5s",
    )
    assert found is not None
    assert found.recovery == Recovery(migrate=True, detection=1.5)
    fails = [each for each in found.planned if not each.drain]
    assert fails == [
        Outage(time=120.0, role="prefill", replica=3, length=300.0),
        *(Outage(time=3600.0, role="decode", replica=each) for each in (0, 1)),
    ]
    (drain,) = (each for each in found.planned if each.drain)
    assert (drain.replica, drain.length, drain.stride, drain.end) == (0, 30.0, 1, 4)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "events.yaml"
    path.write_text(FILE)
    found = asked(events=str(path))
    assert found is not None
    assert found.recovery == Recovery(migrate=True, detection=3.0)
    fails = [each for each in found.planned if not each.drain]
    assert [(each.replica, each.time, each.length) for each in fails] == [
        (3, 120.0, 300.0),
        (0, 3600.0, math.inf),
        (1, 3600.0, math.inf),
    ]
    drains = [each for each in found.planned if each.drain]
    shape = [(each.replica, each.stride, each.end, each.pause, each.length) for each in drains]
    assert shape == [(0, 2, 3, 20.0, 60.0), (1, 2, 3, 20.0, 60.0)]
    assert found.random[0].mtbf == 1000 * 3600 / 2  # a replica has two GPUs
    flags = asked(events=str(path), on_failure="retry", detection="0s")
    assert flags is not None
    assert flags.recovery == Recovery()


def test_random_failures_have_their_mean_and_their_order() -> None:
    drawn = Outages(random=(Chance(role="prefill", mtbf=100.0, repair=10.0),), seed=1)
    first = list(islice(drawn.of("prefill", 50), 5000))
    times = np.array([each.time for each in first])
    assert (np.diff(times) >= 0).all()
    per_replica = times[-1] / (len(times) / 50)
    assert per_replica == pytest.approx(110.0, rel=0.05)
    assert first == list(islice(drawn.of("prefill", 50), 5000))
    assert not list(drawn.of("decode", 2))
    for replica in range(3):
        own = [each.time for each in first if each.replica == replica]
        assert (np.diff(own) >= 10.0).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"fail": ("serv:3@1s",)}, "--fail: 'serv' is not known"),
        ({"fail": ("decod:1@1s",)}, "--fail: 'decod' is not known; did you mean 'decode'?"),
        ({"fail": ("decode:2@1s",)}, "--fail: decode:2: decode has replica 0 to 1"),
        (
            {"fail": ("prefill:3-1@1s",)},
            "--fail: prefill:3-1: prefill has replica 0 to 3, in rising",
        ),
        ({"fail": ("decode@1s",)}, "--fail: expected ROLE:REPLICA, as in serve:3"),
        ({"fail": ("decode:one@1s",)}, "--fail: expected ROLE:REPLICA, as in serve:3"),
        ({"fail": ("decode:-1@1s",)}, "--fail: expected ROLE:REPLICA, as in serve:3"),
        ({"fail": ("decode:1",)}, "--fail: expected ROLE:REPLICA@TIME[+DURATION]"),
        ({"fail": (" ",)}, "--fail: expected ROLE:REPLICA@TIME[+DURATION]"),
        ({"fail": ("decode:1@1s+",)}, "--fail: expected ROLE:REPLICA@TIME[+DURATION]"),
        ({"fail": ("decode:1@-1s",)}, "--fail: decode:1@-1s: '-1s' is out of range"),
        (
            {"fail": ("decode:1@nan s",)},
            "--fail: decode:1@nan s: 'nan s' is not a number with a unit",
        ),
        ({"fail": ("decode:1@1e99s",)}, "--fail: decode:1@1e99s: '1e99s' is out of range"),
        ({"fail": ("decode:1@5",)}, "--fail: decode:1@5: '5' has no unit"),
        (
            {"drain": ("decode:1@1s+inf",)},
            "--drain: decode:1@1s+inf: 'inf' is not a number with a unit",
        ),
        ({"on_failure": "migrat"}, "--on-failure: 'migrat' is not known; did you mean 'migrate'?"),
        ({"detection": "-2s", "fail": ("decode:1@1s",)}, "--detection: '-2s' is out of range"),
        (
            {"fail": ("decode:1@10s+60s", "decode:0-1@30s")},
            "--fail: decode:0-1@30s: decode:1 is out already, from 10 s to 1.167 min",
        ),
        (
            {"fail": ("decode:1@10s",), "drain": ("decode:1@30s",)},
            "--drain: decode:1@30s: decode:1 is out already, from 10 s on",
        ),
        (
            {"fail": ("decode:1@9s+0s", "decode:1@9s")},
            "--fail: decode:1@9s: decode:1 is out already",
        ),
    ],
)
def test_flags_that_cannot_be(words: dict[str, object], said: str) -> None:
    (line,) = refused(**words)
    assert line.startswith(said)


def test_all_flags_are_looked_at() -> None:
    assert len(refused(fail=("a:1@1s", "decode:9@1s"), drain=("x",), on_failure="?")) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fails: []\n", "line 1   fails: 'fails' is not known; did you mean 'fail'?"),
        ("fail: {replica: decode:1, at: 1s}\n", "line 1   fail: expected a list, found a mapping"),
        ("fail: [{at: 1s}]\n", "line 1   fail[0].replica: is missing"),
        (
            "fail: [{replica: decode:1, at: never}]\n",
            "line 1   fail[0].at: 'never' is not a number",
        ),
        ("fail: [{replica: decode:9, at: 1s}]\n", "line 1   fail[0].replica: decode:9: decode has"),
        ("fail: [{replica: 3, at: 1s}]\n", "line 1   fail[0].replica: expected text, found 3"),
        (
            "drain: [{replica: decode:*, at: 1s, together: 0}]\n",
            "line 1   drain[0].together: 0 is out",
        ),
        (
            "random: [{pool: serve, mtbf: 9h, repair: 1s}]\n",
            "line 1   random[0].pool: 'serve' is not",
        ),
        (
            "random: [{pool: decode, repair: 1s}]\n",
            "line 1   random[0]: give mtbf of a replica, or",
        ),
        (
            "random: [{pool: decode, gpu_mtbf: 10s, repair: 1s}]\n",
            "line 1   random[0]: a replica would fail every 625 ms; expected 1 s or more",
        ),
        (
            "on_failure: ignore\n",
            "line 1   on_failure: 'ignore' is not known; known: migrate, retry",
        ),
        ("detection: .nan\n", "line 1   detection: "),
        ("- 1\n", "line 1   yaml: expected 'key: value' lines"),
        (
            "fail:\n  - {replica: decode:1, at: 1s}\n  - {replica: decode:1, at: 2s}\n",
            "line 3   fail[1]: decode:1 is out already, from 1 s on",
        ),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "events.yaml"
    path.write_text(text)
    (line,) = refused(events=str(path))
    assert line.startswith(said)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (line,) = refused(events=str(tmp_path / "none.yaml"))
    assert line.startswith("file: cannot be read")

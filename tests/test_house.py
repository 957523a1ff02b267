"""Each rule of the house is kept by the tree and broken by a tree made to break it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import check
from house import budget, constants, nomenclature, provenance, surface, wheel


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def messages(violations: list[budget.Violation]) -> str:
    return "\n".join(str(each) for each in violations)


@pytest.mark.parametrize("name", check.CHECKS)
def test_the_tree_keeps_every_rule(name: str, root: Path) -> None:
    violations = check.CHECKS[name](root)
    assert not violations, messages(violations)


def test_size_budget_counts_files_and_functions(tmp_path: Path) -> None:
    write(tmp_path, "src/racktwin/long.py", "x = 1\n" * 501)
    body = "    pass\n" * 60
    write(tmp_path, "tests/test_long.py", f"def endless():\n{body}\n\ndef fits():\n{body[9:]}")
    found = messages(budget.check(tmp_path))
    assert "src/racktwin/long.py:1: 501 lines; at most 500" in found
    assert "endless has 61 lines" in found
    assert "fits" not in found
    assert "median file has 501 lines" in found


@pytest.mark.parametrize("name", ["utils.py", "kernels/gemm_helpers.py", "common/thing.py"])
def test_drawers_are_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, f"src/racktwin/{name}", "x = 1\n")
    assert "names no noun" in messages(budget.check(tmp_path))


def test_facts_in_code_are_refused_but_bounds_and_powers_of_ten_are_not(tmp_path: Path) -> None:
    write(tmp_path, "src/racktwin/x.py", "PEAK = 15e15\nWAIT = 4.2e-6\nMICRO = 1e-6\nGIGA = 1e9\n")
    lines = [violation.line for violation in constants.check(tmp_path)]
    assert lines == [1, 2]


PHYSICS = '''
def power(load: float, current: float, count: int) -> float:
    """Power of a feed, W.

    load: part of full load, fraction.
    """


class Feed:
    """A feed.

    voltage, loss: V, and part of the power, fraction.
    """

    voltage: float
    loss: float
    name: str
    slack: float
'''


def test_numbers_without_a_unit_are_refused(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "docs/nomenclature.md", (root / nomenclature.PAGE).read_text())
    write(tmp_path, "src/racktwin/facility/feed.py", PHYSICS)
    found = messages(nomenclature.check(tmp_path))
    assert "power(current)" in found
    assert "Feed.slack" in found
    assert len(found.splitlines()) == 2


def test_abbreviations_must_stand_in_the_nomenclature(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "docs/nomenclature.md", (root / nomenclature.PAGE).read_text())
    write(tmp_path, "src/racktwin/x.py", '"""GPUs and TTFT of a QZX, `XYZ`, on GB300 NVL72."""\n')
    assert messages(nomenclature.check(tmp_path)).count("QZX is not in") == 1
    assert len(nomenclature.check(tmp_path)) == 1


def test_nomenclature_reads_units_as_words(root: Path) -> None:
    known = nomenclature.read((root / nomenclature.PAGE).read_text())
    for text in ("bandwidth, B/s", "time (s)", "°C", "$/GPU/h, all in", "a fraction of it"):
        assert known.units.search(text), text
    for text in ("the chip's", "FLOPS", "B/sec", "Watt"):
        assert not known.units.search(text), text
    assert {"TTFT", "TPOT", "ITL", "MFU", "PUE"} <= known.abbreviations
    assert {"tensor", "attention_data", "expert_tensor"} <= known.names


def test_surface_must_equal_the_page(tmp_path: Path) -> None:
    write(tmp_path, "src/racktwin/hardware/__init__.py", '__all__ = ["Chip", "rack"]\n')
    write(tmp_path, "src/racktwin/hardware/chip.py", 'class Chip:\n    """One chip."""\n')
    write(tmp_path, "src/racktwin/network/__init__.py", "from os import path\n")
    write(tmp_path, str(surface.PAGE), surface.page(tmp_path).replace("`rack`", "`host`"))
    assert "- `Chip`: One chip." in surface.page(tmp_path)
    found = messages(surface.check(tmp_path))
    assert "racktwin.hardware.rack: offered but not listed" in found
    assert "racktwin.hardware.host: listed but not offered" in found
    assert "src/racktwin/network/__init__.py:1: no __all__" in found


CATALOG = """title: A chip, 2 dies
extends: other
peak: {value: 8 TB/s, kind: datasheet, source: listed}
sms: 152
power: {value: 75 W, kind: measured, source: somebody}
idle: {value: 7.5 W, kind: guessed, source: listed}
price: {value: $3.50/GPU/h, kind: assumed, note: not published}
l2: {value: 126 MB, kind: assumed}
fit: {kind: measured, source: a table, date: 2026-11, alpha: 4.5e-6, sizes: [1, 2]}
flag: {value: true}
"""


def test_a_catalog_number_without_origin_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "src/racktwin/catalog/sources.yaml", "listed: {title: A page}\n")
    write(tmp_path, "src/racktwin/catalog/chips/x.yaml", CATALOG)
    write(tmp_path, "src/racktwin/catalog/chips/y.yaml", "a: 1\na: [\n")
    assert [(each.path[-6:], each.line) for each in provenance.check(tmp_path)] == [
        ("x.yaml", 4),
        ("x.yaml", 5),
        ("x.yaml", 6),
        ("x.yaml", 8),
        ("y.yaml", 3),
    ]


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "src/racktwin/table.bin", "x" * (wheel.FILE_BYTES + 1))
    assert "bytes; at most" in messages(wheel.check(tmp_path))


def test_the_wheel_is_small_and_complete(root: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    assert built.stat().st_size <= wheel.WHEEL_BYTES
    names = set(zipfile.ZipFile(built).namelist())
    shipped = {path.relative_to(root / "src").as_posix() for path in data_files(root)}
    assert shipped <= names
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not any(name.startswith(("tests/", "tools/", "benchmarks/")) for name in names)


def data_files(root: Path) -> list[Path]:
    package = root / "src/racktwin"
    return [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_name_every_dependency(lock: str, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = {
        "requirements.lock": [*project["dependencies"], "hatchling"],
        "requirements-dev.lock": project["optional-dependencies"]["dev"],
    }
    lines = (root / lock).read_text().lower().replace("_", "-").splitlines()
    locked = {line.partition("==")[0] for line in lines}
    names = {each.partition(">")[0].partition("[")[0].lower() for each in wanted[lock]}
    assert names <= locked
    assert all("==" in line for line in lines)

"""What the packages offer exists, and asking for help stays cheap."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from house import surface

HEAVY = ("polars", "numba", "scipy", "starlette", "jinja2")
HELP = f"""
import sys
from racktwin.cli import main
try:
    main(["--help"])
except SystemExit as done:
    assert not done.code, done.code
print("loaded:", [name for name in {HEAVY!r} if name in sys.modules])
"""


def test_every_name_offered_can_be_imported(root: Path) -> None:
    for package, names in surface.surface(root).items():
        module = importlib.import_module(package)
        missing = [name for name in names if not hasattr(module, name)]
        assert not missing, f"{package} offers {missing}"


def test_help_loads_nothing_heavy() -> None:
    cli = importlib.import_module("racktwin.cli")
    if not hasattr(cli, "main"):
        pytest.skip("racktwin.cli has no main yet")
    command = [sys.executable, "-c", HELP]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"

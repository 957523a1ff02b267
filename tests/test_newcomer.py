"""A newcomer's first minute: a fresh copy, `make run`, and the files of the main job are there."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest


def copy_of(root: Path, target: Path) -> None:
    """What a clone of the working tree would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def lend_dependencies(checkout: Path) -> None:
    """Let the copy's own environment see what is installed here, so that nothing is downloaded."""
    version = sysconfig.get_python_version()
    packages = checkout / f".venv/lib/python{version}/site-packages"
    packages.mkdir(parents=True)
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy, after `make run`."""
    if importlib.util.find_spec("racktwin.cli.plan") is None:
        pytest.skip("racktwin plan does not exist yet")
    if not (root / ".git").exists():
        pytest.skip("not a git checkout: cannot tell which files a clone would hold")
    folder = tmp_path_factory.mktemp("newcomer") / "racktwin"
    copy_of(root, folder)
    lend_dependencies(folder)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        ["make", "run"],
        cwd=folder,
        env={**kept, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "printed.txt").write_text(done.stdout)
    return folder


def test_the_answer_is_on_the_screen(checkout: Path) -> None:
    printed = (checkout / "printed.txt").read_text()
    for expected in ("azure-nd-gb300-v6", "GPUs", "tok/s/GPU", "TPOT", "TTFT", "evidence"):
        assert expected in printed


def test_the_program_ran_from_the_copy(checkout: Path) -> None:
    where = "import racktwin; print(racktwin.__file__)"
    python = checkout / ".venv/bin/python"
    found = subprocess.run([python, "-c", where], capture_output=True, check=True, text=True)
    assert Path(found.stdout.strip()).is_relative_to(checkout)


def test_the_files_of_the_plan_are_there(checkout: Path) -> None:
    plan = json.loads((checkout / "plan/plan.json").read_text())
    assert plan
    assert (checkout / "plan/deployment.yaml").stat().st_size > 0
    report = (checkout / "plan/report.html").read_text()
    assert "<html" in report
    assert "http://" not in report.replace("http://www.w3.org/", ""), (
        "report must be self-contained"
    )
    assert list((checkout / "plan/launch").iterdir())


def test_the_plan_can_be_predicted(checkout: Path) -> None:
    racktwin = checkout / ".venv/bin/racktwin"
    traffic = ["--input", "8192", "--output", "1024", "--concurrency", "64"]
    command = [racktwin, "predict", "plan/deployment.yaml", *traffic]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""The command line from a new shell: everything a user waits for, imports included."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.registry import Benchmark, NotYet, Work

RACKTWIN = Path(sys.executable).with_name("racktwin")
TRAFFIC = ("--input", "8192", "--output", "1024", "--tpot", "20ms")
PLAN = ("plan", "deepseek-r1", "--on", "azure-nd-gb300-v6", *TRAFFIC)


def printed(*arguments: str) -> str:
    command = [str(RACKTWIN), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotYet(f"exit code {done.returncode}: {' '.join(last)}")
    return done.stdout


def _help() -> Work:
    printed("--help")
    return Work(1, "run")


def _plan() -> Work:
    return Work(json.loads(printed(*PLAN, "--json"))["candidates"], "candidates")


def _plan_with_files() -> Work:
    printed(*PLAN, "--out", "plan")
    return Work(1, "run")


SIZE = "deepseek-r1, azure-nd-gb300-v6"
BENCHMARKS = [
    Benchmark(
        name="racktwin --help",
        phase="new shell",
        size="1 page",
        run=_help,
        goal="0.3 s CPU",
        repeats=5,
    ),
    Benchmark(
        name="racktwin plan",
        phase="new shell",
        size=SIZE,
        run=_plan,
        goal="5 s wall, 5,000 candidates per CPU s",
    ),
    Benchmark(name="racktwin plan --out", phase="new shell", size=SIZE, run=_plan_with_files),
]

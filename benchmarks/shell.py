"""The command line from a new shell: everything a user waits for, imports included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.registry import Benchmark, NotYet, Work

RACKTWIN = Path(sys.executable).with_name("racktwin")
TRAFFIC = ("--input", "8192", "--output", "1024", "--tpot", "20ms")
PLAN = ("plan", "deepseek-r1", "--on", "azure-nd-gb300-v6", *TRAFFIC)


def _command(*arguments: str) -> Callable[[], Work]:
    def run() -> Work:
        with tempfile.TemporaryDirectory() as folder:
            _succeed([str(RACKTWIN), *arguments], folder)
        return Work(1, "run")

    return run


def _succeed(command: Sequence[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotYet(f"exit code {done.returncode}: {' '.join(last)}")


BENCHMARKS = [
    Benchmark(
        name="racktwin --help",
        phase="new shell",
        size="1 page",
        run=_command("--help"),
        goal="0.3 s CPU",
        repeats=5,
    ),
    Benchmark(
        name="racktwin plan",
        phase="new shell",
        size="deepseek-r1, 4,608 GPUs",
        run=_command(*PLAN),
        goal="5 s wall",
    ),
    Benchmark(
        name="racktwin plan --out",
        phase="new shell",
        size="deepseek-r1, 4,608 GPUs",
        run=_command(*PLAN, "--out", "plan"),
        goal="",
    ),
]

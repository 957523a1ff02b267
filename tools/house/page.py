"""A page of documentation whose console blocks are real output and whose Python blocks run.

A block of output stands between two marks, which do not show when the page is rendered:

    <!-- command -->
    ```console
    $ racktwin show gb300-nvl72
    ...what it prints...
    ```
    <!-- end -->

`make docs` runs the command again and keeps what it prints; a test compares, except behind
`<!-- command slow -->`. A block that cannot run says why in front: `<!-- not run: reason -->`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from racktwin.cli.console import ONCE

MARKED = re.compile(
    r"<!-- command(?P<slow> slow)? -->\n```console\n(?P<body>.*?)```\n<!-- end -->", re.DOTALL
)
BLOCK = re.compile(r"(?P<before>[^\n]*\n+)?^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
RUN_TIME = re.compile(r"\bin \d+(?:\.\d+)? (?:s|ms)\b")
PLOT = re.compile(r"\|[ *O]*(?=\s|$)")
FIGURE = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
CLOSE = 0.05  # another processor rounds a last digit, and a simulation goes on from there
LANGUAGES = ("console", "python")


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line in front of it."""

    language: str
    body: str
    before: str

    @property
    def excused(self) -> bool:
        """Whether the page says why it is not run."""
        return self.before.startswith("<!-- not run: ")

    @property
    def marked(self) -> bool:
        """Whether its output is kept by `make docs`."""
        return self.before.startswith("<!-- command")


def pages(root: Path) -> list[Path]:
    """README and every page of docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The console and Python blocks of a page."""
    for match in BLOCK.finditer(text):
        if match["language"] in LANGUAGES:
            yield Block(match["language"], match["body"], (match["before"] or "").strip())


def commands(body: str) -> list[str]:
    """The lines of a console block that are typed, without their prompt."""
    return [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]


def renewed(text: str, folder: Path, root: Path, *, slow: bool) -> str:
    """The page with its marked blocks run again, in order, in one working folder."""

    def run(match: re.Match[str]) -> str:
        if match["slow"] and not slow:
            return match[0]
        shown = "\n".join(_session(line, folder, root) for line in commands(match["body"]))
        mark = f"<!-- command{match['slow'] or ''} -->"
        return f"{mark}\n```console\n{shown}\n```\n<!-- end -->"

    return MARKED.sub(run, text)


def timeless(text: str) -> str:
    """The text with run times struck out: 'in 1.9 s' differs from run to run."""
    return RUN_TIME.sub("<time>", text)


def unlike(old: str, new: str) -> list[str]:
    """Lines of `new` that differ from `old` by more than the last digits of another processor.

    Run times and the marks of plots are left out; figures may differ by `CLOSE`, names by nothing.
    """
    before, after = (PLOT.sub("|", timeless(text)).splitlines() for text in (old, new))
    if len(before) != len(after):
        return [f"{len(after)} lines, {len(before)} before"]
    return [two for one, two in zip(before, after, strict=True) if not _alike(one, two)]


def _alike(one: str, two: str) -> bool:
    words, others = FIGURE.split(one), FIGURE.split(two)
    if ["".join(each.split()) for each in words] != ["".join(each.split()) for each in others]:
        return False
    pairs = zip(FIGURE.findall(one), FIGURE.findall(two), strict=True)
    values = [(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs]
    return all(abs(a - b) <= CLOSE * max(abs(a), abs(b)) for a, b in values)


def _session(command: str, folder: Path, root: Path) -> str:
    """What a terminal shows for one command, 100 columns wide, without colour."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    setting = {"PATH": path, "HOME": str(folder), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    setting["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    examples = folder / "examples"
    if not examples.exists():
        examples.symlink_to(root / "examples")
    done = subprocess.run(
        command, shell=True, cwd=folder, env=setting, capture_output=True, text=True, check=False
    )
    if done.returncode and "Traceback" in done.stderr:
        raise RuntimeError(f"{command}\n{done.stderr}")
    said = done.stderr.replace(f"{ONCE}\n", "")  # not what a reader's second run shows
    lines = [f"$ {command}", *(done.stdout + said).rstrip().splitlines()]
    code = [f"(exit code {done.returncode})"] if done.returncode else []
    return "\n".join(line.rstrip() for line in [*lines, *code])

"""Standard output that is closed, full or cannot encode: a message at most, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m racktwin.cli"


def shell(line: str, **variables: str) -> tuple[int, str, str]:
    """Exit code, output and messages of a shell line."""
    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", ["--help", "show chips", "show chips --json"])
def test_closed_output_is_no_error(words: str) -> None:
    assert shell(f"{COMMAND} {words} >&-") == (0, "", "")


def test_closed_streams_keep_the_exit_code() -> None:
    assert shell(f"{COMMAND} show nothing >&- 2>&-")[0] == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("words", ["--help", "show chips", "show chips --json"])
def test_a_full_disk_is_one_message(words: str) -> None:
    code, _, err = shell(f"{COMMAND} {words} >/dev/full")
    assert (code, err.splitlines()[0]) == (2, "racktwin: 1 finding")
    assert "output: cannot be used: No space left" in err
    assert "Traceback" not in err


def test_letters_the_output_cannot_encode() -> None:
    variables = {"PYTHONIOENCODING": "ascii"}
    code, out, err = shell(f"{COMMAND} fit llama-3.1-8b --on h100 --json", **variables)
    assert (code, err) == (0, "")
    assert json.loads(out)["schema"] == "racktwin/fit/1"
    code, out, err = shell(f"{COMMAND} show gb300 --sources", **variables)
    assert (code, err, out.isascii()) == (0, "", True)

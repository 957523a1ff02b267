"""README and docs/ show what the program does today: blocks run, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from house import page

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path.relative_to(ROOT).as_posix() for path in page.pages(ROOT)]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("name", PAGES)
def test_console_blocks_are_what_the_commands_print(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    now = page.renewed(text, tmp_path, ROOT, slow=False)
    assert not page.unlike(text, now), "run `make docs` and read the difference"


@pytest.mark.parametrize("name", PAGES)
def test_every_console_block_is_kept_or_excused(name: str) -> None:
    for block in page.blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.language == "console":
            assert block.marked or block.excused, f"neither run nor excused:\n{block.body}"
            assert page.commands(block.body), f"no line starts with '$ ':\n{block.body}"


@pytest.mark.parametrize("name", PAGES)
def test_python_blocks_run(name: str, tmp_path: Path) -> None:
    found = page.blocks((ROOT / name).read_text(encoding="utf-8"))
    program = [each.body for each in found if each.language == "python" and not each.excused]
    if program:
        command = [sys.executable, "-W", "error", "-c", "\n".join(program)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name: str) -> None:
    path = ROOT / name
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    local = [each for each in targets if "://" not in each and not each.startswith("mailto:")]
    missing = [each for each in local if not (path.parent / each).exists()]
    assert not missing


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs/index.md"
    linked = {(index.parent / each).resolve() for each in LINK.findall(index.read_text())}
    pages = {ROOT / name for name in PAGES if name.startswith("docs/")} - {index}
    assert not {path.relative_to(ROOT).as_posix() for path in pages - linked}


PAGE = """Text.

<!-- command -->
```console
$ echo one; echo in 3.1 s
something old
```
<!-- end -->

<!-- command slow -->
```console
$ echo later
```
<!-- end -->

<!-- not run: it needs a cluster -->
```console
$ sbatch job.sh
```

```python
x = 1
```
"""


def test_marked_blocks_are_run_again(tmp_path: Path) -> None:
    quick = page.renewed(PAGE, tmp_path, ROOT, slow=False)
    assert "$ echo one; echo in 3.1 s\none\nin 3.1 s\n```\n<!-- end -->" in quick
    assert "something old" not in quick
    assert "$ echo later\n```" in quick
    assert "$ echo later\nlater\n```" in page.renewed(PAGE, tmp_path, ROOT, slow=True)
    assert page.renewed(quick, tmp_path, ROOT, slow=False) == quick


def test_a_failing_command_shows_its_exit_code(tmp_path: Path) -> None:
    shown = page.renewed(PAGE.replace("echo one;", "exit 2;"), tmp_path, ROOT, slow=False)
    assert "(exit code 2)" in shown


def test_blocks_know_their_marks() -> None:
    console, slow, excused, python = page.blocks(PAGE)
    assert (console.marked, slow.marked, excused.marked) == (True, True, False)
    assert excused.excused
    assert python.body == "x = 1\n"


def test_run_times_do_not_count_as_a_difference() -> None:
    assert page.timeless("18,432 layouts in 1.9 s") == page.timeless("18,432 layouts in 2 s")
    assert page.timeless("TTFT <= 3 s, TPOT") != page.timeless("TTFT <= 4 s, TPOT")


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("107,525 in flight", "107,526 in flight", True),
        ("TPOT 20.0 ms", "TPOT 22.0 ms", False),
        ("decode DP16/EP16", "decode DP17/EP16", False),
        ("2 x decode", "3 x decode", False),
        ("  2,003 |  ****   why", "  2,003 |  *****  why", True),
        ("one", "one\ntwo", False),
    ],
)
def test_last_digits_may_differ_and_names_may_not(old: str, new: str, alike: bool) -> None:
    assert (not page.unlike(old, new)) == alike

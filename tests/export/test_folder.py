"""A folder is written whole, or nothing changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from racktwin.export.folder import MARKER, write_folder
from racktwin.finding import BadInput

FILES = {"README.txt": "read me\n", "launch/decode.sh": "#!/bin/sh\n"}


def tree(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != MARKER]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_files_arrive_and_scripts_can_be_run(tmp_path: Path) -> None:
    goal = write_folder(tmp_path / "a" / "plan", FILES)
    assert tree(goal) == FILES
    assert os.access(goal / "launch/decode.sh", os.X_OK)
    assert [path.name for path in goal.parent.iterdir()] == ["plan"]


def test_an_earlier_folder_is_replaced_whole(tmp_path: Path) -> None:
    goal = write_folder(tmp_path / "plan", FILES)
    write_folder(goal, {"other.txt": "new\n"})
    assert tree(goal) == {"other.txt": "new\n"}
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    assert tree(write_folder(tmp_path / "plan", FILES)) == FILES


@pytest.mark.parametrize("ours", [False, True])
def test_files_of_others_are_never_touched(ours: bool, tmp_path: Path) -> None:
    goal = tmp_path / "plan"
    if ours:
        write_folder(goal, FILES)
    goal.mkdir(exist_ok=True)
    (goal / "thesis.tex").write_text("years of work")
    before = tree(goal)
    with pytest.raises(BadInput, match=r"holds 'thesis.tex', which racktwin did not write"):
        write_folder(goal, {"new.txt": ""})
    assert tree(goal) == before


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    goal = write_folder(tmp_path / "plan", FILES)
    with pytest.raises(BadInput, match="cannot be written"):
        write_folder(goal, {"a.txt": "a", "a.txt/b.txt": "b"})
    assert tree(goal) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "", ".racktwin", "a/../../x"])
def test_paths_stay_inside(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a path inside the folder"):
        write_folder(tmp_path / "plan", {name: "x"})
    assert not list(tmp_path.iterdir())


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for goal in (tmp_path / "file", tmp_path / "link", Path(".")):
        with pytest.raises(BadInput, match="is not a folder of its own"):
            write_folder(goal, FILES)
    with pytest.raises(BadInput, match="cannot be written"):
        write_folder(tmp_path / "file" / "plan", FILES)


def test_a_name_that_is_too_long_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written: File name too long"):
        write_folder(tmp_path / ("a" * 300), FILES)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_between_the_renames_brings_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = write_folder(tmp_path / "plan", FILES)
    rename, calls = Path.rename, []

    def interrupted(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(goal, {"new.txt": ""})
    assert tree(goal) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]

"""Folders, indexes and what they say of one another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.checkpoints.made import llama, normal, write_file, write_folder

from racktwin.checkpoints import open_checkpoint
from racktwin.finding import BadInput

INDEX = "model.safetensors.index.json"


def refused(folder: Path) -> str:
    with pytest.raises(BadInput) as caught:
        open_checkpoint(folder)
    return str(caught.value)


def rewrite(folder: Path, **changes: object) -> None:
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"] |= changes
    (folder / INDEX).write_text(json.dumps(index))


def test_a_folder_without_an_index_is_all_its_files(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=3)
    (folder / INDEX).unlink()
    with open_checkpoint(folder) as found:
        assert set(found.at) == set(llama())


def test_missing_shards_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=3)
    (folder / "model-00002-of-00003.safetensors").unlink()
    text = "model-00002-of-00003.safetensors: is named by the index and is not there"
    assert text in refused(folder)


@pytest.mark.parametrize("file", ["../x.safetensors", "/etc/passwd", "config.json", 3, None])
def test_the_index_names_files_of_its_folder_only(tmp_path: Path, file: object) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=2)
    write_file(tmp_path / "x.safetensors", {"a": normal(2, 2)})
    rewrite(folder, a=file)
    assert "is no safetensors file of this folder" in refused(folder)


def test_index_and_shards_must_agree(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=2)
    first = "model-00001-of-00002.safetensors"
    index = json.loads((folder / INDEX).read_text())["weight_map"]
    moved = next(name for name, file in index.items() if file != first)
    rewrite(folder, extra=first, **{moved: first})
    text = refused(folder)
    assert f"extra: is not in {first}, where the index has it" in text
    assert f"{moved}: is in model-00002-of-00002.safetensors; the index says {first}" in text
    index.pop("lm_head.weight")
    (folder / INDEX).write_text(json.dumps({"weight_map": index}))
    assert "lm_head.weight: is not in the index" in refused(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"weight_map": []}', '{"weight_map": {}}', "\x00"])
def test_an_index_that_is_none(tmp_path: Path, text: str) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=2)
    (folder / INDEX).write_text(text)
    assert INDEX in refused(folder)


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", {"a.weight": normal(2, 2)})
    write_file(folder / "more.safetensors", {"a.weight": normal(2, 2)})
    assert "a.weight: is in model.safetensors and in more.safetensors" in refused(folder)


def test_folders_without_weights(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_text("")
    assert "holds no safetensors file; found .bin" in refused(tmp_path)


def test_faults_of_every_shard_are_told_at_once(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "in", llama(), shards=3)
    for file in sorted(folder.glob("*.safetensors"))[:2]:
        file.write_bytes(file.read_bytes()[:-1])
    text = refused(folder)
    assert text.count("the file is cut off") == 2

"""`racktwin quantize`: screens, JSON, exit codes, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checkpoints.made import llama, write_folder
from tests.json_page import documented, printed

from racktwin.cli import main


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(write_folder(tmp_path / "in", llama(), shards=2))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["quantize", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["quantize", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_screens(capsys: pytest.CaptureFixture[str], source: str, tmp_path: Path) -> None:
    out, report = str(tmp_path / "out"), tmp_path / "report.html"
    assert main(["quantize", source, out, "--exclude", "*.o_proj", "--report", str(report)]) == 0
    said = capsys.readouterr().out
    assert "modelopt layout, weights only, block scales by the largest value" in said
    assert "quantized     12 linear weights" in said
    assert "excluded" in said
    assert f"wrote {out}: 2 shards, 4 files beside" in said
    assert "model.layers.1.mlp.up_proj" in report.read_text()
    assert main(["quantize", out, "--inspect", "--reference", source]) == 0
    said = capsys.readouterr().out
    assert "config: quant_method modelopt, quant_algo W4A16_NVFP4" in said
    assert "layer, against the reference" in said
    page = str(tmp_path / "formats.html")
    assert main(["quantize", source, "--compare", "nvfp4, mxfp8", "--report", page]) == 0
    said = capsys.readouterr().out
    assert "RMS error by layer" in said
    assert "left out: 1 embedding, 1 output head" in said
    assert "<svg" in Path(page).read_text()


def test_an_unfit_checkpoint_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], source: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    main(["quantize", source, str(out)])
    file = next(out.glob("*.safetensors"))
    raw = bytearray(file.read_bytes())
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    name = next(each for each in header if each.endswith("weight_scale"))
    place = 8 + int.from_bytes(raw[:8], "little") + header[name]["data_offsets"][0]
    raw[place] = 0x7F
    file.write_bytes(raw)
    capsys.readouterr()
    assert main(["quantize", str(out), "--inspect"]) == 1
    assert f"{name}: 1 of " in capsys.readouterr().out


def test_json_is_what_the_page_says(
    capsys: pytest.CaptureFixture[str], source: str, tmp_path: Path, root: Path
) -> None:
    out = str(tmp_path / "out")
    wrote = answer(capsys, source, out, "--exclude", "*.o_proj", "--calibration", "mse")
    assert wrote["schema"] == "racktwin/quantize/1"
    assert wrote["bytes_in"] == sum(each.nbytes for each in llama().values())
    assert {each["reason"] for each in wrote["kept"]} == {"excluded", "embedding", "output head"}
    looked = answer(capsys, out, "--inspect", "--reference", source)
    assert looked["errors"][0]["all"]["error"] == pytest.approx(wrote["errors"][0]["all"]["error"])
    compared = answer(capsys, source, "--compare", "nvfp4,fp8")
    assert [each["format"] for each in compared["errors"]] == ["nvfp4", "fp8"]
    assert compared["errors"][1]["all"]["error"] < 0.04
    keys = {key for each in (wrote, looked, compared) for key in printed(each)}
    faults = {"faults[].tensor", "faults[].message"}
    assert keys - {"schema"} | faults == documented(root, "quantize")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "found none"),
        (["out", "--inspect"], "found TARGET and --inspect"),
        (["--inspect", "--compare", "nvfp4"], "found --inspect and --compare"),
        (["--inspect", "--layout", "modelopt"], "--layout: belongs to TARGET, not to --inspect"),
        (["--inspect", "--exclude", "x"], "--exclude: belongs to TARGET and --compare"),
        (["out", "--reference", "x"], "--reference: belongs to --inspect, not to TARGET"),
        (["--compare", "nvfp5"], "--compare: 'nvfp5' is not known; did you mean 'nvfp4'?"),
        (["--compare", ""], "--compare: '' is not known"),
        (["--compare", "fp8", "--calibration", "x"], "--calibration: 'x' is not known"),
        (["--compare", "fp8", "--report", "/nowhere/x.html"], "--report: /nowhere/x.html: its"),
        (["out", "--format", "mxfp4"], "--format: 'mxfp4' is not known; known: nvfp4"),
        (["out", "--input-scales", "nowhere"], "--input-scales: nowhere: no such file"),
    ],
)
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], source: str, words: list[str], message: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, source, *words)
    assert not Path("out").exists()


def test_a_stop_by_hand(
    capsys: pytest.CaptureFixture[str], source: str, tmp_path: Path, monkeypatch: Any
) -> None:
    from racktwin.checkpoints import conversion

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "quantize_rows", stop)
    assert main(["quantize", source, str(tmp_path / "out")]) == 130
    assert "keeps its whole shards: the same command goes on" in capsys.readouterr().err


def test_a_checkpoint_of_values_that_are_not_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tensors = llama(1)
    tensors["model.layers.0.mlp.up_proj.weight"][:] = np.nan
    folder = str(write_folder(tmp_path / "in", tensors))
    said = refused(capsys, folder, str(tmp_path / "out"))
    assert "model.layers.0.mlp.up_proj.weight: 8,192 values are NaN" in said

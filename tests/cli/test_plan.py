"""The verb `plan`: screens, JSON, files, exit codes, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.json_page import documented, printed

from racktwin import catalog
from racktwin.cli import main

SMALL = ("llama-3.1-8b", "--on", "hgx-b200", "--gpus", "8", "--input", "2000", "--output", "400")
ONE = (
    *("llama-3.1-8b", "--on", "azure-nd-h100-v5", "--gpus", "1", "--mode", "aggregated"),
    *("--input", "2000", "--output", "400", "--ttft", "2s", "--tpot", "50ms", "--kv-dtype", "fp8"),
)
GOLDEN = """\
Llama # #B in FP# and FP# KV on azure-nd-h#-v# (# of # H#), trtllm-#
# in / # out TTFT <= # s, TPOT <= # ms best output tokens/s/GPU
# deployments of # layouts priced in # s, # within the limits

# deployment (one copy) GPUs out tok/s/GPU (total) TPOT ms TTFT s rack kW $/Mtok out
"""
ROW = r"# aggregated TP#, chunks( of)?( #)? # # # # # # #"
INTERVALS = r"(of )?(# )?#-# #-# #-#"


@pytest.fixture(autouse=True)
def _fixed(fixed_intervals: None) -> None:
    """Every answer here takes the same intervals."""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["plan", *words])
    out, err = capsys.readouterr()
    return code, out, err


def masked(text: str) -> str:
    """The text with figures as # and single blanks."""
    figures = re.sub(r"\d(?:[\d,.]*\d)?", "#", text)
    return "\n".join(re.sub(r" +", " ", line).strip() for line in figures.splitlines())


def test_the_screen_has_its_form(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *ONE)
    assert (code, err) == (0, "")
    shown = masked(out)
    assert shown.startswith(GOLDEN)
    assert re.fullmatch(ROW, shown.splitlines()[5])
    assert re.fullmatch(INTERVALS, shown.splitlines()[6])
    for text in (
        "output tok/s/GPU against tok/s/user",
        "why #1 stops at batch ",
        "decode step ",
        "all 1 GPUs: 1 copy,",
        "requests in flight: ",
        "evidence: TPOT a fixed interval of tpot",
        "TTFT a fixed interval of ttft",
        "operator prices measured",
        "price:    $",
    ):
        assert text in out


@pytest.mark.parametrize(
    "words",
    [
        SMALL,
        ONE,
        (*SMALL, "--tpot", "1us", "--ttft", "1us"),
        (*SMALL, "--prefix-hit", "40%", "--objective", "latency", "--spare", "2"),
        (*("deepseek-r1", "--on", "azure-nd-gb300-v6", "--gpus", "64", "--input", "8192"),
         *("--output", "1024", "--mtp", "1:0.8", "--engine", "sglang", "--top", "10")),
        (*SMALL, "--on", "azure-nd-h100-v5"),
    ],
    ids=range(6),
)  # fmt: skip
def test_screens_fit_a_hundred_columns(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    _, out, _ = run(capsys, *words)
    assert max(len(line) for line in out.splitlines()) <= 100
    assert not any(line.endswith(" ") for line in out.splitlines())


def test_limits_nothing_meets_exit_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *SMALL, "--tpot", "1us")
    assert (code, err) == (1, "")
    assert "nothing meets the limits; this comes closest:" in out
    assert "what it misses" in out
    assert "a TPOT of" in out
    found = json.loads(run(capsys, *SMALL, "--tpot", "1us", "--json")[1])
    assert found["choices"] == []
    assert found["closest"]["limit"].startswith("a TPOT of")


def test_two_machines_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SMALL, "--on", "azure-nd-h100-v5")
    assert code == 0
    head = next(line for line in out.splitlines() if line.startswith("side by side"))
    assert head.split()[-2:] == ["hgx-b200", "azure-nd-h100-v5"]
    for row in ("within the limits", "output tok/s/GPU", "TPOT ms", "$/Mtok output"):
        assert f"\n{row} " in out
    code, text, _ = run(capsys, *SMALL, "--on", "azure-nd-h100-v5", "--json")
    one, two = json.loads(text)["plans"]
    assert [one["question"]["cluster"], two["question"]["cluster"]] == head.split()[-2:]
    _, alone, _ = run(capsys, *SMALL, "--json")
    assert json.loads(alone)["choices"] == one["choices"]


def test_one_machine_that_fails_fails_both(capsys: pytest.CaptureFixture[str]) -> None:
    """The limit lies between what the two reach."""

    def fastest(cluster: str) -> float:
        words = [cluster if each == "hgx-b200" else each for each in SMALL]
        found = json.loads(run(capsys, *words, "--objective", "latency", "--json")[1])
        return min(each["tpot"]["value"] for each in found["choices"])

    between = (fastest("hgx-b200") + fastest("azure-nd-h100-v5")) / 2
    code, out, _ = run(capsys, *SMALL, "--on", "azure-nd-h100-v5", "--tpot", f"{between} s")
    assert code == 1
    (row,) = [line for line in out.splitlines() if line.startswith("within the limits")]
    assert sorted(row.split()[-2:]) == ["no", "yes"]


@pytest.mark.parametrize("mode", ["aggregated", "disaggregated"])
def test_documented_keys_are_printed_keys(
    capsys: pytest.CaptureFixture[str], root: Path, mode: str
) -> None:
    _, met, _ = run(capsys, *SMALL, "--mode", mode, "--confirm", "--json")
    answer = json.loads(met)
    assert answer.pop("schema") == "racktwin/plan/1"
    assert answer["closest"] is None
    assert set(printed(answer)) == documented(root, "plan")


def test_every_file_is_written_and_the_deployment_is_read_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "plan"
    code, out, _ = run(capsys, *SMALL, "--out", str(target), "--json")
    assert code == 0
    names = {path.name for path in target.iterdir()}
    assert {"report.html", "plan.json", "deployment.yaml", "launch"} <= names
    assert list((target / "launch").iterdir())
    shown, written = json.loads(out), json.loads((target / "plan.json").read_text())
    assert shown["choices"] == written["choices"]
    best = written["choices"][0]
    load = str(best["concurrency"] * best["copies"])
    words = [str(target / "deployment.yaml"), "--input", "2000", "--output", "400", "--json"]
    assert main(["predict", *words, "--concurrency", load]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tpot"]["value"] == pytest.approx(best["tpot"]["value"], rel=0.01)
    assert found["ttft"]["value"] == pytest.approx(best["ttft"]["value"], rel=0.02)
    assert found["output_rate"]["value"] == pytest.approx(best["output_rate"]["value"], rel=0.01)


def test_own_files_are_found_from_where_the_deployment_lies(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    config = catalog.load("models", "llama-3.1-8b").data["config"]
    (tmp_path / "my/config.json").write_text(json.dumps(config))
    (tmp_path / "my/hall.yaml").write_text("extends: hgx-b200\nnodes: 2\n")
    words = ("my/config.json", "--on", "my/hall.yaml", *SMALL[5:])
    assert run(capsys, *words, "--out", "out/plan")[0] == 0
    text = (tmp_path / "out/plan/deployment.yaml").read_text()
    assert 'model: "../../my/config.json"' in text
    assert 'cluster: "../../my/hall.yaml"' in text
    load = ("--input", "2000", "--output", "400", "--concurrency", "16")
    assert main(["predict", "out/plan/deployment.yaml", *load]) == 0


def test_a_chip_is_not_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "llama-3.1-8b", "--on", "h100", *SMALL[5:])
    assert code == 2
    assert "'h100' is a chip; name a cluster of it: azure-nd-h100-v5" in err


def test_the_screen_says_what_was_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = str(tmp_path / "plan")
    _, out, _ = run(capsys, *SMALL, "--out", target)
    names = ("report.html", "plan.json", "deployment.yaml", "launch/")
    assert out.splitlines()[-1] == "wrote " + ", ".join(f"{target}/{name}" for name in names)
    _, out, _ = run(capsys, *SMALL, "--on", "azure-nd-h100-v5", "--out", target)
    assert out.splitlines()[-1] == f"wrote {target}/1-hgx-b200/, {target}/2-azure-nd-h100-v5/"
    assert (tmp_path / "plan/2-azure-nd-h100-v5/report.html").exists()
    assert not (tmp_path / "plan/report.html").exists()


def test_a_folder_of_somebody_else_is_left_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    code, out, err = run(capsys, *SMALL, "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert "notes.txt" in err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_memory_fraction_reaches_the_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "plan"
    run(capsys, *SMALL, "--memory-fraction", "0.7", "--out", str(target))
    assert "memory_fraction: 0.7" in (target / "deployment.yaml").read_text()
    assert any("0.7" in path.read_text() for path in (target / "launch").iterdir())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lama-3.1-8b", *SMALL[1:]), "did you mean 'llama-3.1-8b'"),
        ((*SMALL, "--tpot", "20"), "--tpot: '20' has no unit"),
        ((*SMALL[:-1], "1e3"), "--output"),
        (("llama-3.1-8b", "--input", "2000", "--output", "400"), "--on"),
        ((*SMALL, "--frobnicate", "3"), "frobnicate"),
        (
            ("llama-3.1-405b", "--on", "azure-nd-h100-v5", "--gpus", "2", *SMALL[5:]),
            "does not load on 2 NVIDIA H100",
        ),
        ((*SMALL, "--spare", "8"), "hold no whole copy"),
        (("/nowhere/config.json", *SMALL[1:]), "/nowhere/config.json"),
    ],
)
def test_bad_input_is_refused_without_output(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    code, out, err = run(capsys, *words, "--out", str(tmp_path / "plan"))
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert not (tmp_path / "plan").exists()

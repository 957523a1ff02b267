"""The verb `validate`: screen, JSON, files, exit codes, refusals."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.evidence.conftest import ROW
from tests.json_page import documented, printed

from racktwin.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["validate", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Three rows: one measured, one not, one that cannot be answered."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerow(ROW)
        writer.writerow(ROW | {"concurrency": "4", "tpot_mean_ms": ""})
        writer.writerow(ROW | {"model": "deepseek-r9"})
    return str(path)


def test_the_screen_has_its_form(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, out, err = run(capsys, "serving", "--points", table, "--by", "chip,epoch")
    assert (code, err) == (0, "")
    lines = iter(" ".join(line.split()) for line in out.splitlines())
    for start in (
        "serving 3 rows: 2 answered, 1 refused",
        f"of {table}",
        "figure rows mean median p90 bias 80 % hold width",
        "TPOT 1 ",
        "chip rows TPOT mean median p90 bias",
        "b200 2 ",
        "epoch rows ",
        "trtllm-1.2 2 ",
        "no answer",
        "1 model: 'deepseek-r9' is not known; did you mean",
    ):
        assert any(line.startswith(start) for line in lines), start


def test_lines_fit_a_hundred_columns(capsys: pytest.CaptureFixture[str], table: str) -> None:
    for words in (("serving", "--points", table), ("azure",)):
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert all(len(line) <= 100 for line in out.splitlines() if not line.startswith("of /"))


def test_cells_that_are_no_positive_number_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerow(ROW | {"ttft_mean_ms": "-1", "tpot_mean_ms": "nan"})
    _, out, _ = run(capsys, "serving", "--points", str(path))
    assert out.startswith("serving  1 row: 1 answered, 0 refused\n")
    assert "not scored, since no positive number: 2 measured cells" in out
    answer = json.loads(run(capsys, "serving", "--points", str(path), "--json")[1])
    assert (answer["unscored"], answer["all"][0]["scored"]) == (2, 0)


def test_the_next_reasons_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """All of them up to seventeen, and of more how many there are."""
    for count, rest in ((17, ""), (19, "3  of 3 other reasons")):
        path = tmp_path / "rows.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROW))
            writer.writeheader()
            writer.writerows(ROW | {"model": f"{'xyz'[i % 3] * (i + 9)}"} for i in range(count))
        _, out, _ = run(capsys, "serving", "--points", str(path))
        assert out.count("is not known") == min(count, 17 if not rest else 16)
        assert rest in out
        assert ("other reason" in out) == bool(rest)


def test_unmeasured_rows_are_predicted_and_not_scored(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    path = tmp_path / "blank.csv"
    path.write_text(Path(table).read_text().replace("16.5", ""))
    code, out, _ = run(capsys, "serving", "--points", str(path))
    assert code == 0
    assert "nothing measured stands in the rows: predicted, not scored" in out


def test_json_has_the_documented_keys(
    capsys: pytest.CaptureFixture[str], table: str, root: Path
) -> None:
    code, out, _ = run(capsys, "serving", "--points", table, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["schema"] == "racktwin/validate/1"
    assert (answer["rows"], answer["answered"], answer["refused"]) == (3, 2, 1)
    assert answer["all"][0]["figure"] == "tpot"
    assert answer["all"][0]["scored"] == 1
    keys = set(printed(answer)) - {"schema"}
    some = {e for e in documented(root, "validate") if e.startswith(("apart[].", "noise[]."))}
    assert keys | some | {"sets[]"} == documented(root, "validate")
    code, out, _ = run(capsys, "collectives", "--json")
    assert set(printed(json.loads(out))) - {"schema"} <= documented(root, "validate")
    assert {each["figure"] for each in json.loads(out)["noise"]} == {"time"}


def test_points_are_written(capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    code, out, _ = run(capsys, "serving", "--points", table, "--out", str(folder))
    assert code == 0
    assert f"wrote {folder}/points.csv" in out
    with (folder / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [bool(row["predicted_tpot_ms"]) for row in rows] == [True, True, False]
    assert "did you mean" in rows[2]["reason"]
    (folder / "mine.txt").write_text("keep")
    code, _, err = run(capsys, "serving", "--points", table, "--out", str(folder))
    assert code == 2
    assert "holds 'mine.txt'" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["servin"], "did you mean 'serving'?"),
        (["serving", "--by", "chips"], "did you mean 'chip'?"),
        (["all", "--points", "x.csv", "--by", "chip"], "2 findings"),
        (["azure", "--configs", "x.csv"], "belongs to mlperf"),
        (["serving", "--points", "/nowhere/x.csv"], "cannot be read: No such file"),
        (["serving", "--points", "/"], "cannot be read: Is a directory"),
        (["serving", "--points", "/dev/zero"], "is no regular file"),
        (["kernels", "--points", "/nowhere"], "is no folder of tables"),
        (["mlperf", "--configs", "/nowhere/x.csv"], "cannot be read"),
    ],
)
def test_bad_input_is_one_message(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str, table: str
) -> None:
    if words[:1] == ["serving"] and "--points" not in words:
        words = [*words, "--points", table]
    code, out, err = run(capsys, *words)
    assert code == 2
    assert said in err
    assert out == ""


def test_every_point_of_azures_curve_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "azure")
    assert code == 0
    lines = out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("serving curve"))
    rows = [" ".join(line.split()).replace(" %!", " %") for line in lines[first + 1 : first + 6]]
    assert rows[0].startswith("1P TEP2 + 4D TEP8 5 346 ")
    assert [row.split(" ")[5] for row in rows[:3]] == ["5", "24", "33"]
    assert " of 5 points within 12 % in both figures; ! beyond" in lines[first + 6]


def test_all_sets_on_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from racktwin.cli import validate

    monkeypatch.setattr(validate, "SETS", ("azure", "collectives"))
    code, out, err = run(capsys, "all")
    assert (code, err) == (0, "")
    assert "azure        TPOT " in out
    assert "collectives  time " in out
    code, out, _ = run(capsys, "all", "--json")
    assert [each["set"] for each in json.loads(out)["sets"]] == ["azure", "collectives"]


def test_the_head_adds_up_and_no_reason_stands_twice(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "collectives")
    head = " ".join(re.split("figure|not scored", out)[0].replace(",", "").split())
    rows, answered, doubted, refused, twice = map(int, re.findall(r"\d+", head))
    assert rows == answered + refused + twice
    assert doubted < answered
    reasons = [line[9:] for line in out.split("no answer")[1].splitlines() if line.strip()]
    assert len(reasons) == len(set(reasons))

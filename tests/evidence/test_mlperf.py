"""MLPerf Offline results joined with their configurations."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from racktwin.evidence import mlperf
from racktwin.evidence.measurement import deployment
from racktwin.evidence.mlperf_config import Configurations
from racktwin.finding import BadInput
from racktwin.models.layout import Layout

TRUTH = ("mlperf_inference.csv", "mlperf_configs.csv")


def test_gb300_offline_is_nine_replicas_of_eight(shared: Path) -> None:
    found = mlperf.read(*(shared / "truth" / name for name in TRUTH))
    rack = [each for each in found.measurements if "GB300" in each.system and each.gpus == 72]
    rates = {each.id[:4]: each.output_rate for each in rack}
    assert rates == {"v5.1": 420659.0, "v6.0": 647076.0}
    newest = next(each for each in rack if each.id.startswith("v6.0"))
    assert newest.serve is not None
    assert newest.serve.replicas == 9
    assert newest.serve.layout == Layout(attention_data=8, expert=8)
    assert newest.serve.max_batch == 1536
    assert newest.engine == "trtllm-1.2"
    assert newest.scheduler == "max_utilization"  # room for 1,536 answers of 20,000 tokens is not
    assert deployment(newest).reserved == 0
    assert newest.traffic.decode_context == pytest.approx(800 + 3886 / 2 * 2.4)
    assert "mean input length assumed" in newest.inferred


def test_results_without_a_configuration_are_refused(shared: Path) -> None:
    found = mlperf.read(*(shared / "truth" / name for name in TRUTH))
    assert len(found.measurements) == 8
    assert all(each.findings for each in found.refused)


def write(path: Path, columns: tuple[str, ...], *values: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(values)
    return path


RESULT = {
    "round": "v6.0",
    "submitter": "N",
    "platform": "S_TRT",
    "accelerator": "NVIDIA GB300",
    "n_accelerators": "8",
    "model": "deepseek-r1",
    "scenario": "Offline",
    "value": "70000",
    "units": "Tokens/s",
}
CONFIG = {
    "round": "v6.0",
    "submitter": "N",
    "system": "S",
    "scenario": "Offline",
    "file": "deepseek-r1.py",
    "tp": "8.0",
    "ep": "8.0",
    "attention_dp": "True",
    "max_batch_per_gpu": "64",
    "max_num_tokens": "4096",
}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"tp": "0"}, "tp"),
        ({"tp": "nan"}, "tp"),
        ({"tp": "3"}, "tp"),
        ({"max_num_tokens": ""}, "max_num_tokens"),
        ({"system": "other"}, "system"),
    ],
)
def test_faulty_configurations_are_refused(
    changes: dict[str, str], key: str, tmp_path: Path
) -> None:
    results = write(tmp_path / "r.csv", tuple(RESULT), RESULT)
    configs = write(tmp_path / "c.csv", tuple(CONFIG), CONFIG | changes)
    found = mlperf.read(results, configs)
    assert not found.measurements
    assert key in {each.key for each in found.refused[0].findings}


def formats(result: str, config: str, tmp_path: Path) -> tuple[str, str]:
    given = CONFIG | {"precision": config, "kv_dtype": ""}
    known = Configurations.read(write(tmp_path / "c.csv", tuple(given), given))
    found = mlperf.measurement(RESULT | {"precision": result}, known)
    return found.precision, found.kv


@pytest.mark.parametrize("word", ["fp4", "nvfp4", "NVFP4", "modelopt_fp4"])
def test_words_of_a_format_mean_one(word: str, tmp_path: Path) -> None:
    assert formats(word, "fp8", tmp_path) == ("nvfp4", "fp8")
    assert formats("", word, tmp_path) == ("nvfp4", "fp8")


@pytest.mark.parametrize(
    ("word", "meant"), [("", "checkpoint"), ("FP8", "fp8"), ("bfloat16", "bf16"), ("awq", "int4")]
)
def test_other_formats_of_a_result(word: str, meant: str, tmp_path: Path) -> None:
    assert formats(word, "", tmp_path)[0] == meant


def test_an_unknown_format_of_a_result_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as fault:
        formats("nvfp5", "fp8", tmp_path)
    assert [(each.key, each.line) for each in fault.value.findings] == [("precision", 1)]
    assert "did you mean 'nvfp4'" in str(fault.value)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("gb300", "NVIDIA GB300"),
        ("GB300", "NVIDIA GB300"),
        ("nvidia gb300", "NVIDIA GB300"),
        ("H200", "NVIDIA H200-SXM-141GB"),
        ("B200", "NVIDIA B200-SXM-180GB"),
        ("NVIDIA B300", "NVIDIA B300-SXM-270GB"),
        ("h100", "NVIDIA H100-SXM-80GB"),
        ("NVIDIA H200-NVL-141GB", "NVIDIA H200-NVL-141GB"),
        ("L40S", "L40S"),
        ("", ""),
    ],
)
def test_plain_chips_mean_the_listed_accelerator(text: str, listed: str) -> None:
    assert mlperf.accelerator({"accelerator": text}) == listed


def test_an_accelerator_read_as_another_is_said(tmp_path: Path) -> None:
    known = Configurations.read(write(tmp_path / "c.csv", tuple(CONFIG), CONFIG))
    plain = mlperf.measurement(RESULT | {"accelerator": "gb300"}, known)
    listed = mlperf.measurement(RESULT, known)
    assert plain.inferred[0] == "'gb300' read as NVIDIA GB300"
    assert (plain.cluster, plain.pools) == (listed.cluster, listed.pools)
    assert not any("read as" in each for each in listed.inferred)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "accelerator: is empty"),
        (" ", "accelerator: is empty"),
        ("NVIDIA L40S", "known: NVIDIA B200-SXM-180GB"),
        ("NVIDIA H200-NVL-141GB", "did you mean 'NVIDIA H200-SXM-141GB'?"),
    ],
)
def test_accelerators_nobody_knows(text: str, said: str, tmp_path: Path) -> None:
    known = Configurations.read(write(tmp_path / "c.csv", tuple(CONFIG), CONFIG))
    with pytest.raises(BadInput) as fault:
        mlperf.measurement(RESULT | {"accelerator": text}, known)
    assert said in str(fault.value)


def test_queries_are_no_tokens(tmp_path: Path) -> None:
    configs = write(tmp_path / "c.csv", tuple(CONFIG), CONFIG)
    results = write(tmp_path / "r.csv", tuple(RESULT), RESULT | {"units": "Queries/s"})
    assert mlperf.read(results, configs).refused[0].findings[0].key == "value"


def test_other_files_are_refused(tmp_path: Path) -> None:
    configs = write(tmp_path / "c.csv", ("a",), {})
    with pytest.raises(BadInput, match="column is missing"):
        mlperf.read(configs, configs)

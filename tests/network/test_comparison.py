"""Logs of nccl-tests: read without trust, judged, the planted fault named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import hardware
from racktwin.finding import BadInput
from racktwin.hardware import Place
from racktwin.network.comparison import SUSPECTS, compare
from racktwin.network.expectation import Question, expect
from racktwin.network.nccl_log import read
from racktwin.network.way import Way

SIZES = 2.0 ** np.arange(10.0, 34.0)
REAL = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  43 on host-a device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  44 on host-b device  1 [0x1c] NVIDIA H100 80GB HBM3
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
0 0 float sum -1 0.14 0.00 0.00 0 0.14 0.00 0.00 0
1024 256 float sum -1 15.50 0.07 0.07 0 15.40 0.07 0.07 0
1048576 262144 float sum -1 24.50 42.80 42.80 2 24.40 42.97 42.97 0
2048 512 float sum -1 N/A N/A N/A N/A 15.40 0.07 0.12 0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 43.2
"""


def question(name: str = "azure-nd-h100-v5", ranks: int = 8, **way: object) -> Question:
    cluster = hardware.cluster(name)
    place = cluster.place(ranks)
    return Question(operation="all_reduce", place=place, cluster=cluster, way=Way(**way))


def log(folder: Path, asked: Question, slower: float = 1.0) -> Path:
    """A run that is exactly what is expected of `asked`, times `slower`."""
    found = expect(asked, SIZES)
    lines = ["# Collective test starting: all_reduce_perf"]
    for size, time in zip(SIZES, found.calibrated * slower * 1e6, strict=True):
        rate = size / time / 1e3
        figures = f"{time:.2f} {rate:.2f} {rate * found.share:.2f} 0"
        lines.append(f"{size:.0f} {size / 4:.0f} float sum -1 {figures} {figures}")
    path = folder / "run.log"
    path.write_text("\n".join(lines))
    return path


def test_a_log_as_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(REAL)
    found = read(path)
    assert (found.operation, found.ranks, found.hosts) == ("all_reduce", 2, 2)
    assert found.device == "NVIDIA H100 80GB HBM3"
    assert [(line.size, line.seconds, line.wrong) for line in found.lines] == [
        (1024, pytest.approx(15.5e-6), 0),
        (2**20, pytest.approx(24.5e-6), 2),
    ]


def test_what_runs_as_expected_is_not_accused(tmp_path: Path) -> None:
    run = compare(question(), read(log(tmp_path, question(), 1.05)))
    assert {line.verdict for line in run.lines} == {"as expected"}
    assert run.causes == ()


@pytest.mark.parametrize(
    ("name", "ranks", "cause"),
    [
        ("azure-nd-h100-v5", 8, "rings instead"),
        ("azure-nd-h100-v5", 32, "half of the NIC"),
        ("azure-nd-gb300-v6", 72, "hosts joined by NICs"),
    ],
)
def test_a_planted_fault_is_the_likely_cause(
    tmp_path: Path, name: str, ranks: int, cause: str
) -> None:
    asked = question(name, ranks)
    change = next(change for known, change in SUSPECTS.items() if known.startswith(cause))
    broken = change(asked)
    assert broken is not None
    run = compare(asked, read(log(tmp_path, broken)))
    assert run.causes[0][0].startswith(cause)
    assert run.causes[0][1] == pytest.approx(1.0, abs=0.01)
    assert run.lines[-1].verdict == "slow"


def test_small_messages_alone_point_at_latency(tmp_path: Path) -> None:
    path = log(tmp_path, question(), 2.0)
    run = compare(question(), read(path))
    assert "latency of small messages" in run.lines[0].cause


def test_faster_than_light_is_said(tmp_path: Path) -> None:
    run = compare(question(), read(log(tmp_path, question(), 0.2)))
    assert "faster than the links allow" in run.lines[-1].cause


@given(st.binary(max_size=300))
def test_garbage_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(b"1024 256 float sum -1 " + data)
    try:
        found = read(path)
    except BadInput:
        return
    assert all(line.size > 0 and line.seconds > 0 for line in found.lines)


@pytest.mark.parametrize("text", ["", "hello", "# Rank 0\n", "1024 x\n" * 10, "nan " * 20])
def test_a_log_without_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(BadInput, match="no line of results"):
        read(path)
    with pytest.raises(BadInput, match="cannot be read"):
        read(tmp_path / "absent")


def test_every_suspect_changes_something_or_does_not_apply() -> None:
    cluster = hardware.cluster("azure-nd-gb300-v6")
    for ranks in (8, 144):
        asked = question("azure-nd-gb300-v6", ranks, sharp=ranks > 72)
        for change in SUSPECTS.values():
            changed = change(asked)
            assert changed is None or changed != asked
    apart = msgspec.structs.replace(asked, place=Place(8, 1, 1), cluster=cluster)
    assert all(change(apart) != apart for change in SUSPECTS.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1024 256 float sum -1 1e-300 0.07 0.12 0", "bytes in 1e-300 us"),
        ("1024 256 float sum -1 15.50 0.07 0.12 -3", "-3 values were wrong"),
        ("1024 512 float sum -1 15.50 0.07 0.12 0", "count is of 2,048 bytes"),
        ("1048576 262144 float sum -1 24.50 52.80 92.4 0", "algbw is 52.8, and size over"),
        ("1048576 262144 float sum -1 24.50 42.80 42.80 0", "of 8 ranks 1.75 times"),
        ("1048576 262144 24.50 float sum -1 42.80 74.90 0", "no count and type"),
        ("1048576 262144 float sum -1 42.80 74.90 0 24.50", "algbw is 74.9"),
        ("1048576 262144 float sum -1 N/A N/A N/A N/A", "no time out of place"),
        ("1048576 262144 float sum -1 nan 42.80 74.90 0", "nan stands for a time"),
    ],
)
def test_lines_that_contradict_themselves(tmp_path: Path, text: str, said: str) -> None:
    """No such line is judged; alone, it is named with its number."""
    path = tmp_path / "log"
    ranks = "".join(f"#  Rank  {n} Group 0 Pid 1 on a device {n} [0x1] H100\n" for n in range(8))
    head = f"# Collective test starting: all_reduce_perf\n{ranks}"
    path.write_text(f"{head}{text}\n")
    with pytest.raises(BadInput) as refused:
        read(path)
    assert (refused.value.findings[1].line, len(refused.value.findings)) == (10, 2)
    assert said in refused.value.findings[1].message
    path.write_text(f"{head}1024 256 float sum -1 15.50 0.07 0.12 0\n{text}\n")
    found = read(path)
    assert [line.size for line in found.lines] == [1024]
    assert found.skipped[0].number == 11


def test_programs_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(REAL.replace("all_reduce_perf", "foo_perf"))
    with pytest.raises(BadInput, match=r"line 1 .*foo_perf; expected all_reduce"):
        read(path)
    path.write_text(REAL + REAL.replace("all_reduce_perf", "alltoall_perf"))
    with pytest.raises(BadInput, match="one program's at a time"):
        read(path)


@pytest.mark.parametrize(
    "row",
    [
        "1048576 262144 float sum -1 24.50 42.80 42.80 0 24.40 42.97 42.97 0",
        "1048576 262144 float sum 24.50 42.80 42.80 0e+00 24.40 42.97 42.97 0e+00",
        "1048576 262144 float 24.50 42.80 42.80 0",
        "[1,0]<stdout>: 1048576 262144 float sum -1 24.50 42.80 42.80 N/A",
        "0: 1048576 262144 float sum -1 24.50 42.80 42.80 0",
    ],
)
def test_columns_of_other_versions_and_labels_of_launchers(tmp_path: Path, row: str) -> None:
    path = tmp_path / "log"
    path.write_text(f"# Collective test starting: all_reduce_perf\n{row}\n")
    line = read(path).lines[0]
    assert (line.size, line.seconds) == (2**20, pytest.approx(24.5e-6))


def test_counts_of_one_part(tmp_path: Path) -> None:
    """nccl-tests counts an all-gather's elements by rank: 4 ranks of 65,536 floats are 1 MiB."""
    path = tmp_path / "log"
    ranks = "".join(f"#  Rank  {n} Group 0 Pid 1 on a device {n} [0x1] H100\n" for n in range(4))
    row = "1048576 65536 float none -1 24.50 42.80 32.10 0"
    path.write_text(f"# Collective test starting: all_gather_perf\n{ranks}{row}\n")
    assert read(path).lines[0].size == 2**20


def test_letters_of_a_terminal_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(REAL.replace("NVIDIA H100 80GB HBM3", "\x1b[31mH100"))
    assert read(path).device == "[31mH100"

"""Validation of collectives: units, devices, bounds, rows that contradict themselves."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from racktwin import network
from racktwin.evidence.validation import collectives
from racktwin.evidence.validation.point import Point
from racktwin.hardware import cluster
from racktwin.network.way import Way

ROW = {
    "system": "Azure ND GB200 v6",
    "gpu": "GB200",
    "n_gpus": "4.0",
    "op": "all_reduce",
    "dtype": "float",
    "bytes_or_tokens": "1073741824",
    "latency_us": "2489.9",
    "busbw_GBps": "646.87",
    "transport": "intra-node NVLink",
    "settings": "",
    "source": "",
}
Answer = Callable[..., Point]


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    def run(**changes: str) -> Point:
        path = tmp_path / "rows.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROW))
            writer.writeheader()
            writer.writerow(ROW | changes)
        return collectives(path).points[0]

    return run


@pytest.mark.parametrize(
    ("text", "size"),
    [("1G", 2**30), ("1GB", 2**30), ("256MB", 2**28), ("256m", 2**28), ("4k", 2**12)],
)
def test_sizes_are_written_as_nccl_tests_writes_them(answer: Answer, text: str, size: int) -> None:
    asked, plain = answer(bytes_or_tokens=text), answer(bytes_or_tokens=str(size))
    assert asked.columns["predicted_us"] == plain.columns["predicted_us"] != ""
    assert f"{text!r} read as {size} bytes" in asked.evidence
    assert "read as" not in plain.evidence


@pytest.mark.parametrize("text", ["17 GB", "1Gb/s", "4x", "k", "9999T", "8-16M"])
def test_sizes_that_say_nothing_certain_are_refused(answer: Answer, text: str) -> None:
    assert answer(bytes_or_tokens=text).reason == f"bytes_or_tokens: {text!r} is no number of bytes"


@pytest.mark.parametrize("text", ["-3", "nan", "0", "n/a", "inf"])
def test_a_cell_that_is_no_positive_number_is_not_scored(
    tmp_path: Path, answer: Answer, text: str
) -> None:
    point = answer(latency_us=text, busbw_GBps=text)
    assert [each.measured for each in point.values] == [None, None]
    assert all(each.inside is None for each in point.values)
    assert collectives(tmp_path / "rows.csv").unscored == 2
    answer(latency_us=" ", busbw_GBps="")
    assert collectives(tmp_path / "rows.csv").unscored == 0


def test_bus_bandwidth_is_that_of_nccl_tests(answer: Answer) -> None:
    point = answer()
    time, busbw = (float(point.columns[name]) for name in ("predicted_us", "predicted_busbw_GBps"))
    assert busbw == pytest.approx(2 * 3 / 4 * 1073741824 / time / 1e3, rel=1e-4)
    assert busbw == pytest.approx(646.87, rel=0.1)
    gather = answer(op="all_gather")
    time = float(gather.columns["predicted_us"])
    assert float(gather.columns["predicted_busbw_GBps"]) == pytest.approx(
        3 / 4 * 1073741824 / time / 1e3, rel=1e-4
    )


@pytest.mark.parametrize("ranks", [2, 8, 72, 144, 4608])
def test_no_prediction_is_below_the_bound(answer: Answer, ranks: int) -> None:
    rack = cluster("azure-nd-gb300-v6")
    for op in ("all_reduce", "all_gather", "reduce_scatter", "alltoall"):
        for size in (8.0, 1e6, 1e11):
            point = answer(
                system="", gpu="GB300", n_gpus=f"{ranks}", op=op, bytes_or_tokens=f"{size}"
            )
            name = op.replace("alltoall", "all_to_all")
            least = float(network.bound(name, size, rack.place(ranks), rack))  # type: ignore[arg-type]
            assert float(point.columns["predicted_us"]) >= 1e6 * least * (1 - 1e-5)


def test_devices_counts_and_tokens_are_read(answer: Answer) -> None:
    source = "x/systems/data/h100_sxm/comm/nccl/y.parquet"
    empty = answer(system="", gpu="", source=source, n_gpus="8")
    assert empty.traits["chip"] == "h100"
    assert "h100_sxm from the source" in empty.evidence
    nodes = answer(gpu="GB300", system="", n_gpus="", transport="MNNVL intra-rack, 18 nodes")
    assert nodes.traits["ranks"] == "72"
    assert "72 from '18 nodes'" in nodes.evidence
    sent = answer(op="moe_dispatch bf16", dtype="bf16", bytes_or_tokens="64 tok x 7168 top8 of 256")
    assert (sent.traits["operation"], sent.columns["predicted_busbw_GBps"]) == ("dispatch", "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bytes_or_tokens": "2-4G"}, "'2-4G' is no number of bytes"),
        ({"bytes_or_tokens": "-1"}, "'-1' is no number of bytes"),
        ({"n_gpus": "8x"}, "'8x' is no number of GPUs"),
        ({"n_gpus": "", "transport": ""}, "n_gpus: is empty"),
        ({"gpu": "H800", "system": ""}, "'H800' is no GPU of the catalog"),
        ({"op": "all_redus"}, "did you mean 'all_reduce'?"),
        ({"op": "moe_combine", "dtype": ""}, "is not 'N tok x HIDDEN topK of EXPERTS'; dtype"),
    ],
)
def test_rows_that_cannot_be_read_say_why(
    answer: Answer, changes: dict[str, str], reason: str
) -> None:
    assert reason in answer(**changes).reason


def test_measured_text_is_no_number_and_does_no_harm(answer: Answer) -> None:
    point = answer(latency_us="", busbw_GBps="365-370 ring; 480 NVLS")
    assert [each.measured for each in point.values] == [None, None]


def test_a_row_that_contradicts_itself_is_doubted(answer: Answer) -> None:
    """17.2 GB in 18,285 us over 72 ranks is 1,853 GB/s of bus bandwidth, the row says 937."""
    rack = {"gpu": "GB300", "system": "", "n_gpus": "72", "bytes_or_tokens": "17179869184"}
    time, busbw = answer(**rack, latency_us="18285", busbw_GBps="936.93").values
    assert "0.5 times" in time.doubt
    assert busbw.measured == 936.93
    assert not answer().values[0].doubt


def test_what_ships_is_answered_closely() -> None:
    found = collectives()
    assert len(found.answered) > 7500
    off = sorted(
        abs(v.value / v.measured - 1)
        for point in found.answered
        for v in point.values
        if v.measured and v.figure == "time"
    )
    assert off[len(off) // 2] < 0.05


def test_published_sizes_are_also_predicted_without_themselves(answer: Answer) -> None:
    (time,) = answer(bytes_or_tokens="1048576", latency_us="40", busbw_GBps="").values
    assert time.held is not None
    assert time.held.value == pytest.approx(time.value, rel=0.3)
    assert time.held.value != time.value
    assert time.held.low is not None
    assert time.held.low < time.held.value
    (odd,) = answer(bytes_or_tokens="1048575", latency_us="40", busbw_GBps="").values
    assert odd.held is None


def test_what_nobody_measured_has_a_wider_interval(answer: Answer) -> None:
    def width(ranks: str) -> float:
        time = answer(n_gpus=ranks).values[0]
        assert time.low is not None
        assert time.high is not None
        return (time.high - time.low) / time.value

    assert width("4") < width("72") < width("576")  # measured, by rule, across racks


def test_a_benchmark_spreads_tokens_farther_than_uniform_routing(answer: Answer) -> None:
    exchange = {
        "op": "moe_dispatch nvfp4",
        "bytes_or_tokens": "4096 tokens/rank x 7168 top8 of 256",
    }
    sided = answer(
        **exchange, n_gpus="8", transport="NVLink two-sided", latency_us="", busbw_GBps=""
    )
    assert "nvlink_two_sided prepare bf16 + nvlink_two_sided dispatch nvfp4" in sided.evidence
    even = network.dispatch(
        4096,
        hidden=7168,
        bytes_per_value=0.5 + 1 / 16,
        top_k=8,
        place=cluster("azure-nd-gb200-v6").place(8),
        cluster=cluster("azure-nd-gb200-v6"),
        framework="trtllm",
        experts=256,
        library="nvlink_two_sided",
    )
    assert float(sided.columns["predicted_us"]) > 1.3 * float(even.seconds) * 1e6


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ("NCCL_ALGO=Ring", Way(algorithm="ring")),
        ("NCCL Ring, in-place", Way(algorithm="ring")),
        ("NCCL NVLS, in-place", Way(algorithm="nvls")),
        ("NCCL_ALGO=Tree", Way(algorithm="tree")),
        ("NVLS off", Way(algorithm="ring")),
        ("NCCL_NVLS_ENABLE=0", Way(algorithm="ring")),
        ("NCCL_NVLS_ENABLE=1 NCCL_MNNVL_ENABLE=1", Way()),
        ("NCCL 2.29.2 nccl-tests", Way()),
        ("NCCL_COLLNET_ENABLE=1", Way()),  # one domain: nothing between to reduce
    ],
)
def test_settings_reach_the_prediction(answer: Answer, settings: str, way: Way) -> None:
    rack = cluster("azure-nd-gb200-v6")
    expected = network.all_reduce(1073741824, rack.place(4), rack, way=way)
    point = answer(settings=settings)
    assert float(point.columns["predicted_us"]) == pytest.approx(
        1e6 * float(expected.seconds), rel=1e-5
    )
    assert ("settings" in point.evidence) == bool(way.algorithm)


def test_sharp_and_nvlink_between_hosts(answer: Answer) -> None:
    """SHARP as published for 64 H100; hosts of a rack joined by NICs when NVLink is off."""
    hopper = {"gpu": "H100", "system": "", "n_gpus": "64", "latency_us": "", "busbw_GBps": ""}
    on = answer(**hopper, transport="8 x NDR400 IB, SHARP/CollNet enabled")
    off = answer(**hopper, settings="NCCL_COLLNET_ENABLE=0")
    assert "SHARP" in on.evidence
    assert "SHARP" not in off.evidence
    assert float(on.columns["predicted_us"]) < 0.8 * float(off.columns["predicted_us"])
    rack = {"gpu": "GB200", "system": "", "n_gpus": "16"}
    apart = answer(**rack, settings="NCCL_MNNVL_ENABLE=0")
    assert "over 4 NVLink domains" in apart.evidence
    assert "over" not in answer(**rack).evidence


def test_settings_that_cannot_be_say_why(answer: Answer) -> None:
    row = answer(settings="NCCL_ALGO=NVLSTree")
    assert "settings: nvls_tree is not possible: joins several NVLink domains" in row.reason

"""The verb `simulate`: screen, JSON, files, exit codes, refusals."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import polars as pl
import pytest
from tests.json_page import documented, printed

from racktwin.cli import main
from racktwin.cli.progress import Progress

SERVE = """\
model: llama-3.1-8b
cluster: hgx-b200
engine: vllm
precision: {weights: fp8, kv: fp8}
serve: {tensor: 1, max_batch: 64, max_batch_tokens: 4096}
router: round_robin
copies: 4
"""
PAIR = """\
model: llama-3.1-8b
cluster: hgx-b200
engine: trtllm-1.3
precision: {weights: fp8, kv: fp8}
prefill: {replicas: 1, tensor: 1}
decode: {replicas: 1, tensor: 1, max_batch: 64}
copies: 2
"""
LENGTHS = ("--input", "500", "--output", "50")
LOAD = (*LENGTHS, "--rate", "20/s", "--requests", "2000")
HEADS = (
    "Llama 3.1 8B  aggregated TP1, chunks of 4,096",
    "on 4 x 1 GPUs of hgx-b200, vllm-",
    "2,000 requests at 20/s, router round_robin",
    "  ",
    *("TTFT  ", "TPOT  ", "ITL  ", "E2E  ", "queue  "),
    *("requests  ", "tokens  ", "serve  ", "IT power  "),
    *("counted:  ", "evidence: TPOT", "          TTFT", "simulated "),
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "deployment.yaml"
    path.write_text(SERVE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["simulate", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_screen_has_its_form(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, err = run(capsys, file, *LOAD)
    assert (code, err) == (0, "")
    lines = iter(out.splitlines())
    missing = [head for head in HEADS if not any(line.startswith(head) for line in lines)]
    assert not missing  # in this order
    assert max(len(line) for line in out.splitlines()) <= 100


def test_the_second_token_is_told_where_the_tool_tells_it(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    words = (file, *LENGTHS, "--rate", "20/s", "--requests", "300", "--definitions")
    assert "TTST" in run(capsys, *words, "aiperf")[1]
    assert "TTST" not in run(capsys, *words, "vllm")[1]


@pytest.mark.parametrize("text", [SERVE, PAIR])
def test_documented_keys_are_printed_keys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, root: Path, text: str
) -> None:
    path = tmp_path / "deployment.yaml"
    path.write_text(text)
    code, out, _ = run(capsys, str(path), *LOAD, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer.pop("schema") == "racktwin/simulate/1"
    known = documented(root, "simulate")
    assert set(printed(answer)) == {each for each in known if "classes[]." not in each}


def test_the_screen_says_what_the_json_says(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, screen, _ = run(capsys, file, *LOAD, "--slo-ttft", "1s")
    found = json.loads(run(capsys, file, *LOAD, "--json")[1])
    assert re.search(rf"TTFT +{found['ttft']['mean']:.3f} ", screen)
    assert re.search(rf"TPOT +{found['tpot']['mean'] * 1e3:.2f} ", screen)
    assert f"{found['requests_per_s']:,.2f}/s within TTFT 1 s (100.0%)" in screen


def test_files(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    out, requests = tmp_path / "run", tmp_path / "requests.parquet"
    more = ("--out", str(out), "--requests-out", str(requests), "--trace-window", "10s:10.5s")
    code, screen, _ = run(capsys, file, *LOAD, *more)
    assert code == 0
    assert "wrote " in screen
    page = (out / "report.html").read_text()
    assert "<script" not in page
    assert page.count("<svg") >= 9
    assert not re.search(r'(src|href)="http', page)
    frame = pl.read_parquet(requests)
    assert sorted(frame["request"]) == list(range(2000))
    assert frame["output"].sum() == 100_000
    assert (frame["finish"] > frame["second"]).all()
    assert (frame["second"] > frame["first"]).all()
    events = json.loads((out / "steps.json").read_text())["traceEvents"]
    slices = [each for each in events if each["ph"] == "X"]
    assert {each["tid"] for each in slices} == {0, 1, 2, 3}
    assert all(each["ts"] + each["dur"] > 10e6 and each["ts"] < 10.5e6 for each in slices)
    answer = json.loads((out / "simulate.json").read_text())
    assert answer["requests"]["finished"] == 2000
    assert len(answer["timeline"]["edge_s"]) == len(answer["timeline"]["in_flight"])


def test_a_window_without_steps_is_told(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    words = ("--out", str(tmp_path / "run"), "--trace-window", "1h:2h")
    code, out, _ = run(capsys, file, *LOAD, *words)
    assert code == 0
    assert "no step falls into the trace window: the run ends at" in out


def test_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str], file: str) -> None:
    words = (file, "--workload", "azure-conv-2023", "--requests", "500", "--json")
    once, again, other = (run(capsys, *words, "--seed", seed)[1] for seed in "112")
    assert once == again
    assert once != other


CLOSED = """\
title: Two hundred at once
arrivals: {law: closed, concurrency: 20}
classes: [{input: {law: uniform, most: 500, ratio: 80 %}, output: {mean: 50}}]
requests: 400
"""


@pytest.fixture
def closed(tmp_path: Path) -> str:
    path = tmp_path / "closed.yaml"
    path.write_text(CLOSED)
    return str(path)


def test_a_closed_workload_keeps_its_number_in_flight(
    capsys: pytest.CaptureFixture[str], file: str, closed: str
) -> None:
    code, out, _ = run(capsys, file, "--workload", closed)
    assert code == 0
    assert "400 requests of closed, 20 in flight, router" in out
    found = json.loads(run(capsys, file, "--workload", closed, "--concurrency", "7", "--json")[1])
    assert found["load"] == "requests of closed, 7 in flight"
    assert found["in_flight"] == pytest.approx(7, rel=0.05)


def test_a_closed_loop_stops_in_time(
    capsys: pytest.CaptureFixture[str], file: str, closed: str
) -> None:
    for load in (("--workload", closed), (*LENGTHS, "--concurrency", "20")):
        code, out, _ = run(capsys, file, *load, "--duration", "64s", "--json")
        found = json.loads(out)
        assert code == 0
        assert found["timeline"]["edge_s"][-1] == 64
        assert found["requests"]["arrived"] == found["requests"]["finished"] + 20
        assert not found["interrupted"]


@pytest.mark.parametrize("flag", ["--rate", "--scale"])
def test_what_has_no_rate_takes_none(
    capsys: pytest.CaptureFixture[str], file: str, closed: str, flag: str
) -> None:
    for name, said in ((closed, "keeps 20 in flight"), ("mlperf-llama2-70b-offline", "at once")):
        code, _, err = run(capsys, file, "--workload", name, flag, "2")
        assert code == 2
        assert f"{flag}: " in err
        assert said in err


def test_what_comes_at_once_has_no_steady_state(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    words = ("--workload", "mlperf-llama2-70b-offline", "--requests", "500")
    code, out, _ = run(capsys, file, *words, "--definitions", "mlperf")
    assert code == 0
    assert "500 requests of mlperf-llama2-70b-offline, all at once, router" in out
    assert "too short" not in out
    assert "counted:  all 500 requests" in out


def test_mlperf_counts_every_request(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, file, *LOAD, "--definitions", "mlperf")
    assert code == 0
    assert "too short" not in out
    assert "counted:  all 2,000 requests" in out


def test_replicas_that_come_and_go(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    words = ("--fail", "serve:3@20s+30s", "--fail", "serve:1@40s", "--drain", "serve:0@60s+5s")
    out, requests = tmp_path / "run", tmp_path / "requests.parquet"
    more = ("--detection", "2s", "--out", str(out), "--requests-out", str(requests))
    code, screen, _ = run(capsys, file, *LOAD, *words, *more)
    assert code == 0
    assert re.search(
        r"          [0-9.]+ of 4 take requests on average, 2 failures, 1 drain\n", screen
    )
    assert "requests on failed replicas began again 2 s later" in screen
    assert re.search(r"\ncost +[0-9.]+ GPU-hours, \$[0-9.]+ at ", screen)
    assert max(map(len, screen.splitlines())) <= 100
    assert "replicas that take requests" in (out / "report.html").read_text()
    answer = json.loads((out / "simulate.json").read_text())
    use = answer["pools"]["serve"]
    assert (use["failures"], use["drains"]) == (2, 1)
    assert min(answer["timeline"]["replicas_up"]["serve"]) == 2
    assert pl.read_parquet(requests)["failures"].sum() == use["interrupted"]


def test_requests_that_nobody_is_left_for(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, screen, _ = run(capsys, file, *LOAD, "--fail", "serve:*@50s")
    assert code == 1
    assert "requests were never served: no replica is left to take them" in screen


def test_autoscaling_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "deployment.yaml"
    scale = "autoscale: {min: 1, max: 2, outstanding: 4}"
    path.write_text(SERVE.replace("max_batch: 64,", f"max_batch: 64, {scale},"))
    code, screen, _ = run(capsys, str(path), *LOAD)
    assert code == 0
    assert "autoscale 1 to 2 by 4 outstanding requests each" in screen
    assert "unless a time is given, a serve replica starts in" in screen


def test_a_load_without_end(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, file, *LENGTHS, "--rate", "20000/s", "--requests", "20000")
    assert code == 1
    assert "more than it can carry: the queue grows by " in out


def test_a_trace_with_broken_lines(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    rows = ["arrival_s,input_tokens,output_tokens", "0,100,10", "1,100,0", "x,1,1", "2,200000,9"]
    trace = tmp_path / "trace.csv"
    trace.write_text("\n".join([*rows, "3,100,10", ""]))
    code, out, _ = run(capsys, file, "--trace", str(trace))
    assert code == 0
    assert "1 line skipped: output of less than 1 token (line 3)" in out
    assert "1 line skipped: cannot be read (line 4)" in out
    assert "1 request of up to 200,009 tokens refused" in out


CLASSED = """\
arrival_s,input_tokens,output_tokens,class
0,300,20,chat
0.5,900,40,batch
1,300,20,chat
2,400,20,
"""


def test_classes_of_a_trace(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, root: Path
) -> None:
    trace, requests = tmp_path / "trace.csv", tmp_path / "requests.parquet"
    trace.write_text(CLASSED)
    limits = ("--class", "chat:ttft=1s,priority=0", "--class", "batch:tpot=1us,priority=1")
    every = ("--definitions", "mlperf")  # none is left out
    words = (file, "--trace", str(trace), *limits, *every, "--requests-out", str(requests))
    code, screen, _ = run(capsys, *words)
    assert code == 0
    assert re.search(r"chat \(0\) .* 100.0%\n", screen)
    assert re.search(r"batch \(1\) .* 0.0%\n", screen)
    assert "limits    chat (0): TTFT 1 s; batch (1): TPOT 1 µs\n" in screen
    assert max(map(len, screen.splitlines())) <= 100
    frame = pl.read_parquet(requests).sort("request")
    assert frame["class"].to_list() == ["chat", "batch", "chat", "other"]
    assert frame["good"].to_list() == [True, False, True, True]
    answer = json.loads(run(capsys, *words, "--json", "--out", str(tmp_path / "run"))[1])
    assert [each["name"] for each in answer["classes"]] == ["chat", "batch", "other"]
    assert [each["good_share"] for each in answer["classes"]] == [1.0, 0.0, 1.0]
    assert "<td>batch (1)</td>" in (tmp_path / "run/report.html").read_text()
    answer.pop("schema")
    assert set(printed(answer)) == documented(root, "simulate")


def test_a_class_nobody_is_in_has_no_share(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    words = (file, *LOAD, "--class", "x:ttft=1s")
    assert re.search(r"x +0\.00( +-){5} +0\.00 +-\n", run(capsys, *words)[1])
    found = json.loads(run(capsys, *words, "--json")[1])["classes"]
    assert [each["good_share"] for each in found if each["name"] == "x"] == [None]


OTHER = SERVE.replace("copies: 4", "copies: 3").replace("tensor: 1", "tensor: 2")
CLUSTER = "cluster: {extends: hgx-b200, nodes: 2}"


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    for name, text in (("small", SERVE), ("large", OTHER)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text.replace("cluster: hgx-b200", CLUSTER))
    return str(tmp_path / "small.yaml"), str(tmp_path / "large.yaml")


def test_several_deployments_share_a_cluster(
    capsys: pytest.CaptureFixture[str], two: tuple[str, str], tmp_path: Path, root: Path
) -> None:
    loads = (*LENGTHS, "--rate", "20/s", "--rate", "5/s", "--requests", "2000", "--slo-ttft", "1s")
    out, requests = tmp_path / "run", tmp_path / "requests.parquet"
    files = ("--out", str(out), "--requests-out", str(requests), "--trace-window", "10s:10.5s")
    code, screen, _ = run(capsys, *two, *loads, *files)
    assert code == 0
    assert screen.startswith("2 deployments on 10 of the 16 GPUs of hgx-b200\n")
    assert max(map(len, screen.splitlines())) <= 100
    answer = json.loads((out / "simulate.json").read_text())
    answer.pop("schema")
    small, large = parts = answer.pop("deployments")
    assert set(printed(answer)) | {"deployments[]"} == documented(
        root, "simulate several deployments"
    )
    assert [each.pop("name") for each in parts] == ["small", "large"]
    assert set(printed(small)) <= documented(root, "simulate")
    for key in ("requests_per_s", "good_requests_per_s", "output_tokens_per_s"):
        assert answer["total"][key] == pytest.approx(small[key] + large[key])
    watts = sum(each["watts_per_gpu"] * each["gpus"] for each in parts)
    assert answer["total"]["watts"] == pytest.approx(watts)
    frame = pl.read_parquet(requests)
    assert frame["deployment"].value_counts(sort=True)["count"].to_list() == [2000, 2000]
    page = (out / "report.html").read_text()
    assert page.count("<details") == 2
    assert page.count("Written by racktwin") == 1
    assert {each.name for each in out.glob("*.json")} == {
        "simulate.json",
        "steps-1.json",
        "steps-2.json",
    }
    alone = (*LENGTHS, "--rate", "5/s", "--requests", "2000", "--slo-ttft", "1s", "--seed", "1")
    one = json.loads(run(capsys, two[1], *alone, "--json")[1])  # the second has the next seed
    assert {key: one[key] for key in large if key != "timeline"} == {
        key: large[key] for key in large if key != "timeline"
    }


def test_deployments_that_cannot_stand_side_by_side(
    capsys: pytest.CaptureFixture[str], two: tuple[str, str], file: str, tmp_path: Path
) -> None:
    loads = (*LENGTHS, "--rate", "20/s")
    code, out, err = run(capsys, *two, two[1], two[1], *loads)
    assert (code, out) == (2, "")
    assert (
        "small 4, large (2) 6, large (3) 6, large (4) 6: together 22 GPUs, 6 more than the" in err
    )
    _, _, err = run(capsys, two[0], file, *loads)
    assert "deployment: is on hgx-b200 of 4,608 GPUs, small on hgx-b200 of 16 GPUs" in err
    _, _, err = run(capsys, *two, *loads, "--rate", "3/s", "--rate", "4/s")
    assert "--rate: is given 3 times for 2 deployments; once, or once for each" in err
    _, _, err = run(capsys, two[0], *loads, "--rate", "3/s")
    assert "--rate: is given 2 times for one deployment" in err
    bad = tmp_path / "bad.yaml"
    bad.write_text(SERVE.replace("vllm", "vlm"))
    _, _, err = run(capsys, str(bad), two[0], str(tmp_path / "no.yaml"), *loads)
    assert "bad: line 3" in err
    assert "no: file: cannot be read" in err
    six = tmp_path / "six.yaml"
    text = Path(two[0]).read_text().replace("copies: 4", "copies: 1")
    six.write_text(text.replace("tensor: 1", "attention_data: 6"))
    _, _, err = run(capsys, two[0], str(six), str(six), *loads)
    assert err == ""  # 6 and twice 1 in a domain of 8, twice
    four = tmp_path / "four.yaml"
    four.write_text(text.replace("tensor: 1", "tensor: 4"))
    _, _, err = run(capsys, str(four), str(six), str(six), *loads)
    assert "16 GPUs would do, but their replicas do not fit whole into NVLink domains of 8" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --trace, --workload, --input with --output"),
        (("--workload", "azure-conv"), "'azure-conv' is not known; did you mean 'azure-conv-2023'"),
        ((*LENGTHS,), "give either --rate or --concurrency"),
        ((*LENGTHS, "--rate", "0/s"), "--rate"),
        ((*LENGTHS, "--rate", "nan/s"), "--rate"),
        (("--input", "5"), "--input and --output go together"),
        ((*LOAD, "--fail", "serve:4@1s"), "--fail: serve:4: serve has replica 0 to 3"),
        ((*LOAD, "--scope", "copies"), "--scope: 'copies' is not known; known: copy, deployment"),
        ((*LOAD, "--router", "least"), "--router: 'least' is not known; did you mean 'least_kv'"),
        ((*LOAD, "--definitions", "vlm"), "did you mean 'vllm'"),
        ((*LOAD, "--class", "a:ttf=1s"), "--class: 'ttf' is not known; did you mean 'ttft'"),
        ((*LOAD, "--trace-window", "5s", "--out", "x"), "expected two times as in 10s:12s"),
        ((*LOAD, "--trace-window", "5s:6s"), "the steps are written into --out"),
        ((*LOAD, "--requests-out", "no/such/place.parquet"), "its folder does not exist"),
        (("--trace", "no.jsonl"), "does not exist"),
        (("--trace", "no.jsonl", "--rate", "3/s"), "a trace has its own times"),
        ((*LENGTHS, "--concurrency", "0"), "expected 1 to"),
        (("--input", "200000", "--output", "9", "--rate", "1/s"), "refused: the cache of a rank"),
    ],
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str], file: str, words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, file, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_all_faults_are_told_at_once(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, _, err = run(capsys, file, "--slo-ttft", "fast", "--resolution", "0s", "--seed", "-3")
    for flag in ("--slo-ttft", "--resolution", "--seed", "--trace"):
        assert flag in err


def test_the_first_interrupt_ends_the_run_and_the_second_the_program() -> None:
    with Progress(None) as progress:
        assert progress.tell(1.0, 5)
        signal.raise_signal(signal.SIGINT)
        assert not progress.tell(2.0, 9)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


TOLD = "".join(
    json.dumps({"timestamp": 4000 * n, "input_length": 3000, "output_length": 5, "hash_ids": ids})
    + "\n"
    for n, ids in enumerate([1, 2, 3, 4, 5, 6 + n] for n in range(12))
)


@pytest.fixture
def told(tmp_path: Path) -> str:
    path = tmp_path / "told.jsonl"
    path.write_text(TOLD)
    return str(path)


def test_tiers_are_shown(
    capsys: pytest.CaptureFixture[str], file: str, told: str, tmp_path: Path
) -> None:
    """Round robin over four replicas: each finds in the pool what the first has computed."""
    words = (file, "--trace", told, "--offload-host", "200GB", "--offload-shared", "4TB")
    words = (*words, "--definitions", "mlperf")
    code, out, _ = run(capsys, *words, "--out", str(tmp_path / "run"))
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 100
    lines = out.splitlines()
    assert any(
        line.startswith("host      0.0% of the input found; 200 GB per GPU") for line in lines
    )
    assert any(line.startswith("shared    21.3% of the input found; 4 TB, ") for line in lines)
    assert "78% of it cached (21% below the GPUs)" in out
    assert "          shared pool: 48.5 GB/s to each GPU, NICs at 97% of line rate" in lines
    assert "<td>shared pool</td>" in (tmp_path / "run/report.html").read_text()
    found = json.loads((tmp_path / "run/simulate.json").read_text())["offload"]
    assert (found["host"]["bytes"], found["shared"]["bytes"]) == (200e9, 4e12)
    assert found["shared"]["hits"] == pytest.approx(3 * 5 * 512 / (12 * 3000))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--offload-host", "1TB"),
            "--offload-host: 1 TB for each GPU; a host of hgx-b200 has 2 TB",
        ),
        (("--offload-host=-1GB",), "--offload-host: '-1GB' is out of range; expected 0 B to"),
        (("--offload-shared", "many"), "--offload-shared: 'many' is not a number with a unit"),
        (
            ("--offload-shared", "1TB", "--prefix-cache", "off"),
            "--offload-shared: keeps what the prefix cache drops; leave out --prefix-cache off",
        ),
    ],
)
def test_tiers_that_cannot_be(
    capsys: pytest.CaptureFixture[str], file: str, told: str, words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, file, "--trace", told, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_tiers_of_no_use_say_so(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, file, *LOAD, "--offload-host", "100GB")
    assert code == 0
    assert "offload does nothing: the load does not tell which prompts begin alike" in out

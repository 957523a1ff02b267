"""The verb `fit`: screen, JSON, exit codes, refusals."""

import json

import pytest

from racktwin.cli import main

GOLDEN = """\
gpt-oss-120b (116.8 B) in mxfp4, cache bf16  on  1 x H100 of h100
vLLM, TP1, memory fraction 0.9, 1,024 sequences and 8,192 tokens a step
fits: 1.12 requests of 131,072 tokens at once

per GPU               GiB  from
memory of a GPU     79.65  measured: nvidia_smi
kept by the driver   0.50  derived: start-up logs: H100 79.19 of 79.65 GiB, H200 139.8...
weights             60.00  given: --weights
activations          7.48  derived: 39 B x 1,024 sequences x 201,088 words; activation...
engine               0.55  derived: start-up logs of single GPUs: 0.49, 0.74, 0.70, 0....
room for the cache   5.38  given: --kv-room

cache
a token    73,728 B on each GPU; 36,864 B in layers that keep all
tokens     78,336, 4,896 blocks of 16
a request  4.79 GiB for 131,072 tokens
           9.00 GiB if every layer kept every token; then 78,351 tokens fit
longest    148,384 tokens; the model's context is 131,072
at once    1.12 requests of 131,072 tokens
vLLM prints
  Available KV cache memory: 5.38 GiB
  GPU KV cache size: 78,336 tokens
  Maximum concurrency for 131,072 tokens per request: 1.12x
  GPU KV cache size: 147,351 tokens (newest releases)
"""

LOG = ["--kv-room", "5.38GiB", "--weights", "60GiB"]
QUESTIONS = [
    ["gpt-oss-120b", "--on", "h100"],
    ["deepseek-r1", "--on", "azure-nd-gb300-v6", "--engine", "trtllm", "--attention-data", "8"],
    ["llama-3.1-405b", "--on", "h100", "--precision", "fp8", "--tensor", "8"],
    ["llama-3.1-70b", "--on", "h100", "--gpus", "1"],
    ["qwen3.5-397b", "--on", "h200", "--engine", "sglang"],
    ["kimi-k2", "--on", "azure-nd-h100-v5", "--engine", "trtllm"],
    ["deepseek-v4-pro", "--on", "h200", "--engine", "sglang", "--tensor", "8"],
]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of one command line."""
    code = main(["fit", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_screen_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "gpt-oss-120b", "--on", "h100", "--tensor", "1", *LOG)
    assert code == 0
    assert [line.rstrip() for line in out.splitlines()] == GOLDEN.splitlines()


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_one_screen_of_a_hundred_columns(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, out, _ = run(capsys, *words)
    assert code in (0, 1)
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100
    assert len(out.splitlines()) <= 36
    _, whole, _ = run(capsys, *words, "--explain")
    assert max(len(line.rstrip()) for line in whole.splitlines()) <= 100
    assert "accounting" in whole
    assert "B/token" in whole


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_the_json_says_what_the_screen_says(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, out, _ = run(capsys, *words, "--json")
    found = json.loads(out)
    assert found["schema"] == "racktwin/fit/1"
    assert code == (0 if found["fits"] else 1)
    assert found["cache"]["tokens"] == found["cache"]["blocks"] * found["cache"]["tokens_per_block"]
    assert {"part", "bytes", "kind", "source"} == found["account"][0].keys()
    assert found["fits"] or found["remedies"]
    _, screen, _ = run(capsys, *words)
    assert found["verdict"] in screen
    assert all(line in screen for line in found["log"])


def test_every_key_of_the_json_is_documented(
    capsys: pytest.CaptureFixture[str], root: object
) -> None:
    page = (root / "docs/reference/json.md").read_text()  # type: ignore[operator]
    _, out, _ = run(capsys, "llama-3.1-405b", "--on", "h100", "--gpus", "8", "--json")
    found = json.loads(out)
    names = [*found, *(f"cache.{key}" for key in found["cache"]), *found["remedies"][0]]
    missing = [name for name in names if name not in ("schema", "cache") and f"`{name}" not in page]
    assert not missing


def test_a_model_that_does_not_fit_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "llama-3.1-70b", "--on", "h100", "--gpus", "1")
    assert (code, err) == (1, "")
    assert "does not load" in out
    assert "--tensor 4" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lama-3.1-8b", "--on", "h100"], "did you mean 'llama-3.1-8b'"),
        (["llama-3.1-8b", "--on", "h10"], "did you mean 'h100'"),
        (["llama-3.1-8b"], "on"),
        ([], "model"),
        (["llama-3.1-8b", "--on", "h100", "--tensor", "x"], "tensor"),
        (["llama-3.1-8b", "--on", "h100", "--max-len", "1e9"], "max-len"),
        (["llama-3.1-8b", "--on", "h100", "--tensor", "3"], "32 attention heads"),
        (["llama-3.1-8b", "--on", "h100", "--frobnicate"], "frobnicate"),
        (["qwen2.5-7b", "--on", "h100", "--memory-fraction", "0"], "more than 0"),
    ],
)
def test_bad_input_is_refused_without_output(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert says in err.lower() or says in err
    assert "Traceback" not in err

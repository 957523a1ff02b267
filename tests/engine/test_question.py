"""Questions as typed: every fault is found, and all of them at once."""

import pytest

from racktwin.engine.fit import answer
from racktwin.engine.flags import Flags
from racktwin.engine.question import ask, find_place
from racktwin.finding import BadInput


def faults(name: str = "llama-3.1-8b", on: str = "h100", **flags: object) -> dict[str, str]:
    """What is said against a question, by key."""
    with pytest.raises(BadInput) as fault:
        answer(ask(name, on, Flags(**flags)))
    found: dict[str, str] = {}
    for finding in fault.value.findings:
        found[finding.key] = f"{found.get(finding.key, '')}; {finding.message}"
    return found


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("engine", "vlm", "did you mean 'vllm'"),
        ("precision", "fp9", "did you mean 'fp8'"),
        ("kv_dtype", "fp88", "did you mean 'fp8'"),
        ("tensor", 0, "from 1"),
        ("tensor", -3, "from 1"),
        ("tensor", 10**12, "from 1"),
        ("max_len", 0, "from 1"),
        ("max_batch", -1, "from 1"),
        ("max_batch_tokens", 10**18, "from 1"),
        ("memory_fraction", "0", "leaves no memory"),
        ("memory_fraction", "1.2", "out of range"),
        ("memory_fraction", "-0.5", "out of range"),
        ("memory_fraction", "nan", "not a number"),
        ("memory_fraction", "half", "not a number"),
        ("hbm", "0 GiB", "out of range"),
        ("hbm", "-80GiB", "out of range"),
        ("hbm", "80", "no unit"),
        ("hbm", "1e20 GiB", "out of range"),
        ("hbm", "80 Gbps", "not a unit"),
        ("hbm", "", "not a number"),
        ("kv_room", "5GiB,5GiB", "2 values for 1 pipeline stages"),
        ("split", "16;32", "no list of layer counts"),
        ("split", "16,", "no list of layer counts"),
        ("weights", "lots", "not a number"),
    ],
)
def test_a_bad_value_is_named(flag: str, value: object, says: str) -> None:
    found = faults(**{"tensor": 1, flag: value})
    assert says in found[flag]


def test_all_faults_come_together() -> None:
    found = faults("lama-3.1-8b", "h1000", engine="vlm", max_len=0, hbm="x")
    assert found.keys() == {"model", "on", "engine", "max_len", "hbm"}
    assert faults("qwen2.5-7b", tensor=8, engine="vlm", hbm="80").keys() == {
        "tensor",
        "engine",
        "hbm",
    }
    assert "llama" in found["model"]
    assert "h100" in found["on"]


@pytest.mark.parametrize(
    ("flags", "key", "says"),
    [
        ({"tensor": 3}, "tensor", "32 attention heads"),
        ({"tensor": 8, "gpus": 4}, "gpus", "takes 8 GPUs; there are 4"),
        ({"pipeline": 64}, "pipeline", "at most 32"),
        ({"expert": 4}, "expert", "no experts"),
        ({"split": "16,17"}, "split", "sum to 32"),
        ({"split": "0,32"}, "split", "at least 1"),
        ({"split": "16,16", "pipeline": 4}, "split", "4 counts"),
        ({"hbm": "16GiB,32GiB"}, "hbm", "name --pipeline"),
    ],
)
def test_impossible_layouts_are_refused(flags: dict[str, object], key: str, says: str) -> None:
    assert says in faults(**flags)[key]


def test_more_ranks_than_the_cluster_has() -> None:
    found = faults("llama-3.1-8b", "azure-nd-gb300-v6", attention_data=8192)
    assert "there are 4,608" in found["gpus"]


def test_experts_that_do_not_divide() -> None:
    assert "256 experts" in faults("deepseek-r1", "gb300", attention_data=24, expert=24)["expert"]


def test_a_file_that_is_not_there() -> None:
    assert faults("no/such/config.json", "h100")
    assert faults("llama-3.1-8b", "no/such/cluster.yaml")


def test_places_know_their_domain() -> None:
    assert (find_place("azure-nd-gb300-v6").gpus, find_place("azure-nd-gb300-v6").domain) == (
        4608,
        72,
    )
    assert find_place("H100").domain == 8
    assert find_place("gb300").domain == 72


def test_memory_as_an_engine_logs_it_is_taken_whole() -> None:
    assert ask("llama-3.1-8b", "h100", Flags(hbm="79.2GiB")).rule.driver == 0
    assert ask("llama-3.1-8b", "h100").rule.driver > 0


def test_a_fault_is_told_once_and_a_file_by_its_name() -> None:
    with pytest.raises(BadInput) as caught:
        ask("./none.json", "./none.yaml", Flags(tensor=1, hbm="x,x", kv_room=""))
    assert [(each.key, each.message.partition(";")[0]) for each in caught.value.findings] == [
        ("none.json", "cannot be read: No such file or directory"),
        ("none.yaml", "cannot be read: No such file or directory"),
        ("hbm", "'x' is not a number with a unit"),
        ("kv_room", "'' is not a number with a unit"),
    ]

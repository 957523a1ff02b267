"""deployment.yaml: what is read, what is refused, and with which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import catalog
from racktwin.engine.autoscale import Autoscale, AutoscaleKeys
from racktwin.engine.deployment import ROUTERS, SCOPES, Speculation
from racktwin.engine.deployment_file import CACHES, KEYS, ClusterKeys, read_deployment
from racktwin.engine.offload import Offload
from racktwin.engine.pool_keys import Mtp, PoolKeys
from racktwin.finding import BadInput
from racktwin.models import Layout
from racktwin.models.precision import PARTS
from racktwin.models.preset import NAMES

Write = Callable[[str], Path]
SPLIT = """\
model: deepseek-r1                      # or a path to a config.json
cluster: azure-nd-gb300-v6              # or a path to a cluster file
engine: trtllm-1.3
precision: {weights: nvfp4, kv: fp8}
prefill: {replicas: 10, tensor: 2, max_batch_tokens: 12288}
decode: {attention_data: 16, expert: 16, max_batch: 256, mtp: {tokens: 1, acceptance: 0.8}}
router: least_outstanding
copies: 128
"""
SERVE = """\
model: deepseek-r1
cluster: azure-nd-gb300-v6
engine: trtllm-1.3
precision: nvfp4
serve: {replicas: 9, tensor: 1, attention_data: 8, expert: 8, max_batch: 640, max_batch_tokens: 960}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def writer(text: str) -> Path:
        path = tmp_path / "deployment.yaml"
        path.write_text(text)
        return path

    return writer


def refused(path: Path) -> list[str]:
    """The findings, without their indentation."""
    with pytest.raises(BadInput) as caught:
        read_deployment(path)
    head, *lines = str(caught.value).splitlines()
    assert head.startswith(f"{path}: {len(lines)} finding")
    return [line.strip() for line in lines]


def test_two_pools(write: Write) -> None:
    found, notes = read_deployment(write(SPLIT))
    assert not notes
    assert found.model.title == "DeepSeek-R1"
    assert found.cluster.gpus == 4608
    assert found.engine.name == "trtllm-1.3"
    assert found.precision == found.model.at("nvfp4")
    assert found.prefill is not None
    assert found.decode is not None
    # the experts of two tensor ranks are split where expert does not spread them
    assert found.prefill.layout == Layout(tensor=2, expert_tensor=2)
    assert found.decode.layout == Layout(attention_data=16, expert=16)
    assert (found.prefill.replicas, found.prefill.max_batch_tokens) == (10, 12288)
    assert found.decode.max_batch_tokens == found.engine.max_batch_tokens == 8192
    assert found.decode.speculation == Speculation(1, 0.8)
    assert (found.gpus, found.copies) == (36, 128)


def test_a_chance_for_each_draft(write: Write) -> None:
    mtp = "mtp: {tokens: 3, acceptance: [90 %, 0.6, 0.3]}"
    found, _ = read_deployment(write(SPLIT.replace("mtp: {tokens: 1, acceptance: 0.8}", mtp)))
    assert found.decode is not None
    assert found.decode.speculation == Speculation(3, (0.9, 0.6, 0.3))


def test_the_scheduler_is_a_choice_of_one_engine(write: Write) -> None:
    found, _ = read_deployment(write(f"{SPLIT}scheduler: max_utilization\n"))
    assert (found.scheduler, found.reserved) == ("max_utilization", 0.0)
    assert read_deployment(write(SPLIT))[0].reserved == 1.0
    (said,) = refused(write(f"{SPLIT}scheduler: max_utilisation\n"))
    assert "scheduler: 'max_utilisation' is not known; did you mean 'max_utilization'?" in said
    other = SPLIT.replace("engine: trtllm-1.3", "engine: vllm") + "scheduler: max_utilization\n"
    assert "leaves no choice" in " ".join(refused(write(other)))


def test_one_pool(write: Write) -> None:
    found, _ = read_deployment(write(SERVE))
    assert found.serve is not None
    assert (found.serve.replicas, found.serve.max_batch, found.serve.max_batch_tokens) == (
        9,
        640,
        960,
    )
    assert (found.gpus, found.copies, found.router) == (72, 1, "least_outstanding")
    assert found.precision.experts == "nvfp4"


def test_defaults_depend_on_model_and_engine(write: Write) -> None:
    found, _ = read_deployment(
        write(
            """\
model: gpt-oss-120b
cluster: {extends: azure-nd-h100-v5, nodes: 2, price: $3.50/GPU/h}
engine: vllm
serve: {max_batch: 5000, attention_data: 4, expert: 2}
""".replace(", expert: 2", "")
        )
    )
    assert found.precision == found.model.precision
    assert (found.cluster.gpus, found.cluster.price) == (16, 3.5)
    assert found.serve is not None
    assert found.serve.layout == Layout(attention_data=4, expert=1, expert_tensor=4)
    assert found.serve.max_batch_tokens == max(found.engine.max_batch_tokens, 5000)


def test_precision_part_by_part(write: Write) -> None:
    text = SERVE.replace(
        "precision: nvfp4", "precision: {weights: nvfp4, kv: bf16, attention: fp8}"
    )
    found, _ = read_deployment(write(text))
    assert (found.precision.kv, found.precision.attention) == ("bf16", "fp8")
    assert found.precision.experts == "nvfp4"


def test_paths_start_at_the_file(tmp_path: Path, shared: Path) -> None:
    config = shared / "models/configs/deepseek-ai--DeepSeek-R1_config.json"
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_bytes(config.read_bytes())
    (tmp_path / "small.yaml").write_text("extends: azure-nd-gb300-v6\nracks: 8\n")
    text = SERVE.replace("deepseek-r1", "model/config.json").replace(
        "azure-nd-gb300-v6", "small.yaml"
    )
    (tmp_path / "deployment.yaml").write_text(text)
    found, _ = read_deployment(tmp_path / "deployment.yaml")
    assert found.cluster.gpus == 8 * 72
    assert found.model.source == str(tmp_path / "model/config.json")
    (tmp_path / "small.yaml").write_text("extends: azure-nd-gb300-v6\nracks: 0\n")
    (line,) = refused(tmp_path / "deployment.yaml")
    assert line.startswith("line 2   cluster: ")
    assert "small.yaml: line 2   racks: 0 is out of range" in line


def test_slots_hold_what_ranks_do_not_divide(write: Write) -> None:
    text = SPLIT.replace("attention_data: 16, expert: 16", "attention_data: 24, expert: 24")
    (line,) = refused(write(text.replace("128", "1")))
    assert line.startswith(
        "line 6   decode.expert: 24 ranks cannot hold DeepSeek-R1's 256 experts evenly; "
        "add redundant experts (slots: 264) or use 16"
    )
    found, _ = read_deployment(write(text.replace("24,", "24, slots: 264,", 1).replace("128", "1")))
    assert found.decode is not None
    assert found.decode.spare_experts == 8


def test_every_fault_at_once_in_the_order_of_the_file(write: Write) -> None:
    text = """\
model: deepsek-r1
cluster: azure-nd-gb300
engine: trtlm-1.3
precison: nvfp4
serve: {replicas: 0, tensr: 2}
copies: -3
"""
    expected = [
        "line 1   model: 'deepsek-r1' is not known; did you mean 'deepseek-r1'? "
        "(or give a path to a config.json)",
        "line 2   cluster: 'azure-nd-gb300' is not known; did you mean 'azure-nd-gb300-v6'?",
        "line 3   engine: 'trtlm-1.3' is not known; did you mean 'trtllm-1.3'?",
        "line 4   precison: 'precison' is not known; did you mean 'precision'?",
        "line 5   serve.replicas: 0 is out of range",
        "line 5   serve.tensr: 'tensr' is not known; did you mean 'tensor'?",
        "line 6   copies: -3 is out of range",
    ]
    found = refused(write(text))
    assert len(found) == len(expected)
    assert all(map(str.startswith, found, expected)), found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tensor: 1", "tensor: .nan", "serve.tensor: expected a whole number, found nan"),
        ("tensor: 1", "tensor: 1.5", "serve.tensor: expected a whole number, found 1.5"),
        ("tensor: 1", "tensor: true", "serve.tensor: expected a whole number, found True"),
        ("tensor: 1", "tensor: 1e30", "serve.tensor: expected a whole number, found 1e+30"),
        ("tensor: 1", f"tensor: 1{'0' * 40}", "serve.tensor: 1e+40 is out of range"),
        ("tensor: 1", "tensor: [1]", "serve.tensor: expected a whole number, found [1]"),
        ("tensor: 1", "tensor: ~", "serve.tensor: expected a whole number, found None"),
        ("640", "640 k", "serve.max_batch: expected a whole number, found '640 k'"),
        ("960", "100", "serve.max_batch_tokens: 100 tokens cannot hold a step of 640"),
        ("expert: 8", "expert: 5", "serve.expert: 5 x expert_tensor 1 = 5 ranks"),
        ("expert: 8", "expert: 8, slots: 255", "serve.slots: 255 slots for 256 experts"),
        ("640", "640, mtp: {tokens: 1}", "serve.mtp.acceptance: is missing"),
        ("640", "640, mtp: {tokens: 1, acceptance: .nan}", "serve.mtp.acceptance: "),
        ("640", "640, mtp: {tokens: 1, acceptance: 1.5}", "serve.mtp.acceptance: "),
        (
            "640",
            "640, mtp: {tokens: 1, acceptance: [0.9, 0.8]}",
            "serve.mtp.acceptance: has 2 values for 1 drafts; expected one for each",
        ),
        ("640", "640, mtp: {tokens: 1, acceptance: []}", "serve.mtp.acceptance: has 0 values"),
        ("640", "640, mtp: {tokens: 2, acceptance: [1, 7]}", "serve.mtp.acceptance[1]: "),
        ("640", "640, mtp: {tokens: 99, acceptance: 0.5}", "serve.mtp.tokens: 99 is out of range"),
        (
            "replicas: 9",
            "replicas: 600",
            "serve.replicas: one copy needs 4,800 GPUs; azure-nd-gb300",
        ),
        ("precision: nvfp4", "precision: fp5", "precision: 'fp5' is not known; did you mean 'fp"),
        ("precision: nvfp4", "precision: {kv: fp9}", "precision.kv: 'fp9' is not known; did you m"),
        ("precision: nvfp4", "precision: {wieghts: fp8}", "precision.wieghts: 'wieghts' is not kn"),
        ("precision: nvfp4", "precision: [fp8]", "precision: expected a name or a path, found ['f"),
        (
            "precision: nvfp4",
            "router: random",
            "router: 'random' is not known; known: cache_aware,",
        ),
        ("precision: nvfp4", "copies: 65", "copies: 65 copies of 72 GPUs need 4,680; azure-nd-gb"),
        (
            "precision: nvfp4",
            "prefill: {}",
            "serve: stands beside prefill or decode; give serve al",
        ),
        ("model: deepseek-r1", "model: 7", "model: expected a name or a path, found 7"),
        ("cluster: azure-nd-gb300-v6", "", "cluster: is missing"),
        ("azure-nd-gb300-v6", "{racks: 2}", "cluster.extends: is missing"),
        ("azure-nd-gb300-v6", "{extends: azure-nd-gb300-v6, racks: -1}", "cluster.racks: -1 is ou"),
        ("azure-nd-gb300-v6", "none.yaml", "cluster: "),
        ("serve: ", "srve: ", "serve: is missing; give serve, or prefill and decode"),
        ("serve: ", "decode: ", "prefill: is missing; decode needs it (or give serve alone)"),
        ("serve: {", "serve: [", "yaml: not valid: "),
        ("precision: nvfp4", "model: deepseek-r1", "model: stands twice"),
        ("tensor: 1,", "tensor: 1, tensor: 1,", "serve.tensor: stands twice"),
        ("deepseek-r1", "&a [*a]", "anchors"),
        ("deepseek-r1", "!!python/object/apply:os.system ['true']", ""),
    ],
)
def test_one_fault(old: str, new: str, said: str, write: Write) -> None:
    assert old in SERVE
    found = refused(write(SERVE.replace(old, new, 1)))
    assert any(said in line for line in found), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected 'key: value' lines"),
        ("# nothing\n", "expected 'key: value' lines"),
        ("- a\n- b\n", "expected 'key: value' lines"),
        ("\x00", "not valid"),
        ("[" * 100_000, "not valid: exceeded maximum nesting depth"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n", "anchors"),
        ("x: " + "y" * (50 << 20), "is larger than 1 MiB"),
    ],
)
def test_what_is_no_deployment_at_all(text: str, said: str, write: Write) -> None:
    assert said in " ".join(refused(write(text)))


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.yaml"):
        (line,) = refused(path)
        assert line.startswith("file: cannot be read")
    (tmp_path / "latin.yaml").write_bytes(b"model: caf\xe9\n")
    assert refused(tmp_path / "latin.yaml") == ["line 1   file: is not UTF-8 text"]


@pytest.mark.parametrize("key", ["model", "cluster", "engine", "precision"])
@pytest.mark.parametrize(
    "name",
    [
        "x" * 900_000,
        f"{'a' * 300}/b",
        "~nobody-here/x.json",
        '"a\\0.yaml"',
        "/dev/zero",
        "..",
        '""',
    ],
)
def test_odd_names_are_findings_of_a_readable_length(key: str, name: str, write: Write) -> None:
    lines = [line for line in SERVE.splitlines() if not line.startswith(f"{key}:")]
    found = refused(write("\n".join([*lines, f"{key}: {name}"])))
    assert found[-1].startswith(f"line 5   {key}: ")
    assert len(found[-1]) < 600


@given(st.integers(0, len(SPLIT)), st.text(max_size=6), st.integers(0, 12))
def test_damage_is_a_finding_never_a_crash(at: int, text: str, cut: int) -> None:
    path = Path(catalog.__file__).with_name("never-written.yaml")
    damaged = SPLIT[:at] + text + SPLIT[at + cut :]
    original = catalog.read
    try:
        catalog.read = lambda _: catalog.parse(damaged, "damaged")
        read_deployment(path)
    except BadInput:
        pass
    finally:
        catalog.read = original


def test_engine_limits_are_said_where_the_layout_stands(write: Write) -> None:
    text = SERVE.replace("tensor: 1, attention_data: 8", "tensor: 2, attention_data: 4")
    (line,) = refused(write(text))
    assert line.startswith(
        "line 5   serve.tensor: an attention-data rank of TensorRT-LLM is one GPU"
    )
    read_deployment(write(text.replace("trtllm-1.3", "sglang")))


def test_drafts_need_a_model_that_drafts(write: Write) -> None:
    text = SERVE.replace("640", "640, mtp: {tokens: 1, acceptance: 0.7}")
    text = (
        text.replace("deepseek-r1", "gpt-oss-120b").replace("nvfp4", "mxfp4").replace("960", "1280")
    )
    (line,) = refused(write(text))
    assert line == "line 5   serve.mtp: gpt-oss-120b has no multi-token-prediction layers"
    both = SPLIT.replace("tensor: 2,", "tensor: 2, mtp: {tokens: 2, acceptance: 0.8},")
    assert refused(write(both)) == ["line 5   prefill.mtp: decode drafts 1 tokens; use that number"]


def test_leaving_a_rack_is_a_note(write: Write) -> None:
    text = SERVE.replace("attention_data: 8, expert: 8", "attention_data: 128, expert: 128")
    _, notes = read_deployment(write(text))
    # 128 ranks sit 72 + 56: 2 x 72 x 56 / 128^2 of the messages go from one rack to the other
    assert [str(note) for note in notes] == [
        "line 5   serve.attention_data: 128 ranks span 2 racks: 49 % of the dispatch goes over the "
        "fabric  [note]"
    ]


def test_the_examples(root: Path) -> None:
    gpus = {}
    for path in (root / "examples").glob("*.yaml"):
        found, notes = read_deployment(path)
        gpus[path.stem] = found.copies * found.gpus
        assert all(note.note for note in notes)
    assert gpus == {
        "deepseek-r1-gb300-disaggregated": 4608,
        "deepseek-r1-gb300-288xdp16": 4608,
        "gpt-oss-120b-h100": 8,
        "llama-3.1-70b-b200": 8,
        "llama-3.1-70b-b200-autoscale": 4,
        "llama-3.1-70b-b200-half": 4,
        "qwen3-32b-b200-half": 4,
        "qwen3-14b-h100": 2,
    }


def test_autoscaling_has_the_defaults_of_kubernetes(write: Write) -> None:
    asked = "serve: {replicas: 3, autoscale: {min: 2, max: 9, outstanding: 32}}"
    found, _ = read_deployment(write(f"{SERVE.partition('serve:')[0]}{asked}\n"))
    assert found.serve is not None
    assert found.serve.autoscale == Autoscale(
        least=2,
        most=9,
        metric="outstanding",
        target=32.0,
        interval=15.0,
        tolerance=0.1,
        stabilisation=300.0,
    )
    assert (found.gpus, found.serve.most, found.router_scope) == (3, 9, "deployment")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            "min: 1, max: 4",
            "autoscale: give one of outstanding, kv, prefill, as in outstanding: 32",
        ),
        ("min: 1, max: 4, kv: 50 %, prefill: 9", "autoscale: give one of"),
        ("min: 5, max: 4, kv: 0.5", "autoscale.min: 5 is more than max, 4"),
        ("min: 0, max: 4, kv: 0.5", "autoscale.min: 0 is out of range"),
        ("min: 3, max: 4, kv: 0.5", "replicas: 2 at first; expected min to max, 3 to 4"),
        ("min: 1, max: 99, kv: 0.5", "autoscale.max: one copy needs 99 GPUs; hgx-b200 has 16"),
        (
            "min: 1, max: 4, outstanding: -2",
            "autoscale.outstanding: expected more than 0, found -2",
        ),
        ("min: 1, max: 4, outstanding: .nan", "autoscale.outstanding: expected a number"),
        ("min: 1, max: 4, kv: 0", "autoscale.kv: expected more than 0, found 0"),
        ("min: 1, max: 4, kv: 0.5, interval: -1s", "autoscale.interval: '-1s' is out of range"),
        ("min: 1, max: 4, kv: 0.5, interval: 0s", "autoscale.interval: 0 s is too short"),
        ("min: 1, max: 4, kv: 0.5, stabilisation: 9d", "is more than 10,000 intervals of 15 s"),
        (
            "min: 1, max: 4, kv: 0.5, start: 9s",
            "start: 'start' is not known; did you mean 'start_up'",
        ),
    ],
)
def test_autoscaling_that_cannot_be(write: Write, keys: str, said: str) -> None:
    text = f"""\
model: llama-3.1-8b
cluster: {{extends: hgx-b200, nodes: 2}}
engine: vllm
serve: {{replicas: 2, autoscale: {{{keys}}}}}
"""
    lines = refused(write(text))
    assert len(lines) == 1
    assert lines[0].startswith("line 4   serve.")
    assert said in lines[0]


def test_the_page_documents_every_key_and_its_example_reads(root: Path, write: Write) -> None:
    page = (root / "docs/reference/deployment.md").read_text()
    rows = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    keys = [*KEYS, *(f"cluster.{key}" for key in ClusterKeys.__struct_fields__)]
    keys += [f"POOL.{key}" for key in PoolKeys.__struct_fields__]
    keys += [f"POOL.mtp.{key}" for key in Mtp.__struct_fields__]
    keys += [f"POOL.autoscale.{key}" for key in AutoscaleKeys.__struct_fields__]
    keys += SCOPES
    keys += [f"offload.{key}" for key in Offload.__struct_fields__]
    keys += ["precision.weights", "precision.kv", *PARTS, *CACHES, *ROUTERS, *NAMES]
    missing = [key for key in keys if f"`{key}`" not in rows]
    assert set(missing) <= {"serve", "prefill", "decode"}
    found, _ = read_deployment(write(page.split("```yaml\n")[1].split("```")[0]))
    assert found.copies * found.gpus == 4608

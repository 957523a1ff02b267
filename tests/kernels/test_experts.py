import numpy as np
import pytest

from racktwin.finding import BadInput
from racktwin.kernels import Kernels
from racktwin.kernels.experts import experts_work
from racktwin.kernels.grouped import Grouped, distance

DEEPSEEK = {"hidden": 7168, "intermediate": 2048, "top_k": 8, "experts": 256}
PEAKS = {"bf16", "fp8", "nvfp4"}


def test_work_of_a_rank_by_hand() -> None:
    shape = Grouped(7168, 2048, 8, 256, 1, 8, 1)
    task = experts_work(np.array([1e6]), shape, "fp8", PEAKS, "power_law_1.01")
    assert task.flops == pytest.approx(2 * 3 * 7168 * 2048 * 1e6)  # 8 of 256 over 8 ranks
    weights = 32 * 3 * 7168 * 2048
    assert task.bytes == pytest.approx(weights + 1e6 * 7168 * 3)


def test_one_token_touches_top_k_experts() -> None:
    task = experts_work(1.0, Grouped(7168, 2048, 8, 256, 1, 1, 1), "fp8", PEAKS, "balanced")
    assert task.bytes == pytest.approx(8 * 3 * 7168 * 2048 + 7168 * 3)


def test_ungated_experts_have_two_matrices() -> None:
    gated, plain = (
        experts_work(64.0, Grouped(2688, 1856, 6, 128, 1, 1, gated), "bf16", PEAKS, "balanced")
        for gated in (1, 0)
    )
    assert plain.flops / gated.flops == pytest.approx(2 / 3)


# The fastest kernel in the raw tables (power_law_1.01), us.
@pytest.mark.parametrize(
    ("tokens", "expert", "tensor", "dtype", "microseconds"),
    [
        (64, 1, 1, "nvfp4", 610.4),  # SGLang; TensorRT-LLM 794.3
        (64, 8, 1, "nvfp4", 114.7),  # SGLang: memory-bound, so undivided work does not show
        (16384, 8, 1, "nvfp4", 937.8),  # TensorRT-LLM; SGLang, undivided, 1212.7
        (16384, 8, 1, "fp8_block", 1267.8),  # TensorRT-LLM; SGLang, undivided, 4532.9
        (1024, 1, 8, "nvfp4", 240.2),
    ],
)
def test_gb300_points(
    gb300: Kernels, tokens: int, expert: int, tensor: int, dtype: str, microseconds: float
) -> None:
    priced = gb300.experts(tokens, **DEEPSEEK, expert=expert, expert_tensor=tensor, dtype=dtype)
    assert priced.seconds * 1e6 == pytest.approx(microseconds, rel=2e-3)
    assert str(priced.evidence) == f"measured: gb300 experts {dtype} power_law_1.01"


def test_balanced_load_is_faster_where_compute_binds(gb300: Kernels) -> None:
    spread, skewed = (
        gb300.experts(16384, **DEEPSEEK, expert=8, dtype="nvfp4", imbalance=load)
        for load in ("balanced", "power_law_1.01")
    )
    assert spread.seconds * 1e6 == pytest.approx(658.2, rel=2e-3)
    assert spread.seconds < 0.8 * skewed.seconds


def test_replicated_experts_lie_between(gb300: Kernels) -> None:
    times = [
        float(gb300.experts(16384, **DEEPSEEK, expert=32, dtype="nvfp4", imbalance=load).seconds)
        for load in ("eplb", "power_law_1.01")
    ]
    assert times[0] * 1e6 == pytest.approx(229.5, rel=2e-3)
    assert times[0] < times[1]


def test_a_layout_not_measured_names_its_neighbours(gb300: Kernels) -> None:
    priced = gb300.experts(4096, **DEEPSEEK, expert=72, dtype="nvfp4")
    assert priced.evidence.kind == "measured"
    assert "from layouts TP1 EP64 and TP1 EP128" in priced.evidence.name
    around = [
        float(gb300.experts(4096, **DEEPSEEK, expert=ranks, dtype="nvfp4").seconds)
        for ranks in (64, 128)
    ]
    assert around[1] < priced.seconds < around[0]


def test_a_model_not_measured_names_the_models_it_is_taken_from(gb300: Kernels) -> None:
    unlike = {"hidden": 7000, "intermediate": 2100, "top_k": 8, "experts": 240}
    priced = gb300.experts(4096, **unlike, dtype="nvfp4")
    assert priced.evidence.kind == "formula"
    assert "7168x2048 top 8 of 256" in priced.evidence.name
    known = gb300.experts(4096, **DEEPSEEK, dtype="nvfp4")
    assert priced.seconds == pytest.approx(known.seconds, rel=0.25)


def test_eight_bit_integers_move_half_of_bf16_and_are_multiplied_as_bf16(h100: Kernels) -> None:
    shape = {"hidden": 4096, "intermediate": 1536, "top_k": 8, "experts": 128, "expert": 8}
    few, many = (
        [float(h100.experts(tokens, **shape, dtype=each).seconds) for each in ("int8", "bf16")]
        for tokens in (8, 65536)
    )
    assert few[0] == pytest.approx(few[1] / 2, rel=0.02)
    assert many[0] == pytest.approx(many[1], rel=0.02)
    assert "bf16" in h100.experts(8, **shape, dtype="int8").evidence.name


def test_hopper_runs_four_bit_weights_in_bf16(h100: Kernels) -> None:
    gpt_oss = {"hidden": 2880, "intermediate": 2880, "top_k": 4, "experts": 128}
    priced = h100.experts(64, **gpt_oss, dtype="mxfp4")
    assert priced.evidence.kind == "measured"
    assert priced.flops == 2 * 3 * 2880**2 * 64 * 4
    chip = h100.chip
    joules = priced.flops * chip.joules_per_flop["bf16"] + priced.bytes * chip.joules_per_byte
    assert priced.joules == pytest.approx(joules)


def test_an_unknown_load_suggests_a_known_one(gb300: Kernels) -> None:
    with pytest.raises(BadInput, match="did you mean 'balanced'"):
        gb300.experts(1, **DEEPSEEK, imbalance="balnced")


def test_more_tokens_hardly_ever_cost_less(gb300: Kernels) -> None:
    tokens = np.concatenate([[0.0], np.geomspace(1, 1e6, 200)])
    times = gb300.experts(tokens, **DEEPSEEK, expert=8, dtype="nvfp4").seconds
    assert times[0] == 0
    assert (times[1:] > 0.9 * np.maximum.accumulate(times)[:-1]).all()


def test_distance_is_zero_to_itself_and_large_to_another_model() -> None:
    shape = Grouped(7168, 2048, 8, 256, 1, 8, 1)
    keys = np.array([shape, shape._replace(expert=4), shape._replace(hidden=6144)], float)
    far = distance(shape, keys)
    assert far[0] == 0
    assert 0 < far[1] < 2
    assert far[2] > 100

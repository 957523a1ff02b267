import numpy as np
import pytest

from racktwin import hardware
from racktwin.kernels import Kernels
from racktwin.kernels.gemm import gemm_work


def test_work_by_hand() -> None:
    task = gemm_work(64.0, 2048, 7168, "fp8", {"bf16", "fp8"})
    assert task.flops == 2 * 64 * 2048 * 7168
    assert task.bytes == 2048 * 7168 + 64 * 7168 + 2 * 64 * 2048
    assert task.dtype == "fp8"


def test_nvfp4_counts_its_scales_and_falls_to_bf16_on_hopper() -> None:
    blackwell = gemm_work(1.0, 4096, 4096, "nvfp4", {"bf16", "fp8", "nvfp4"})
    assert blackwell.bytes == 4096 * 4096 * 0.5625 + 4096 * 0.5625 + 2 * 4096
    hopper = gemm_work(1.0, 4096, 4096, "nvfp4", {"bf16", "fp8"})
    assert hopper.dtype == "bf16"
    assert hopper.bytes == 4096 * 4096 * 0.5625 + 4096 * 2 + 2 * 4096


# The fastest of the three frameworks in the raw tables, us.
@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "microseconds"),
    [
        (1, 4096, 4096, "nvfp4", 5.26),  # SGLang; TensorRT-LLM 12.51, vLLM 9.03
        (64, 8192, 8192, "fp8", 16.79),  # SGLang; TensorRT-LLM 25.02
        (8192, 8192, 8192, "nvfp4", 173.68),
        (2048, 7168, 16384, "bf16", 238.97),
        (8192, 16384, 7168, "fp8_block", 550.46),
    ],
)
def test_gb300_points(
    gb300: Kernels, m: int, n: int, k: int, dtype: str, microseconds: float
) -> None:
    priced = gb300.gemm(m, n, k, dtype)
    assert priced.seconds * 1e6 == pytest.approx(microseconds, rel=2e-3)
    assert str(priced.evidence) == f"measured: gb300 gemm {dtype}"


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "microseconds"),
    [(64, 4096, 4096, "bf16", 14.81), (8192, 8192, 8192, "fp8_block", 828.53)],
)
def test_h100_points(
    h100: Kernels, m: int, n: int, k: int, dtype: str, microseconds: float
) -> None:
    assert h100.gemm(m, n, k, dtype).seconds * 1e6 == pytest.approx(microseconds, rel=2e-3)


def test_many_rows_in_one_call_equal_one_call_each(gb300: Kernels) -> None:
    rows = np.array([0.0, 1, 7, 300, 5000, 1e6])
    at_once = gb300.gemm(rows, 2112, 7168, "nvfp4").seconds
    assert at_once == pytest.approx(
        [float(gb300.gemm(m, 2112, 7168, "nvfp4").seconds) for m in rows]
    )
    assert at_once[0] == 0
    assert (np.diff(at_once) > 0).all()


def test_beyond_the_table_time_follows_the_roofline(gb300: Kernels) -> None:
    edge, beyond = (gb300.gemm(m, 8192, 8192, "bf16") for m in (32768, 131072))
    assert beyond.seconds / edge.seconds == pytest.approx(4.0, rel=1e-3)
    assert beyond.evidence.name == "gb300 gemm bf16, extrapolated along the roofline"


def test_weight_only_is_named_and_faster_than_bf16_on_few_rows(h100: Kernels) -> None:
    narrow, wide = (h100.gemm(8, 8192, 8192, dtype) for dtype in ("int4", "bf16"))
    assert narrow.evidence.kind == "formula"
    assert "int4 weights" in narrow.evidence.name
    assert narrow.seconds < 0.5 * wide.seconds
    many = [float(h100.gemm(16384, 8192, 8192, dtype).seconds) for dtype in ("int4", "bf16")]
    assert many[0] == pytest.approx(many[1], rel=0.25)


def test_without_tables_the_roofline_and_its_factor_are_named() -> None:
    chip = hardware.chip("gb300")
    bare = Kernels(
        type(chip)(**{f: getattr(chip, f) for f in chip.__struct_fields__} | {"tables": "x"}),
        "vllm",
    )
    priced = bare.gemm(8192, 8192, 8192, "bf16")
    assert str(priced.evidence) == "assumed: gemm bf16: roofline x generic 0.60"
    assert priced.seconds == pytest.approx(2 * 8192**3 / 2.5e15 / 0.60 + 2e-6)


def test_joules_without_measured_watts_are_flops_and_bytes(h100: Kernels) -> None:
    """Hopper has none."""

    priced, chip = h100.gemm(512, 4096, 4096, "fp8"), h100.chip
    expected = priced.flops * chip.joules_per_flop["fp8"] + priced.bytes * chip.joules_per_byte
    assert priced.joules == pytest.approx(expected)


def test_activations_that_arrive_quantised_save_the_kernels_that_did_it(gb300: Kernels) -> None:
    """TensorRT-LLM measured 25.02 us, of which 9.26 look for a scale and 2.17 quantise."""
    priced = gb300.gemm(64, 8192, 8192, "fp8", quantised=True)
    assert priced.seconds * 1e6 == pytest.approx(25.024 - 9.263 - 2.175, rel=2e-3)
    assert str(priced.evidence) == "measured: gb300 gemm fp8 less quantising"


@pytest.mark.parametrize("dtype", ["bf16", "fp8_block", "nvfp4"])
def test_only_fp8_has_static_scales(gb300: Kernels, dtype: str) -> None:
    there, again = (gb300.gemm(64, 8192, 8192, dtype, quantised=each) for each in (True, False))
    assert there.seconds == again.seconds


def test_quantised_products_stay_below_the_roofline(gb300: Kernels) -> None:
    rows = np.exp2(np.arange(0, 16))
    for n, k in ((1280, 8192), (8192, 1024), (57344, 8192)):
        task = gemm_work(rows, n, k, "fp8", gb300.chip.peak)
        least = np.maximum(
            task.flops / gb300.chip.peak["fp8"], task.bytes / gb300.chip.memory_bandwidth
        )
        saved = gb300.gemm(rows, n, k, "fp8", quantised=True).seconds
        assert (saved >= least * (1 - 1e-9)).all()
        assert (saved <= gb300.gemm(rows, n, k, "fp8").seconds * (1 + 1e-3)).all()


@pytest.mark.parametrize(("n", "k"), [(2048, 64), (32, 2048), (64, 64)])
def test_a_block_of_scales_is_filled_up(n: int, k: int) -> None:
    """Below 128 the raw table has a fallback of 100 to 280 us that nobody serves."""
    kernels = Kernels(hardware.chip("b200"), "sglang")
    small, whole = (
        kernels.gemm(64.0, *each, "fp8_block") for each in ((n, k), (max(n, 128), max(k, 128)))
    )
    assert 0.3 * whole.seconds < small.seconds <= whole.seconds

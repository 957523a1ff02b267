"""Bit for bit as nvidia-modelopt, torchao and compressed-tensors, where they are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.parity.installed import have

from racktwin.numerics import Quantized, e2m1, quantize, swizzle

torch = pytest.importorskip("torch", reason="no torch: make test-parity installs it")
pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ("float32", "bfloat16", "float16")


def tensors(dtype: str) -> list[Any]:
    """Normal, heavy-tailed, tiny and huge numbers, without blocks of zeros."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((256, 512), dtype=np.float32)
    made = [normal, normal**3, normal * np.float32(1e-4), np.float32(2e3) * normal]
    # Plus zero: of minus zero they keep different bits, see below.
    return [torch.from_numpy(each).to(getattr(torch, dtype)) + 0.0 for each in made]


def same_but_for_ties(left: Any, own: Quantized, weight: Any) -> bool:
    """Equal codes, but for values that lie between two of them to the last bit of float32.

    torchao multiplies by one over the scale and compressed-tensors keeps one over the tensor scale:
    what divides to a tie does not multiply to one.
    """
    theirs = e2m1.unpack(left.contiguous().view(torch.uint8).numpy().reshape(own.packed.shape))
    odd = theirs != e2m1.unpack(own.packed)
    scales = np.repeat(own.scales.astype(np.float64) * float(own.tensor_scale), 16, -1)
    scaled = np.abs(weight.double().numpy() / scales)[odd]
    between = np.abs(scaled[:, None] - e2m1.BETWEEN).min(-1)
    return bool(odd.mean() < 0.002 and (between < 1e-6).all())


def same(left: Any, right: np.ndarray) -> bool:
    raw = left.contiguous().view(torch.uint8).numpy().reshape(-1)
    return np.array_equal(raw, np.ascontiguousarray(right).view(np.uint8).reshape(-1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nvfp4_as_modelopt(dtype: str) -> None:
    tensor = have("modelopt.torch.quantization.qtensor.nvfp4_tensor").NVFP4QTensor
    for weight in tensors(dtype):
        own = quantize(weight)
        made, scales, whole = tensor.quantize(weight.clone(), 16)
        assert float(whole) == float(own.tensor_scale)
        assert same(scales, own.scales)
        assert same(made._quantized_data, own.packed)
        back = made.dequantize(
            dtype=torch.float32, scale=scales, double_scale=whole, block_sizes={-1: 16}
        )
        assert np.array_equal(back.numpy(), own.dequantize())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nvfp4_as_torchao(dtype: str) -> None:
    module = have("torchao.prototype.mx_formats.nvfp4_tensor")
    for weight in tensors(dtype):
        own = quantize(weight)
        whole = module.per_tensor_amax_to_scale(weight.abs().max())
        scales, packed = module.nvfp4_quantize(weight.contiguous(), 16, whole)
        assert float(whole) == float(own.tensor_scale)
        assert same(scales, own.scales)
        assert same(packed, own.packed) or dtype == "bfloat16"
        assert same_but_for_ties(packed, own, weight)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["mxfp4", "mxfp8", "mxfp8_e5m2"])
@pytest.mark.parametrize("up", [False, True])
def test_mx_as_torchao(dtype: str, name: str, up: bool) -> None:
    """OCP's scales are its FLOOR, those rounded up its RCEIL."""
    module = have("torchao.prototype.mx_formats.mx_tensor")
    elements = {"mxfp4": torch.float4_e2m1fn_x2, "mxfp8": torch.float8_e4m3fn,
                "mxfp8_e5m2": torch.float8_e5m2}  # fmt: skip
    modes = module.ScaleCalculationMode
    for weight in tensors(dtype):
        own = quantize(weight, name, round_up=up)
        scales, codes = module.to_mx(weight, elements[name], 32, modes.RCEIL if up else modes.FLOOR)
        assert same(scales, own.scales)
        assert same(codes, own.packed)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nvfp4_as_compressed_tensors(dtype: str) -> None:
    have("compressed_tensors")
    from compressed_tensors.compressors.nvfp4 import NVFP4PackedCompressor
    from compressed_tensors.quantization import QuantizationScheme
    from compressed_tensors.quantization.quant_scheme import NVFP4
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    scheme = QuantizationScheme(targets=["Linear"], weights=NVFP4["weights"])
    for weight in tensors(dtype):
        own, wide = quantize(weight), weight.float()
        whole = generate_gparam(wide.min(), wide.max())
        assert float(whole) == pytest.approx(1 / float(own.tensor_scale), rel=2e-7)
        blocks = wide.reshape(len(wide), -1, 16)
        low, high = blocks.amin(-1), blocks.amax(-1)
        scales, _ = calculate_qparams(low, high, NVFP4["weights"], global_scale=whole)
        given = {"weight": wide, "weight_scale": scales, "weight_global_scale": whole}
        made = NVFP4PackedCompressor.compress(given, scheme)
        assert same(made["weight_scale"], own.scales)
        assert same(made["weight_packed"], own.packed) or dtype == "bfloat16"
        assert same_but_for_ties(made["weight_packed"], own, weight)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_fp8_as_torch(name: str) -> None:
    own = {"float8_e4m3fn": "fp8", "float8_e5m2": "fp8_e5m2"}[name]
    for weight in tensors("float32"):
        found = quantize(weight, own)
        scale = torch.from_numpy(found.scales).reshape(())
        assert same((weight / scale).to(getattr(torch, name)), found.packed)


def test_scales_as_tensor_cores_read_them() -> None:
    blocked = have("torchao.prototype.mx_formats.utils").to_blocked
    for shape in ((256, 512), (100, 48), (128, 64)):
        scales = quantize(torch.randn(*shape)).scales
        rows = torch.from_numpy(scales.view(np.uint8))
        assert same(blocked(rows), swizzle(scales))


def test_the_known_differences_on_degenerate_blocks() -> None:
    """A tiny block: 2^-9 as modelopt has it; torchao gives 2^-6, compressed-tensors 2^-3.

    A block of zeros: 1 as modelopt; the others their least. Minus zero: modelopt drops the sign.
    """
    weight = torch.zeros(1, 64)
    weight[0, 0], weight[0, 16], weight[0, 48] = 2688.0, 1e-6, -0.0
    own = quantize(weight)
    assert own.scales.astype(np.float32).tolist() == [[448, 2.0**-9, 1, 1]]
    assert own.packed[0, 24] == 8
    tensor = have("modelopt.torch.quantization.qtensor.nvfp4_tensor").NVFP4QTensor
    made, scales, _ = tensor.quantize(weight.clone(), 16)
    assert same(scales, own.scales)
    assert made._quantized_data[0, 24] == 0
    module = have("torchao.prototype.mx_formats.nvfp4_tensor")
    scales, packed = module.nvfp4_quantize(weight, 16, torch.tensor(1.0))
    assert scales.float().tolist() == [[448, 2.0**-6, 2.0**-6, 2.0**-6]]
    assert same(packed, own.packed)
    have("compressed_tensors")
    from compressed_tensors.quantization.quant_scheme import NVFP4
    from compressed_tensors.quantization.utils import calculate_qparams

    blocks = weight.reshape(1, 4, 16)
    scales, _ = calculate_qparams(
        blocks.amin(-1), blocks.amax(-1), NVFP4["weights"], global_scale=torch.ones(1)
    )
    assert scales.tolist() == [[448, 0.125, 0.125, 0.125]]


def test_torch_tensors_share_memory() -> None:
    for name in ("nvfp4", "mxfp8", "fp8_e5m2"):
        own = quantize(torch.randn(64, 64), name)
        packed, scales, whole = own.torch()
        assert packed.data_ptr() == own.packed.ctypes.data
        assert scales.data_ptr() == own.scales.ctypes.data
        assert (whole is None) == (own.tensor_scale is None)

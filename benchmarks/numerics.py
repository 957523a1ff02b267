"""Number formats: bytes moved by quantize and dequantize against a copy, and by other packages.

Run alone with `python -m benchmarks.numerics [MiB]`, in any environment that has numba and rich.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.registry import Benchmark, NotYet, Work
from racktwin.numerics import quantize

ROWS, COLUMNS = 8192, 8192
THREADS = os.cpu_count() or 1


def _weights(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, COLUMNS), dtype=np.float32)


def copied(values: np.ndarray, into: np.ndarray) -> int:
    """Copy on all threads; bytes moved."""
    cuts = np.linspace(0, len(values), THREADS + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda part: np.copyto(into[part], values[part]), parts))
    return 2 * values.nbytes


def _moved(make: Callable[[], Callable[[], int]]) -> Callable[[], Work]:
    """The benchmark of a function that says how many bytes it moved."""
    ready: list[Callable[[], int]] = []

    def run() -> Work:
        if not ready:
            ready.append(make())
        return Work(ready[0]() / 1e6, "MB")

    return run


def _copy() -> Callable[[], int]:
    values = _weights()
    into = np.zeros_like(values)
    return lambda: copied(values, into)


def _quantize() -> Callable[[], int]:
    values = _weights()
    return lambda: values.nbytes + quantize(values).nbytes


def _dequantize() -> Callable[[], int]:
    found, into = quantize(_weights()), np.zeros((ROWS, COLUMNS), np.float32)

    def run() -> int:
        found.dequantize(out=into)
        return found.nbytes + into.nbytes

    return run


def _copy_to_fresh() -> Callable[[], int]:
    """As `_copy` into memory that the system hands out, page by page, while it is written."""
    values = _weights()
    return lambda: copied(values, np.empty_like(values))


def _dequantize_to_fresh() -> Callable[[], int]:
    found = quantize(_weights())
    return lambda: found.nbytes + found.dequantize().nbytes


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as fault:
        raise NotYet(f"{fault}; make test-parity installs it") from None


def modelopt(values: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Its quantize and dequantize of a weight, on the CPU."""
    tensor = _module("modelopt.torch.quantization.qtensor.nvfp4_tensor").NVFP4QTensor
    torch = _module("torch")
    weight = torch.from_numpy(values)
    made, scales, whole = tensor.quantize(weight.clone(), 16)
    options = {"scale": scales, "double_scale": whole, "block_sizes": {-1: 16}}
    return (
        lambda: tensor.quantize(weight, 16),
        lambda: made.dequantize(dtype=torch.float32, **options),
    )


def torchao(values: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Its quantize and dequantize of a weight, on the CPU."""
    module = _module("torchao.prototype.mx_formats.nvfp4_tensor")
    torch = _module("torch")
    weight = torch.from_numpy(values)

    def make() -> Any:
        whole = module.per_tensor_amax_to_scale(weight.abs().max())
        return module.NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=whole)

    made = make()
    return make, lambda: made.dequantize(torch.float32)


def own(values: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Ours, into fresh memory as theirs."""
    found = quantize(values)
    return lambda: quantize(values), lambda: found.dequantize()


def _fastest(run: Callable[[], Any], repeats: int = 5) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main(size: int) -> None:
    """Wall times side by side on `size` MiB of weights, those of other packages where they are."""
    values = _weights(max(1, (size << 20) // 4 // COLUMNS))
    into = np.zeros_like(values)
    copy = _fastest(lambda: copied(values, into), 9)
    bandwidth = 2 * values.nbytes / copy
    found = quantize(values)
    moved = values.nbytes + found.nbytes
    print(f"{THREADS} threads, {size} MiB: copy {bandwidth / 1e9:.1f} GB/s")
    again = _fastest(lambda: found.dequantize(out=into), 9)
    print(f"dequantize into memory that is there: {moved / again / bandwidth:.0%} of it")
    mine = [_fastest(run, 9) for run in own(values)]
    for name, seconds in zip(("quantize", "dequantize"), mine, strict=True):
        print(f"{name}: {seconds:.3f} s, {moved / seconds / bandwidth:.0%} of it")
    for other in (modelopt, torchao):
        try:
            theirs = [_fastest(run, 2) for run in other(values)]
        except NotYet as reason:
            print(f"{other.__name__}: {reason}")
            continue
        for name, seconds, ours in zip(("quantize", "dequantize"), theirs, mine, strict=True):
            print(f"{other.__name__} {name}: {seconds:.3f} s, {seconds / ours:.1f} times ours")


SIZE = f"{ROWS * COLUMNS * 4 >> 20} MiB, {THREADS} threads"
BENCHMARKS = [
    Benchmark(name="numerics.copy", phase="memory", size=SIZE, run=_moved(_copy)),
    Benchmark(
        name="numerics.quantize", phase="nvfp4", size=SIZE, run=_moved(_quantize),
        goal="20 % of copy",
    ),
    Benchmark(
        name="numerics.dequantize", phase="nvfp4", size=SIZE, run=_moved(_dequantize),
        goal="50 % of copy",
    ),
    Benchmark(
        name="numerics.copy", phase="to fresh memory", size=SIZE, run=_moved(_copy_to_fresh)
    ),
    Benchmark(
        name="numerics.dequantize", phase="to fresh memory", size=SIZE,
        run=_moved(_dequantize_to_fresh),
    ),
]  # fmt: skip

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)

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

import ml_dtypes
import numpy as np

from benchmarks.registry import Benchmark, NotYet, Work
from racktwin.numerics import quantize

ROWS, COLUMNS = 8192, 8192
THREADS = os.cpu_count() or 1
ROUNDS = 15


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
    into = np.ones_like(values)
    return lambda: copied(values, into)


def _quantize() -> Callable[[], int]:
    values = _weights()
    return lambda: values.nbytes + quantize(values).nbytes


def _dequantize() -> Callable[[], int]:
    found, into = quantize(_weights()), np.ones((ROWS, COLUMNS), np.float32)

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


def _fastest(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Least wall and CPU time of each, s, in turn: what else the machine does hits all alike."""
    times = {name: (float("inf"), float("inf")) for name in runs}
    for lap in range(rounds + 1):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if lap:  # the first one warms up
                times[name] = min(times[name][0], wall), min(times[name][1], cpu)
    return times


def _own(values: np.ndarray) -> dict[str, tuple[float, float]]:
    """Ours and copies in turn, s."""
    brief = values.astype(ml_dtypes.bfloat16)
    into, brief_into = np.ones_like(values), np.ones_like(brief)
    found = quantize(values)
    return _fastest(
        {
            "copy": lambda: copied(values, into),
            "copy to fresh": lambda: copied(values, np.empty_like(values)),
            "quantize": lambda: quantize(values),
            "quantize bfloat16": lambda: quantize(brief),
            "dequantize to out": lambda: found.dequantize(out=into),
            "dequantize": lambda: found.dequantize(),
            "dequantize bfloat16 to out": lambda: found.dequantize(out=brief_into),
        },
        ROUNDS,
    )


def main(size: int) -> None:
    """Ours, copies and other packages, where they are, on `size` MiB of weights."""
    values = _weights(max(1, (size << 20) // 4 // COLUMNS))
    times = _own(values)
    print(f"{THREADS} threads, {size} MiB of float32, least of {ROUNDS} rounds")
    print("share: bytes moved per second over those of a copy, by wall time and by CPU time")
    small, whole = quantize(values).nbytes, 2 * values.nbytes
    for name, (wall, cpu) in times.items():
        like = "copy to fresh" if name == "dequantize" else "copy"
        moved = small + values.nbytes // (2 if "bfloat16" in name else 1)
        if name.startswith("copy"):
            like, moved = "copy", whole
        by_wall, by_cpu = (
            moved / own / (whole / copy) for own, copy in zip((wall, cpu), times[like], strict=True)
        )
        figures = (
            f"{1e3 * wall:4.0f} ms wall {1e3 * cpu:4.0f} ms CPU {moved / wall / 1e9:5.1f} GB/s"
        )
        print(f"{name:28} {figures} {by_wall:5.0%} {by_cpu:5.0%} of {like}")
    for other in (modelopt, torchao):
        try:
            runs = other(values)
        except NotYet as reason:
            print(f"{other.__name__}: {reason}")
            continue
        theirs = _fastest(dict(zip(("quantize", "dequantize"), runs, strict=True)), 2)
        for name, (seconds, _) in theirs.items():
            ratio = seconds / times[name][0]
            print(f"{other.__name__} {name}: {seconds:.3f} s wall, {ratio:.1f} times ours")


SIZE = f"{ROWS * COLUMNS * 4 >> 20} MiB, {THREADS} threads"
BENCHMARKS = [
    Benchmark(name=f"numerics.{name}", phase=phase, size=SIZE, run=_moved(make), goal=goal,
              repeats=ROUNDS)
    for name, phase, make, goal in (
        ("copy", "memory", _copy, ""),
        ("quantize", "nvfp4", _quantize, "20 % of copy"),
        ("dequantize", "nvfp4", _dequantize, "50 % of copy"),
        ("copy", "to fresh memory", _copy_to_fresh, ""),
        ("dequantize", "to fresh memory", _dequantize_to_fresh, ""),
    )
]  # fmt: skip

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)

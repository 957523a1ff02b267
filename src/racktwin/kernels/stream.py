"""Elementwise work: norms, residuals, activations, copies. Only the bytes matter."""

from __future__ import annotations

from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import fastest
from racktwin.kernels.tables import Tables


def stream_efficiency(tables: Tables | None) -> Efficiency:
    """Efficiency over the bytes moved, of the fastest measured quantise kernel (bf16 to FP8)."""
    found = [tables.get(f"stream.{each}") for each in ("trtllm", "vllm")] if tables else []
    grids = [table.grid(0) for table in found if table is not None]
    if tables is None or not grids:
        return generic("stream", "elementwise")
    return Efficiency(
        "measured", f"{tables.name} elementwise", fastest(grids), family="elementwise"
    )

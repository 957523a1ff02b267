"""The page of how far the power model is from measured watts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from power_fit.a100 import Fitted
from power_fit.aks import Compared
from racktwin.kernels.watts import MapIndex

HEAD = """# Power fit

How far the watts of the twin are from measured ones. Written by `python tools/fit_power.py`.

## Kernels on B200

The `power` column of the TensorRT-LLM tables (readings of 0 W are missing ones). A family's watts
are a grid over the share of the peak FLOP/s, the share of the HBM rate, and the time; errors are
those of shapes (n and k, expert layouts, heads) that the fit has not seen. Readings of short runs
scatter: neighbours in the tables differ by 1 to 5 % (median). Tables of whole attention modules,
which contain several kernels, and of state-space layers are not used.

| family | rows | median error |
|---|---|---|
"""
MIDDLE = """
The same joules are taken for GB200, B300 and GB300: same process, so the same energy for the same
work a second, on top of their own idle power and below their own TDP. Work beyond the peaks of
B200 costs in proportion. Hopper has no published watts of kernels: constants from its TDP, marked
assumed.

## A100

"""
AKS = """
## GB300 under load

DeepSeek-R1 on Azure's AKS, mean watts of all GPUs of the nodes. Nothing is fitted on these rows.
Prefill works for the share of the run in which its GPUs had a kernel running, as the row says;
requests fall on decode replicas at random. MTP acceptance is not published (0.8 for one draft
token, 0.7 for three). The last column takes prefill as busy as the published throughput needs
all through: far more than was drawn in the two heavy runs, whose means seem to hold idle time.

| requests | prefill kW, read | twin | decode kW, read | twin | error | prefill never idle |
|---|---|---|---|---|---|---|
"""


def page(index: MapIndex, errors: NDArray[np.float64], ampere: Fitted, rows: list[Compared]) -> str:
    """The page as Markdown."""
    lines = [
        f"| {name} | {count:,} | {error:.1%} |"
        for name, count, error in zip(index.families, index.rows, index.errors, strict=True)
    ]
    lines.append(f"| all | {sum(index.rows):,} | {np.nanmedian(errors):.1%} |")
    floor, memory, compute = ampere.shares
    hundred = (
        f"W / TDP = {floor:.3f} + {memory:.3f} x share of HBM rate + {compute:.3f} x share of BF16 "
        f"peak, on {ampere.rows} rows of\ntwo models with prompts below 4,096 tokens: "
        f"{ampere.inside:.1%} mean error, {ampere.left_out:.1%} on set-ups (model and ranks) left "
        "out.\n"
    )
    last = [
        f"| {each.row.concurrency:,} | {each.row.prefill_kw:.1f} | {each.prefill_kw:.1f} | "
        f"{each.row.decode_kw:.1f} | {each.decode_kw:.1f} | {each.error:+.1%} | "
        f"{each.steady_error:+.1%} |"
        for each in rows
    ]
    return HEAD + "\n".join(lines) + "\n" + MIDDLE + hundred + AKS + "\n".join(last) + "\n"

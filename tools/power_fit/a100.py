"""A100: watts of decoding as floor + HBM use + FLOP use, on published rows of two models.

A power of 0 is a missing reading (all H100 rows, some A100 rows). Prompts of 4,096 and more are
left out: their averages contradict one another (0.17 to 0.58 of TDP for the same work).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

PARAMETERS = {"llama2-70b": 69e9, "bloom-176b": 176e9}
PEAK, BANDWIDTH = 312e12, 2.039e12
LONGEST = 4096
Array = NDArray[np.float64]


class Fitted(NamedTuple):
    """Shares of TDP: floor, full HBM rate, peak FLOP/s; errors in the fit, of set-ups left out."""

    shares: Array
    rows: int
    inside: float
    left_out: float


def fitted(path: Path) -> Fitted:
    """The fit on every usable row."""
    table = pl.read_csv(path).filter(
        (pl.col("gpu") == "a100-80gb")
        & (pl.col("avg_power_frac_tdp") > 0)
        & (pl.col("prompt") < LONGEST)
    )
    work = table["model"].replace_strict(PARAMETERS).to_numpy() / table["tp"].to_numpy()
    token = table["token_ms"].to_numpy() / 1e3
    tokens = (table["prompt"] + table["out"]).to_numpy() * table["batch"].to_numpy()
    memory = 2 * work / token / BANDWIDTH
    compute = 2 * work * tokens / (table["e2e_ms"].to_numpy() / 1e3) / PEAK
    x = np.stack([np.ones_like(memory), memory, compute], axis=1)
    drawn = table["avg_power_frac_tdp"].to_numpy()
    setup = (table["model"] + " " + table["tp"].cast(pl.String)).to_numpy()
    errors = np.zeros(len(drawn))
    for each in set(setup):
        out = setup == each
        errors[out] = np.abs(x[out] @ _least(x[~out], drawn[~out]) / drawn[out] - 1)
    shares = _least(x, drawn)
    inside = float(np.mean(np.abs(x @ shares / drawn - 1)))
    return Fitted(shares, len(drawn), inside, float(np.mean(errors)))


def _least(x: Array, drawn: Array) -> Array:
    """Least squares of the relative error."""
    return np.asarray(np.linalg.lstsq(x / drawn[:, None], np.ones(len(drawn)), rcond=None)[0])


def entry(found: Fitted) -> str:
    """The catalog entry."""
    names: dict[str, Any] = dict(zip(("floor", "memory", "compute"), found.shares, strict=True))
    about = {
        "floor": "share of TDP without work, clocks up",
        "memory": "share of TDP at the full HBM rate, above the floor",
        "compute": "share of TDP at the BF16 peak, above the floor",
    }
    lines = ["# Written by tools/fit_power.py", "title: NVIDIA A100 80 GB, watts while decoding"]
    for name, value in names.items():
        origin = f'kind: derived, source: splitwise, note: "{about[name]}"'
        lines.append(f"{name}: {{value: {value:.3f}, {origin}}}")
    lines.append(
        f"error: {{value: {found.left_out:.3f}, kind: derived, source: splitwise, "
        f'note: "mean on set-ups left out, {found.rows} rows of two models; {found.inside:.3f} '
        'within the fit"}'
    )
    return "\n".join(lines) + "\n"

"""Linear attention and state-space layers: a fixed state per sequence instead of a cache.

Gated delta rule: S. Yang et al., arXiv:2412.06464; Mamba-2: T. Dao, A. Gu, arXiv:2405.21060.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from racktwin.kernels.efficiency import Efficiency
from racktwin.kernels.generic import generic
from racktwin.kernels.grid import shifted
from racktwin.kernels.roofline import Sizes, Work, work
from racktwin.kernels.tables import Tables

# bf16, the narrowest state an engine keeps (TensorRT-LLM); SGLang and vLLM keep fp32, which shows
# as lower efficiency.
_STATE_BYTES = 2.0


class Scan(NamedTuple):
    """One GPU's share of a recurrent layer; conv: taps of the short convolution before it."""

    kind: str
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int

    @property
    def state(self) -> float:
        """Values of the recurrent state of one sequence."""
        return float(self.value_heads * self.key_dim * self.value_dim)

    @property
    def mixed(self) -> float:
        """Channels that pass through the convolution: queries, keys and values."""
        return float(2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim)


def scan_work(batch: Sizes, tokens: Sizes, shape: Scan) -> Work:
    """`tokens` tokens of `batch` sequences: the state is read and written once a sequence."""
    new = np.asarray(tokens, float)
    output = shape.value_heads * shape.value_dim
    per_token = 2.0 * (3 * shape.mixed + output)  # bf16: convolution in and out, scan in and out
    state = 2 * _STATE_BYTES * shape.state + 4.0 * shape.mixed * (shape.conv - 1)
    # Decay, rank-one update and read-out: two multiply-adds a state value and token at the least.
    flops = new * (4.0 * shape.state + 2.0 * shape.conv * shape.mixed)
    return work(batch * flops, batch * (new * per_token + state * (new > 0)), "bf16")


def scan_efficiency(
    tables: Tables | None, phase: str, shape: Scan, frameworks: list[str]
) -> Efficiency:
    """Efficiency over batch or (batch, tokens); the first framework that has it.

    Only the gated delta rule was measured; Kimi's variant of it is taken to behave alike. Heads
    not measured take those nearest in number, at the batch that holds as much state.
    """
    for framework in frameworks if tables and shape.kind in ("gated-delta", "kimi-delta") else []:
        assert tables is not None
        table = tables.get(f"scan_{phase}.{framework}")
        if table is None:
            continue
        key_heads, heads, key_dim, value_dim = table.keys.T.astype(float)
        far = np.abs(np.log(heads * key_dim * value_dim / shape.state))
        far += 0.1 * np.abs(np.log(key_heads / shape.key_heads))
        row = int(np.argmin(far))
        grid = shifted(table.grid(row), 0, heads[row] / shape.value_heads)
        rule = "" if far[row] < 1e-9 else f" heads {heads[row]:.0f} for {shape.value_heads}"
        if shape.kind != "gated-delta":
            rule += f" for {shape.kind}"
        name = f"{tables.name} gated-delta {phase} {framework}{rule}"
        return Efficiency("measured", name, grid)
    return generic("recurrent", f"{shape.kind} {phase}")

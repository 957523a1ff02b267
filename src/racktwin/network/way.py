"""How a collective is carried: by which estimate and algorithm, over what is left of the links."""

from __future__ import annotations

from typing import Literal

import msgspec

Estimate = Literal["calibrated", "ideal"]
"""calibrated: what NCCL was seen to do. ideal: both tiers as a pipeline, switches reduce."""


class Way(msgspec.Struct, frozen=True):
    """The default is NCCL as measured, with all links up and no reduction in NIC switches.

    algorithm: one of `algorithm.ALL`, '' for the one NCCL takes. sharp: switches between NVLink
    domains reduce. nvlink, nic: share of the line rate that the worst-off rank has left, 0..1.
    domain: share left of what the worst-off NVLink domain sends out, which no algorithm exceeds.
    port: share left of the NICs alone, 0..1; cables between switches may leave less, as `nic` says.
    """

    estimate: Estimate = "calibrated"
    algorithm: str = ""
    sharp: bool = False
    nvlink: float = 1.0
    nic: float = 1.0
    domain: float = 1.0
    port: float = 1.0


USUAL = Way()

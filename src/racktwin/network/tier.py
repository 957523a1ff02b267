"""The tiers a flow passes, in the order of its path; 'out' and 'up' come before the turn."""

from __future__ import annotations

TIERS = (
    *("nvlink_out", "nvlink_in", "nic_out", "leaf_up"),
    *("spine_up", "spine_down", "leaf_down", "nic_in"),
)
NVLINK_OUT, NVLINK_IN, NIC_OUT, LEAF_UP, SPINE_UP, SPINE_DOWN, LEAF_DOWN, NIC_IN = range(8)

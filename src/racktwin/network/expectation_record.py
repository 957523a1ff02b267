"""An expectation, and a run judged by it, as plain data (docs/reference/json.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from racktwin.network.comparison import Comparison
from racktwin.network.expectation import Expectation
from racktwin.network.moe_question import Exchanged


def record(found: Expectation) -> dict[str, Any]:
    """Sizes in bytes, times in s, bandwidths in B/s."""
    asked = found.question
    way, place = asked.way, asked.place
    return {
        "question": {
            "operation": asked.operation,
            "cluster": asked.cluster.name,
            "gpus": place.ranks,
            "domains": place.domains,
            "gpus_per_domain": place.per_domain,
            "algorithm": way.algorithm or None,
            "sharp": way.sharp,
            "condition": asked.condition,
            "nvlink_share": way.nvlink,
            "nic_share": way.nic,
            "domain_nic_share": max(way.nic, way.domain),
        },
        "evidence": str(found.evidence),
        "binds": found.binds,
        "sizes": [_size(found, at) for at in range(len(found.size))],
        "algorithms": [
            {
                "name": each.algorithm,
                "protocol": each.protocol,
                "latency_s": each.latency,
                "bandwidth": each.bandwidth,
            }
            for each in found.paths
        ],
        "refused": [{"name": name, "reason": why} for name, why in found.refused.items()],
    }


def _size(found: Expectation, at: int) -> dict[str, Any]:
    size, time = float(found.size[at]), float(found.calibrated[at])
    path, best = found.path(at), found.best[at]
    return {
        "bytes": size,
        "seconds": time,
        "low_s": float(found.low[at]),
        "high_s": float(found.high[at]),
        "algbw": size / time,
        "busbw": found.share * size / time,
        "bound_s": float(found.bound[at]),
        "ideal_s": None if found.ideal is None else float(found.ideal[at]),
        "nccl_s": None if found.nccl is None else float(found.nccl[at]),
        "nccl_algorithm": path.algorithm if path else None,
        "nccl_protocol": path.protocol if path else None,
        "best_algorithm": best[0],
        "best_s": best[1],
    }


def judged(found: Comparison) -> dict[str, Any]:
    """The record of the expectation, and what a run is against it."""
    return {
        **record(found.expectation),
        "lines": [
            {
                "bytes": line.size,
                "measured_s": line.measured,
                "expected_s": line.expected,
                "slower": line.slower,
                "verdict": line.verdict,
                "cause": line.cause,
            }
            for line in found.lines
        ],
        "causes": [
            {"cause": name, "measured_over_it": None if np.isnan(ratio) else ratio}
            for name, ratio in found.causes
        ],
        "skipped_lines": [
            {"line": each.number, "reason": each.reason} for each in found.log.skipped
        ],
    }


def exchange(found: Exchanged) -> dict[str, Any]:
    """A phase of the token exchange: tokens per rank, bytes, s."""
    return {
        "question": {
            "operation": found.phase,
            "cluster": found.cluster.name,
            "gpus": found.place.ranks,
            "domains": found.place.domains,
            "gpus_per_domain": found.place.per_domain,
            "model": found.model.name,
            "payload": found.payload,
            "framework": found.framework,
            "condition": found.condition,
            "nvlink_share": found.way.nvlink,
            "nic_share": found.way.nic,
        },
        "evidence": str(found.evidence),
        "exchanges": [
            {
                "tokens_per_rank": float(found.tokens[at]),
                "bytes_per_rank": float(found.bytes[at]),
                "seconds": float(found.seconds[at]),
                "bound_s": float(found.bound[at]),
            }
            for at in range(len(found.tokens))
        ],
    }

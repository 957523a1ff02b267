"""A row of serving measurements as it stands in the published table."""

from __future__ import annotations

import pytest

from racktwin.evidence import cells

ROW = {
    **dict.fromkeys(cells.COLUMNS, ""),
    "id": "dsr1_b200_trtllm_fp4_agg_1024x1024_c64_cfg91",
    "gpu_system": "b200_sxm",
    "framework": "trtllm",
    "framework_version": "1.2.0rc6.post2",
    "model": "deepseek-ai/DeepSeek-R1",
    "precision": "fp4",
    "mode": "agg",
    "isl": "1024",
    "osl": "1024",
    "concurrency": "64",
    "tp_size": "4",
    "moe_tp_size": "4",
    "tpot_mean_ms": "16.5",
}


@pytest.fixture(scope="session")
def published_row() -> dict[str, str]:
    """DeepSeek-R1 nvfp4 on four B200, 64 clients."""
    return dict(ROW)

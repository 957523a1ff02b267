"""The published watts of DeepSeek-R1 on GB300 under AKS against the twin; none is fitted on.

A row gives mean watts of the GPUs of prefill and of decode nodes over a run, and the mean time
the prefill GPUs had a kernel running. Taken from the row: layout, concurrency and, since prefill
nodes waited most of the run, that time as the duty of prefill. Every prefill node drives two of
its four GPUs. Requests that decode fall on the replicas at random, so one of n is empty with
(1 - 1/n)^requests; MTP acceptance is not published and is set as in the examples.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from racktwin.engine.deployment import Deployment
from racktwin.engine.deployment_file import read_deployment
from racktwin.serving import disaggregated
from racktwin.serving.steady import Served
from racktwin.serving.traffic import Traffic

ACCEPTANCE = {1: 0.8, 3: 0.7}


class Row(NamedTuple):
    """A published load: what ran, kW of both kinds of nodes, duty of prefill (fraction)."""

    concurrency: int
    nodes: int
    prefill: str
    replicas: int
    decode: str
    drafts: int
    prefill_kw: float
    decode_kw: float
    duty: float


TENSOR = "tensor: 8, expert: 8, max_batch: 32"
ROWS = (
    Row(5, 1, "tensor: 2, expert: 2", 4, TENSOR, 3, 1.0, 9.9, 0.122),
    Row(24, 1, "tensor: 2, expert: 2", 4, TENSOR, 3, 1.9, 12.9, 0.284),
    Row(33, 1, "tensor: 2, expert: 2", 3, TENSOR, 3, 1.7, 10.9, 0.195),
    Row(666, 10, "tensor: 2, expert: 2", 1, "attention_data: 16, expert: 16, max_batch: 256", 1,
        14.0, 7.7, 0.144),
    Row(2253, 10, "attention_data: 2, expert: 2", 1,
        "attention_data: 8, expert: 8, max_batch: 512", 1, 15.0, 4.7, 0.151),
)  # fmt: skip


class Compared(NamedTuple):
    """kW of prefill and decode nodes by the twin, beside the row; steady: prefill as it expects."""

    row: Row
    prefill_kw: float
    decode_kw: float
    steady_kw: float

    @property
    def steady_error(self) -> float:
        """Of both, were prefill as busy all the time as the twin says of this load, relative."""
        measured = self.row.prefill_kw + self.row.decode_kw
        return (self.steady_kw + self.decode_kw) / measured - 1

    @property
    def error(self) -> float:
        """Of both together, relative."""
        measured = self.row.prefill_kw + self.row.decode_kw
        return (self.prefill_kw + self.decode_kw) / measured - 1


def compared() -> list[Compared]:
    """Every row."""
    return [_compare(row) for row in ROWS]


def _deployment(row: Row) -> Deployment:
    text = f"""model: deepseek-r1
cluster: azure-nd-gb300-v6
engine: trtllm-1.3
precision: {{weights: nvfp4, kv: fp8}}
prefill: {{replicas: {row.nodes}, {row.prefill}, max_batch_tokens: 16640}}
decode: {{replicas: {row.replicas}, {row.decode}, mtp: {{tokens: {row.drafts},
  acceptance: {ACCEPTANCE[row.drafts]}}}}}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "aks.yaml"
        path.write_text(text)
        return read_deployment(path)[0]


def _compare(row: Row) -> Compared:
    deployment, traffic = _deployment(row), Traffic(input=8192, output=1024)
    assert deployment.prefill is not None
    assert deployment.decode is not None
    served = Served(deployment)
    state = served.closed(traffic, row.concurrency)
    chip = deployment.cluster.chip
    gain = deployment.decode.speculation.tokens_per_step
    ranks = deployment.decode.layout.attention_data
    empty = (1 - 1 / row.replicas) ** (state.batch * ranks * row.replicas)
    batch = state.batch / (1 - empty)
    step = disaggregated.decode(served.tables["decode"], traffic, np.array([batch]), gain)
    pool = disaggregated.prefill(
        served.tables["prefill"], traffic, deployment.prefill.max_batch_tokens
    )
    idle = float(chip.idle_power)
    decode = idle + (1 - empty) * (float(step.watts[0]) - idle)
    working = float(np.ravel(pool.watts)[0]) - idle
    prefill = idle + row.duty * working
    used = deployment.prefill.gpus / (4 * row.nodes)
    steady = idle + used * state.prefill_busy * working
    kilowatts = [4 * row.nodes * each / 1e3 for each in (prefill, steady)]
    return Compared(row, kilowatts[0], deployment.decode.gpus * decode / 1e3, kilowatts[1])

"""Offload: what a deployment.yaml may say of it, against what the hosts have."""

from __future__ import annotations

from pathlib import Path

import pytest

from racktwin.engine.deployment_file import read_deployment
from racktwin.engine.offload import Offload, offload_findings
from racktwin.finding import BadInput, Finding
from racktwin.hardware import cluster
from racktwin.units import Bandwidth, Bytes

SERVE = """\
model: deepseek-r1
cluster: azure-nd-gb300-v6
engine: sglang
serve: {attention_data: 8, expert: 8}
"""


def read(folder: Path, line: str) -> tuple[Offload, tuple[Finding, ...]]:
    path = folder / "deployment.yaml"
    path.write_text(f"{SERVE}{line}\n")
    deployment, notes = read_deployment(path)
    return deployment.offload, notes


def test_sizes_and_bandwidths(tmp_path: Path) -> None:
    line = "offload: {host: 200 GB, shared: 20 TB, shared_bandwidth: 12 GB/s, write: eviction}"
    found, notes = read(tmp_path, line)
    assert (found.host, found.shared, found.write) == (200e9, 20e12, "eviction")
    assert (found.host_bandwidth, found.shared_bandwidth) == (None, 12e9)
    assert found.any
    assert not notes
    assert not read(tmp_path, "")[0].any


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{host: -5 GB}", "offload.host: '-5 GB' is out of range; expected 0 B to"),
        ("{host: 200}", "offload.host: '200' has no unit; write one as in '288 GB'"),
        ("{hots: 200 GB}", "did you mean 'host'?"),
        ("{write: back}", "offload.write: 'back' is not known; known: eviction, through"),
        (
            "{host_bandwidth: 0 GB/s}",
            "offload.host_bandwidth: '0 GB/s' is out of range; expected more than 0",
        ),
        ("200 GB", "offload: expected a mapping"),
        (
            "{host: 1 TB}",
            "offload.host: 1 TB for each GPU; a host of azure-nd-gb300-v6 has 927.7 GB for 4, "
            "231.9 GB each",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, f"offload: {line}")
    assert said in str(caught.value)
    assert caught.value.findings[0].line == 5


def test_a_pool_beyond_the_memory_of_the_hosts_is_noted() -> None:
    """Two nodes with 2 TB each; 100 GB of it for each of 16 GPUs leave 2.4 TB."""
    nodes = cluster("hgx-b200", nodes=2)
    kept = Offload(host=Bytes(100e9), shared=Bytes(2.3e12))
    assert not list(offload_findings(kept, nodes))
    more = Offload(host=Bytes(100e9), shared=Bytes(2.5e12), shared_bandwidth=Bandwidth(1e9))
    (found,) = offload_findings(more, nodes)
    assert found.note
    assert "2.5 TB is more than the 2.4 TB" in found.message

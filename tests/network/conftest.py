"""Clusters the network tests run on."""

from __future__ import annotations

import pytest

from racktwin import hardware
from racktwin.hardware import Cluster


@pytest.fixture(scope="session")
def rack() -> Cluster:
    """GB300 racks: 72 GPUs a domain, 4 a host."""
    return hardware.cluster("azure-nd-gb300-v6")


@pytest.fixture(scope="session")
def hopper() -> Cluster:
    """H100 hosts: a domain is a host of 8."""
    return hardware.cluster("azure-nd-h100-v5")


@pytest.fixture(scope="session")
def b300() -> Cluster:
    """B300 hosts of 8."""
    return hardware.cluster("hgx-b300")

"""Chips and kernels the kernel tests share."""

import pytest

from racktwin import hardware
from racktwin.kernels import Kernels


@pytest.fixture(scope="session")
def gb300() -> Kernels:
    return Kernels(hardware.chip("gb300"), "trtllm")


@pytest.fixture(scope="session")
def h100() -> Kernels:
    return Kernels(hardware.chip("h100"), "vllm")

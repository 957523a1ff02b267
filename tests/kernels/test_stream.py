import numpy as np

from racktwin.kernels import Kernels


def test_small_moves_cost_a_launch_and_large_ones_the_bandwidth(gb300: Kernels) -> None:
    priced = gb300.stream(np.array([0.0, 1e4, 4e9]))
    assert priced.seconds[0] == 0
    assert 1e-6 < priced.seconds[1] < 3e-6
    assert 0.7 < 4e9 / 8e12 / priced.seconds[2] < 0.95
    assert priced.flops.tolist() == [0, 0, 0]
    assert priced.evidence.kind == "measured"


def test_more_bytes_never_cost_less(gb300: Kernels, h100: Kernels) -> None:
    moved = np.geomspace(100, 1e10, 300)
    for kernels in (gb300, h100):
        assert (np.diff(kernels.stream(moved).seconds) > -2e-7).all()

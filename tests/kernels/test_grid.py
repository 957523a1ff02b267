import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin.kernels.grid import Grid, fastest, shifted, truncated


def grid(*sizes: list[float], efficiency: np.ndarray, measured: np.ndarray | None = None) -> Grid:
    known = np.ones(efficiency.shape, bool) if measured is None else measured
    return Grid(tuple(np.log(each) for each in sizes), np.log(efficiency), known)


PLANE = grid(
    [1.0, 4.0, 16.0], [2.0, 8.0], efficiency=np.array([[0.1, 0.4], [0.2, 0.8], [0.4, 0.5]])
)


def read(of: Grid, *sizes: object) -> np.ndarray:
    return np.exp(of.at(*sizes)[0])


def test_exact_on_the_points_and_geometric_between() -> None:
    assert read(PLANE, 4.0, 8.0) == pytest.approx(0.8)
    assert read(PLANE, 16.0, 2.0) == pytest.approx(0.4)
    # Half way in both logarithms: the geometric mean of the four corners.
    assert read(PLANE, 2.0, 4.0) == pytest.approx((0.1 * 0.4 * 0.2 * 0.8) ** 0.25)


def test_beyond_the_edge_the_efficiency_stays_and_is_not_measured() -> None:
    values, inside = PLANE.at(np.array([0.5, 1.0, 16.0, 1e6]), 2.0)
    assert np.exp(values) == pytest.approx([0.1, 0.1, 0.4, 0.4])
    assert inside.tolist() == [False, True, True, False]


def test_zero_reads_the_first_size() -> None:
    assert read(PLANE, 0.0, 2.0) == pytest.approx(0.1)


def test_a_filled_point_is_not_measured_but_its_neighbours_are() -> None:
    known = np.array([[True, True], [True, False], [True, True]])
    holed = Grid(PLANE.axes, PLANE.values, known)
    _, inside = holed.at(np.array([1.0, 2.0, 4.0, 4.0]), np.array([8.0, 8.0, 8.0, 2.0]))
    assert inside.tolist() == [True, False, False, True]


@given(st.floats(0.5, 40), st.floats(0.5, 40))
def test_fixing_an_axis_is_reading_at_it(one: float, two: float) -> None:
    assert read(PLANE.fixed(1, two), one) == pytest.approx(float(read(PLANE, one, two)))
    assert read(PLANE.fixed(0, one), two) == pytest.approx(float(read(PLANE, one, two)))


def test_shifted_reads_at_the_other_size() -> None:
    assert read(shifted(PLANE, 0, 0.25), 1.0, 2.0) == pytest.approx(0.2)


def test_truncated_holds_its_last_value_as_measured() -> None:
    cut = truncated(PLANE, 0, 8.0)
    values, inside = cut.at(np.array([4.0, 8.0, 1e5]), 2.0)
    edge = float(read(PLANE, 8.0, 2.0))
    assert np.exp(values) == pytest.approx([0.2, edge, edge])
    assert inside.all()


def test_fastest_takes_the_best_but_measured_before_filled() -> None:
    slow = grid([1.0, 2.0], efficiency=np.array([0.5, 0.3]))
    quick = grid([1.0, 2.0], efficiency=np.array([0.6, 0.9]), measured=np.array([True, False]))
    best = fastest([slow, quick])
    assert np.exp(best.values) == pytest.approx([0.6, 0.3])
    assert best.measured.all()

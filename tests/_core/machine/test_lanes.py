"""Eight floats at once, against NumPy."""

import numpy as np
import pytest
from numba import njit

from rankwise._core._loops.machine_lanes import (
    LANES,
    add_two,
    count_at_most,
    one_lane,
    read_lanes,
    sum_lanes,
    where_above,
    write_lanes,
)

MODES = pytest.mark.parametrize("mode", [njit, lambda plain: plain], ids=["compiled", "plain"])


def arithmetic(x, y, factor, out):
    a, b = read_lanes(x, 0), read_lanes(y, 1)
    write_lanes(out, 2, a * factor + (b - a) * b + (1.0 - a))


def choices(x, y, most):
    a, b = read_lanes(x, 0), read_lanes(y, 0)
    higher = where_above(a, b, 2.0)
    return sum_lanes(higher), sum_lanes(where_above(0.0, a, a)), count_at_most(a, most)


def each(x):
    lanes, total = read_lanes(x, 0), 0.0
    for at in range(LANES):
        total = 10.0 * total + one_lane(lanes, at)
    return total


def twos(array, first, second):
    for k in range(array.shape[0]):
        for p in range(array.shape[1]):
            add_two(array, k, p, first + k, second - p)


@pytest.fixture
def pair():
    x = np.random.default_rng(3).standard_normal((2, LANES + 1)).round(1)
    x[:, 3] = 0.5
    return x


@MODES
def test_sums_and_products(pair, mode):
    (x, y), out = pair, np.zeros(LANES + 4)
    mode(arithmetic)(x, y, 3.0, out)
    a, b = x[:LANES], y[1 : LANES + 1]
    np.testing.assert_allclose(out[2 : 2 + LANES], 3 * a + (b - a) * b + (1 - a), rtol=1e-14)
    np.testing.assert_array_equal(out[[0, 1, -2, -1]], 0.0)


@MODES
def test_choices(pair, mode):
    a, b = pair[:, :LANES]
    expected = 2.0 * (a > b).sum(), a[a < 0].sum(), (a <= 0.5).sum()
    assert mode(choices)(*pair, 0.5) == pytest.approx(expected)


@MODES
def test_two_whole_numbers(mode):
    array = np.arange(24).reshape(2, 6, 2)
    expected = array + np.stack(np.broadcast_arrays([[7], [8]], 2**40 - np.arange(6)), axis=2)
    mode(twos)(array, 7, 2**40)
    np.testing.assert_array_equal(array, expected)


@MODES
def test_each_lane(mode):
    assert mode(each)(np.arange(1.0, LANES + 1)) == 12345678.0

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rankwise._core.pairs import sorted_rows

RANDOM = np.random.default_rng(0)
N = 150_000
NORMAL = RANDOM.normal(size=N)
HARD = {
    "normal": NORMAL,
    "ties": np.round(NORMAL, 2),
    "grades": np.floor(NORMAL),
    "sorted": np.sort(NORMAL),
    "reversed": np.sort(NORMAL)[::-1],
    "outlier": np.append(NORMAL[1:], 1e300),
    "heavy tails": np.exp(20 * NORMAL),
    "powers of two": 2.0 ** RANDOM.integers(-1000, 1000, N),
    "widest": NORMAL * (1e308 / 8),
    "subnormal": NORMAL[:3000] * 1e-310,
    "close": 1 + 1e-13 * NORMAL,
    "zeros": np.where(NORMAL > 0, 0.0, -0.0),
    "equal": np.ones(N),
}


def sort(values, starts):
    rows, ordered = sorted_rows(values, np.asarray(starts))
    assert_array_equal(values[rows], ordered)
    return rows


@pytest.mark.parametrize("name", HARD)
def test_stable_whatever_the_values(name):
    values = HARD[name]
    assert_array_equal(sort(values, [0, len(values)]), np.argsort(values, kind="stable"))


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 50), st.integers(0, 9))
def test_segments(sizes, levels, seed):
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    values = np.random.default_rng(seed).integers(0, levels, starts[-1]).astype(float)
    segment = np.repeat(np.arange(len(sizes)), sizes)
    assert_array_equal(sort(values, starts), np.lexsort([values, segment]))


@pytest.mark.parametrize("n", [13, 500, 1024, 1025, 3000, 70_000])
def test_every_size_of_group(n):
    values = np.random.default_rng(n).normal(size=3 * n)
    expected = [k * n + np.argsort(values[k * n : (k + 1) * n], kind="stable") for k in range(3)]
    assert_array_equal(sort(values, [0, n, 2 * n, 3 * n]), np.concatenate(expected))

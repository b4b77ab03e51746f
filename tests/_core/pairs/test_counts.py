import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise._core._loops.inversions import count_inversions, grade_inversions
from rankwise._core.pairs import Pairs, count_pairs

SIZES = [0, 1, 2, 63, 64, 65, 255, 256, 511, 512, 513, 700, 4_095, 4_097]
CLOSE = np.random.default_rng(1).permutation(3_000) * 2.0**-40
SCORES = {
    "far apart": lambda random, n: random.normal(size=n),
    "sharing keys": lambda _random, n: np.append(1 + CLOSE[: n - 1], 1e9),
    "sharing one key": lambda _random, n: np.append(1 + CLOSE[: n - 1], 1e300),
    "tied": lambda random, n: random.integers(0, 40, n) / 8,
    "tied once": lambda random, n: np.append(random.normal(size=n - 2), [0.5, 0.5]),
    "alike": lambda _random, n: np.zeros(n),
}


def brute(values):
    return sum(int((values[:i] > values[i]).sum()) for i in range(1, len(values)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", SIZES)
def test_inversions_of_a_permutation(n, dtype):
    places = np.random.default_rng(n).permutation(n).astype(dtype)
    expected = brute(places)
    assert count_inversions(places) == expected


@given(st.lists(st.integers(0, 600), min_size=1, max_size=4), st.integers(1, 32), st.integers(0, 9))
def test_inversions_of_grades(sizes, n_grades, seed):
    starts = np.append(0, np.cumsum(sizes))
    grades = np.random.default_rng(seed).integers(0, n_grades, starts[-1]).astype(np.uint8)
    expected = sum(brute(segment) for segment in np.split(grades, starts[1:-1]))
    assert grade_inversions(grades, n_grades, starts) == expected


@pytest.mark.parametrize("qid", ["none", "grouped", "shuffled"])
@pytest.mark.parametrize("levels", [2, 7, 8, 32, 33, None])
@pytest.mark.parametrize("scores", SCORES)
def test_counts_are_those_of_the_definition(scores, levels, qid):
    random, n = np.random.default_rng(0), 1_500
    y = random.normal(size=n) if levels is None else random.integers(0, levels, n) / 2
    s = SCORES[scores](random, n)
    codes = np.zeros(n, int) if qid == "none" else np.sort(random.integers(0, 4, n))
    if qid == "shuffled":
        random.shuffle(codes)
    better = (y[:, None] < y) & (codes[:, None] == codes)
    expected = (better & (s[:, None] > s)).sum(), (better & (s[:, None] == s)).sum(), better.sum()
    pairs = Pairs(y, qid=None if qid == "none" else codes)
    assert count_pairs(pairs, s) == expected

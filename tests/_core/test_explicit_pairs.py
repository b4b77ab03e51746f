import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise._core.inputs import check_pairs, check_weighted_pairs


@pytest.mark.parametrize(
    "pairs",
    [[[0, 1], {}], [[0, 1], [2]], [0, 1], [], [[0.0, 1.0]], "ab", np.ma.masked_equal([[0, 1]], 1)],
)
def test_odd_pairs_are_named(pairs):
    with pytest.raises(ValueError, match=r"^others "):
        check_pairs(pairs, 3, "others")


@pytest.mark.parametrize("weight", ["a", {"a": 1}, iter([1]), [1j], [[1], [1, 2]], [-1.0], [1, 2]])
def test_odd_weights_are_named(weight):
    with pytest.raises(ValueError, match=r"^pair_weight\b"):
        check_weighted_pairs([[0, 1]], weight, 3)


def test_pairs_that_weigh_nothing_are_counted():
    pairs, weight, dropped = check_weighted_pairs([[0, 1], [1, 1], [1, 2]], [2, 1, 0], 3)
    assert_array_equal(pairs, [[0, 1]])
    assert_array_equal(weight, [2.0])
    assert dropped == 2

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise.datasets import make_herbrich


def test_ranks_are_cut_from_the_saddle():
    X, y = make_herbrich(2000, noise=0, random_state=0)
    value = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    literal = [
        max([1] + [r + 2 for r, c in enumerate((-1, -0.1, 0.25, 1)) if v > c]) for v in value
    ]
    assert_array_equal(y, literal)
    assert X.min() >= 0
    assert X.max() <= 1


def test_noise_moves_some_ranks():
    X, y = make_herbrich(2000, random_state=0)
    again, same = make_herbrich(2000, random_state=0)
    assert_array_equal(X, again)
    assert_array_equal(y, same)
    assert 0.1 < np.mean(y != make_herbrich(2000, noise=0, random_state=0)[1]) < 0.2


@pytest.mark.parametrize(("n", "noise"), [(0, 0.1), (2.5, 0.1), (10, -1)])
def test_bad_arguments_are_refused(n, noise):
    with pytest.raises(ValueError, match="parameter"):
        make_herbrich(n, noise=noise)

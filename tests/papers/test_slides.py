"""K. Crammer, Pranking with ranking, slides."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise.ordinal import PRank


@pytest.mark.parametrize("seed", range(3))
def test_prank_with_two_ranks_is_the_perceptron_with_a_threshold(seed):
    """Slides 6 to 8: sign(w.x - b), and w + y x, b - y at a mistake; rank 2 is +1."""
    random = np.random.default_rng(seed)
    X = random.integers(-3, 4, size=(200, 4)).astype(float)
    signs = np.where(X @ [1.0, -2.0, 0.5, 0.0] + random.normal(size=200) > 1, 1, -1)
    w, b, said = np.zeros(4), 0.0, []
    for x, sign in zip(X, signs, strict=True):
        said.append(1 if w @ x - b >= 0 else -1)
        if said[-1] != sign:
            w, b = w + sign * x, b - sign
    model = PRank(vote=None, label_order=[-1, 1])
    assert_array_equal(model.partial_fit_predict(X, signs), said)
    assert_array_equal(model.coef_, w)
    assert_array_equal(model.thresholds_, [b])

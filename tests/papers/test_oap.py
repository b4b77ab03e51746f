"""E. Harrington, Online ranking/collaborative filtering using the perceptron, ICML 2003."""

import numpy as np
from numpy.testing import assert_array_equal

from rankwise.bounds import prank_mistake_bound
from rankwise.ordinal import OAPRank, PRank


def separable(n=400, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2))
    w, b = np.array([1.0, 1.0]), np.array([-0.5, 0.5])
    X = X[np.abs((X @ w)[:, None] - b).min(axis=1) > 0.1]
    return X, 1 + np.searchsorted(b, X @ w), w, b


def test_the_mistake_bound_of_oap_is_that_of_its_worst_member():
    """Section 3: every member obeys PRank's mistake bound, and they learn on after PRank stops.

    A member sees some of the rows, so that its margin is at least that of all: the bound from all
    rows is that of the worst member there can be. The mean errs no more once no member does.
    """
    X, y, w, b = separable()
    bound = prank_mistake_bound(X, y, w, b)
    passes = np.tile(X, (30, 1)), np.tile(y, 30)
    prank = PRank(vote=None, label_order=[1, 2, 3]).partial_fit(X, y)
    first = prank.rank_loss_
    assert prank.partial_fit(*passes).rank_loss_ == first <= bound.value
    members = [OAPRank(1, tau=0.1, random_state=seed, label_order=[1, 2, 3]) for seed in range(20)]
    one = [member.partial_fit(X, y).rank_loss_ for member in members]
    every = [member.partial_fit(*passes).rank_loss_ for member in members]
    assert max(np.subtract(every, one)) > 0
    assert first < max(every) <= bound.value
    model = OAPRank(20, tau=0.1, random_state=0, label_order=[1, 2, 3]).partial_fit(*passes)
    scores = X @ model.members_coef_.T
    assert_array_equal(
        1 + (scores[:, :, None] >= model.members_thresholds_).sum(axis=2).T, [y] * 20
    )
    assert_array_equal(model.predict(X), y)

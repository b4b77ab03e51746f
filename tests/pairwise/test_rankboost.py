"""RankBoost against the algorithm on the pairs themselves, and the lecture's facts about it."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rankwise.engine.binning import find_edges
from rankwise.engine.solvers import boosting
from rankwise.metrics import exponential_pair_loss, pairwise_misranking_loss
from rankwise.pairwise import RankBoost
from rankwise.testing.oracles import pair_weights, rankboost

M = 60


def sample(levels, *, seed=0, m=M, missing=False):
    """Rows with real, coarse and constant features; targets of so many levels (None: real)."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 3] = 1.0
    y = X[:, 0] + np.sin(2 * X[:, 2]) + random.normal(0, 0.7, m)
    if levels is not None:
        y = np.searchsorted(np.quantile(y, np.arange(1, levels) / levels), y).astype(float) ** 2
    if missing:
        X[random.uniform(size=X.shape) < 0.2] = np.nan
    return X, y, random.integers(0, 4, size=m), random.uniform(0.2, 2, size=m)


def assert_same_rounds(model, X, weights, *, tie=1e-10, criterion="loss"):
    """Assert that a model is the literal one round by round, until a choice is as good as tied."""
    n_pairs = np.count_nonzero(weights)
    rounds = rankboost(X, weights, len(model.alphas_), criterion=criterion, n_pairs=n_pairs)
    n_same = 0
    for t, expected in enumerate(rounds):
        x, cut = X[:, model.features_[t]], model.cutpoints_[t]
        h = np.where(np.isnan(x), model.missing_above_[t], x > cut)
        if not (np.array_equal(h, expected.h) or np.array_equal(h, ~expected.h)):
            distinct = expected.others[expected.others > expected.best + 1e-14]
            assert distinct[0] - expected.best < tie or expected.others[1] - expected.best < tie
            break
        sign = 1 if np.array_equal(h, expected.h) else -1
        assert_allclose(sign * model.alphas_[t], expected.alpha, rtol=1e-7, atol=1e-9)
        assert_allclose(model.train_loss_[t], expected.loss, rtol=1e-9)
        n_same += 1
    assert n_same >= min(5, len(model.alphas_))
    return n_same


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize(
    ("levels", "missing", "queries", "weighted"),
    list(product([2, 4, None], [False, True], [False, True], [False, True])),
)
def test_rounds_of_the_literal_algorithm(levels, missing, queries, weighted, criterion, max_bins):
    X, y, qid, weight = sample(levels, missing=missing)
    qid, weight = qid if queries else None, weight if weighted else None
    for pair_weight in ("uniform", "magnitude"):
        model = RankBoost(
            12, criterion=criterion, max_bins=max_bins, pair_weight=pair_weight
        ).fit(X, y, qid=qid, sample_weight=weight)
        weights = pair_weights(
            y, one_sided=True, qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_same_rounds(model, X, weights, criterion=criterion)
        assert model.n_pairs_ == np.count_nonzero(weights)
        loss = exponential_pair_loss(
            y, model.predict(X), qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_allclose(model.train_loss_[-1], loss, rtol=1e-9)

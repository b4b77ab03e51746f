"""Rankers of two classes give their scores to scikit-learn's scorers of classifiers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.pairwise import AccuracyAtTop, RankSVM, TopPush

RANKERS = [MPRank(), MPRankCV(), SVRank(), RankSVM(), TopPush(), AccuracyAtTop(), RankBoost(5)]


def rows(levels):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    score = X[:, 0] + random.normal(size=120)
    return X, np.digitize(score, np.quantile(score, np.arange(1, levels) / levels))


@pytest.mark.filterwarnings("ignore:TopPush scores all rows alike")
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_it_is_there_after_a_fit_on_two_targets(ranker):
    assert not hasattr(ranker, "decision_function")
    X, y = rows(2)
    ranker.fit(X, y)
    assert_array_equal(ranker.decision_function(X), ranker.predict(X))
    X[:, 0] += 2 * y
    found = cross_val_score(ranker, X, y, scoring="roc_auc", cv=3, error_score="raise")
    expected = cross_val_score(ranker, X, y, cv=3)
    assert found == pytest.approx(expected)
    assert roc_auc_score(y, ranker.decision_function(X)) == pytest.approx(ranker.score(X, y))
    assert (cross_val_score(ranker, X, y, scoring="average_precision", cv=3) > 0.5).all()


@pytest.mark.parametrize("ranker", [MPRank(), RankSVM(), RankBoost(5)], ids=str)
def test_it_is_not_there_after_another_fit(ranker):
    X, y = rows(2)
    ranker.fit(X, y).fit(*rows(3))
    assert not hasattr(ranker, "decision_function")
    if hasattr(ranker, "fit_pairs"):
        ranker.fit(X, y).fit_pairs(X, [[0, 1], [2, 3]])
        assert not hasattr(ranker, "decision_function")
    if hasattr(ranker, "partial_fit"):
        ranker.fit(X, y).partial_fit(X[:2], [5.0, 6.0]).partial_fit(X[2:4], [7.0, 8.0])
        assert not hasattr(ranker, "decision_function")

"""What RankerMixin adds, and that queries flow through scikit-learn's tools."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.magnitude import MPRank
from rankwise.metrics import pairwise_misranking_loss


def shuffled(n_queries=12, size=9, seed=0):
    """Queries with ratings on levels of their own, their rows shuffled together."""
    random = np.random.default_rng(seed)
    qid = random.permutation(np.repeat(np.arange(n_queries), size))
    X = random.normal(size=(len(qid), 4))
    y = X[:, 0] + 0.5 * X[:, 1] + random.normal(0, 0.5, len(qid)) + 20 * random.normal(size=12)[qid]
    return X, y, qid, random.uniform(0.5, 2, size=len(qid))


def test_positions():
    model = MPRank(100.0).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    X = [[3.0], [1.0], [2.0], [1.0], [5.0]]
    assert_array_equal(model.rank(X), [2, 4, 3, 5, 1])
    assert_array_equal(model.rank(X, qid=["b", "a", "b", "a", "a"]), [1, 2, 2, 3, 1])
    assert is_regressor(model)
    with pytest.raises(ValueError, match="qid has 2 entries"):
        model.rank(X, qid=[1, 2])


def test_score_is_the_share_of_pairs_inside_queries():
    X, y, qid, weight = shuffled()
    model = MPRank().fit(X, y, qid=qid)
    said = model.predict(X)
    for given in ({}, {"sample_weight": weight}):
        expected = 1 - pairwise_misranking_loss(y, said, qid=qid, ties="half", **given)
        assert model.score(X, y, qid=qid, **given) == expected
    with pytest.warns(UserWarning, match="fitted with qid and is scored without it"):
        pooled = model.score(X, y)
    assert pooled < model.score(X, y, qid=qid) - 0.1
    with pytest.raises(ValueError, match="comparable"):
        model.score(X, y, qid=np.arange(len(y)))


def test_queries_are_routed_through_a_search_of_a_pipeline():
    X, y, qid, weight = shuffled()
    with config_context(enable_metadata_routing=True):
        ranker = (
            MPRank()
            .set_fit_request(qid=True, sample_weight=True)
            .set_score_request(qid=True, sample_weight=True)
        )
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), ranker)
        folds = GroupKFold(n_splits=4).set_split_request(groups="qid")
        search = GridSearchCV(pipeline, {"mprank__C": [1e-4, 1.0, 100.0]}, cv=folds)
        search.fit(X, y, qid=qid, sample_weight=weight)
        assert_allclose(
            search.score(X, y, qid=qid, sample_weight=weight),
            search.best_estimator_.score(X, y, qid=qid, sample_weight=weight),
        )
        scores = cross_val_score(
            ranker, X, y, cv=folds, params={"qid": qid, "sample_weight": weight}
        )
    expected, by_hand = [], []
    for train, test in GroupKFold(n_splits=4).split(X, y, groups=qid):
        assert not set(qid[train]) & set(qid[test])
        scaler = StandardScaler().fit(X[train])
        for results, change in ((expected, scaler.transform), (by_hand, np.asarray)):
            model = MPRank(search.best_params_["mprank__C"] if results is expected else 1.0)
            model.fit(change(X[train]), y[train], qid=qid[train], sample_weight=weight[train])
            results.append(
                model.score(change(X[test]), y[test], qid=qid[test], sample_weight=weight[test])
            )
    assert_allclose(search.best_score_, np.mean(expected))
    assert_allclose(scores, by_hand)


@pytest.mark.parametrize("far", [2**53, 2**60, -(2**60)])
def test_integers_that_a_float_rounds_are_refused(far):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 2, 5, 6])
    with pytest.raises(ValueError, match=r"y holds -?\d+ in row \d, an integer that"):
        MPRank().fit(X, y + far)
    expected = MPRank().fit(X, y).predict(X)
    assert_allclose(MPRank().fit(X, y + 2**40).predict(X) - 2**40, expected, atol=1e-3)

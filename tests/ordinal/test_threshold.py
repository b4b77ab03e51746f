"""Thresholds on a score against all others, and what surrounds them."""

from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.ordinal import PRank, ThresholdRanker
from rankwise.ordinal._threshold import best_thresholds
from rankwise.ordinal.cuts import chances, cumulative_regressions
from rankwise.pairwise import RankSVM
from tests import reference as oracles

LOSSES = {"absolute": np.abs, "zero-one": np.sign, "squared": np.square}


class Kept(RegressorMixin, BaseEstimator):
    """The first column as the score; keeps what it was fitted with."""

    def fit(self, X, y, qid=None, sample_weight=None):
        self.seen_ = {"X": X, "y": y, "qid": qid, "sample_weight": sample_weight}
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0]


def loss_of(thresholds, scores, ranks, weight, loss):
    distance = np.abs(np.searchsorted(thresholds, scores, side="right") - ranks)
    return (weight * LOSSES[loss](distance)).sum()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_other_thresholds_cost_less(k, loss, ties, weighted):
    g = np.random.default_rng(k)
    for n in [*range(1, 8), 11]:
        for _ in range(4):
            scores = g.integers(0, 4, n).astype(float) if ties else g.normal(size=n)
            ranks = g.integers(0, k, n)
            weight = g.integers(0, 4, n) / 4 if weighted else np.ones(n)
            thresholds = best_thresholds(scores, ranks, weight, k, loss)
            assert thresholds.shape == (k - 1,)
            assert (np.diff(thresholds) >= 0).all()
            assert np.isfinite(thresholds).all()
            least = oracles.least_threshold_loss(scores, ranks + 1, k, loss=loss, weight=weight)
            assert loss_of(thresholds, scores, ranks, weight, loss) == pytest.approx(least)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_other_thresholds_are_expected_to_cost_less(k, loss, ties, weighted):
    g = np.random.default_rng(k)
    for n in [*range(1, 6), 9]:
        scores = g.integers(0, 4, n).astype(float) if ties else g.normal(size=n)
        ranks = np.clip(np.rint(scores + g.normal(size=n)), 0, k - 1).astype(int)
        weight = g.integers(1, 4, n) / 4 if weighted else np.ones(n)
        lines = cumulative_regressions(scores, ranks, weight, k)
        above = np.column_stack([np.ones(n), chances(scores, *lines), np.zeros(n)])
        share = above[:, :-1] - above[:, 1:]

        def expected(said, weight=weight, share=share):
            costs = LOSSES[loss](np.abs(np.arange(k) - said[:, None]))
            return (weight * (share * costs).sum(axis=1)).sum()

        thresholds = best_thresholds(scores, ranks, weight, k, loss, "expected")
        values = np.unique(scores)
        cuts = [*values, values[-1] + 1]
        least = min(
            expected(np.searchsorted(places, scores, side="right"))
            for places in combinations_with_replacement(cuts, k - 1)
        )
        found = expected(np.searchsorted(thresholds, scores, side="right"))
        assert found == pytest.approx(least, abs=1e-12)


def test_the_losses_differ():
    scores, ranks = np.zeros(5), np.array([0, 0, 0, 2, 4])
    for loss, rank in (("zero-one", 0), ("absolute", 0), ("squared", 1)):
        thresholds = best_thresholds(scores, ranks, np.ones(5), 5, loss)
        assert np.searchsorted(thresholds, 0.0, side="right") == rank


def test_neighbouring_floats_and_huge_scores_are_told_apart():
    one = np.array([1.0, np.nextafter(1.0, 2.0)])
    for scores in (one, -one, np.array([-1e308, 1e308]), np.array([0.0, 5e-324])):
        low, high = np.sort(scores)
        thresholds = best_thresholds(np.array([high, low]), np.array([2, 0]), np.ones(2), 3)
        assert_array_equal(np.searchsorted(thresholds, [low, high], side="right"), [0, 2])
        assert np.isfinite(thresholds).all()


def test_without_folds_the_training_scores_are_cut():
    g = np.random.default_rng(0)
    X, y = g.normal(size=(60, 3)), g.integers(1, 5, 60)
    for loss, costs in product(LOSSES, ["observed", "expected"]):
        model = ThresholdRanker(Ridge(), loss=loss, costs=costs, cv=None).fit(X, y)
        if costs == "observed":
            auto = ThresholdRanker(Ridge(), loss=loss, cv=None).fit(X, y)
            np.testing.assert_array_equal(auto.thresholds_, model.thresholds_)
        expected = Ridge().fit(X, y)
        assert_array_equal(model.project(X), expected.predict(X))
        scores = expected.predict(X)
        wanted = best_thresholds(scores, y - 1, np.ones(60), 4, loss, costs)
        assert_array_equal(model.thresholds_, wanted)
        assert_array_equal(model.predict(X), 1 + np.searchsorted(model.thresholds_, scores))


def test_out_of_fold_scores_are_cut():
    g = np.random.default_rng(0)
    X, y = g.normal(size=(60, 3)), g.integers(1, 5, 60)
    folds = list(KFold(4).split(X))
    for cv in (KFold(4), folds):
        model = ThresholdRanker(KNeighborsRegressor(1), costs="observed", cv=cv).fit(X, y)
        scores = np.empty(60)
        whole = KNeighborsRegressor(1).fit(X, y).predict(X)
        for train, test in folds:
            copy = KNeighborsRegressor(1).fit(X[train], y[train])
            # one neighbour: its scores of the rows that it knows are their ranks
            assert_array_equal(copy.predict(X[train]), whole[train])
            scores[test] = copy.predict(X[test])
        assert_array_equal(model.thresholds_, best_thresholds(scores, y - 1, np.ones(60), 4))
        # the nearest row of the training scores is the row itself
        assert (model.predict(X) == y).mean() < 1
    known = ThresholdRanker(KNeighborsRegressor(1), cv=None)
    assert (known.fit(X, y).predict(X) == y).all()
    later = ThresholdRanker(Ridge(), cv=TimeSeriesSplit(3)).fit(X, y)
    assert later.thresholds_.shape == (3,)


def test_scores_of_copies_are_put_on_one_line():
    class Wandering(Ridge):
        """A ranker's score: right up to a shift and a stretch, which the first row decides."""

        def predict(self, X):
            return self.coef_[0] * 1e3 + super().predict(X) / abs(self.intercept_)

    g = np.random.default_rng(0)
    X = g.normal(size=(80, 2))
    y = 1 + np.digitize(X @ [1, 1] + g.normal(0, 0.1, 80), [-1, 0, 1])
    assert ThresholdRanker(Ridge()).fit(X, y).score(X, y) > 0.9
    assert ThresholdRanker(Wandering()).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("size", [1e-300, 1e200, 1e300])
def test_scores_of_any_size_are_put_on_one_line(size):
    """Squares of such scores are no floats, their thresholds are."""

    class Sized(Kept):
        def predict(self, X):
            return size * X[:, 0]

    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    usual, sized = (ThresholdRanker(scorer).fit(X, y) for scorer in (Kept(), Sized()))
    assert_allclose(sized.thresholds_ / size, usual.thresholds_)


def test_folds_have_their_share_of_each_rank_and_whole_queries():
    y = np.repeat([1, 2, 3], [20, 10, 5])
    X, qid = np.arange(35.0)[:, None], np.arange(35) % 7
    model = ThresholdRanker(cv=5)
    for train, test in model._folds(X, y - 1, np.zeros(35, dtype=int), 1):
        assert np.bincount(y[test])[1:].tolist() == [4, 2, 1]
        assert sorted([*train, *test]) == list(range(35))
    for train, test in model._folds(X, y - 1, qid, 7):
        assert not set(qid[train]) & set(qid[test])
    assert len(list(model._folds(X[:3], y[:3] - 1, np.zeros(3, dtype=int), 1))) == 3


def test_queries_and_weights_reach_the_estimator():
    g = np.random.default_rng(0)
    X, y = g.normal(size=(40, 2)), g.integers(1, 4, 40)
    qid, weight = np.repeat([3, 1], 20), g.random(40)
    for scorer in (Kept(), make_pipeline(StandardScaler(), Kept())):
        model = ThresholdRanker(scorer).fit(X, y, qid=qid, sample_weight=weight)
        seen = getattr(model.estimator_, "seen_", None) or model.estimator_[-1].seen_
        assert_array_equal(seen["qid"], qid)
        assert_array_equal(seen["sample_weight"], weight)
        assert_array_equal(seen["y"], y)
    # one that takes no queries has its folds by them all the same
    assert ThresholdRanker(KNeighborsRegressor(2)).fit(X, y, qid=qid).thresholds_.shape == (2,)
    with pytest.raises(ValueError, match="sample_weight can't be given to KNeighborsRegressor"):
        ThresholdRanker(KNeighborsRegressor()).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("costs", ["expected", "observed"])
def test_a_row_of_weight_two_is_there_twice(costs):
    # without an estimator it is not: leave-one-out leaves out both
    check_sample_weight_equivalence_on_dense_data("ThresholdRanker", ThresholdRanker(Ridge()))
    g = np.random.default_rng(0)
    scores, ranks, weight = g.normal(size=40), g.integers(0, 4, 40), g.integers(1, 4, 40)
    one = best_thresholds(scores, ranks, weight / 4, 4, costs=costs)
    rows = np.repeat(np.arange(40), weight)
    other = best_thresholds(scores[rows], ranks[rows], np.ones(len(rows)), 4, costs=costs)
    np.testing.assert_allclose(one, other)


def test_a_heavy_row_decides():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([1, 2, 2])
    model = ThresholdRanker(Kept(), cv=None)
    assert model.fit(X, y, sample_weight=[5, 1, 1]).predict([[0.0]]) == 1
    assert model.fit(X, y, sample_weight=[1, 5, 1]).predict([[0.0]]) == 2


@pytest.mark.parametrize(
    "scorer", [RankSVM(), MPRank(kernel="rbf"), RankBoost(20), DecisionTreeRegressor(max_depth=5)]
)
def test_rankers_and_regressors_become_ordinal_models(scorer):
    g = np.random.default_rng(0)
    X = g.normal(size=(150, 3))
    names = np.array(["poor", "fair", "good"])
    y = names[np.digitize(X @ [1, -1, 0], [-1, 1])]
    model = ThresholdRanker(scorer, label_order=names).fit(X[:100], y[:100])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(X[100:], y[100:]) > 0.7
    decision = model.decision_function(X)
    assert_array_equal(names[decision.argmax(axis=1)], model.predict(X))


def test_frames_reach_a_pipeline_as_they_are():
    g = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": g.choice(["red", "blue"], 60), "size": g.normal(size=60)})
    y = 1 + (frame["colour"] == "red") + (frame["size"] > 0)
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = ThresholdRanker(make_pipeline(columns, Ridge())).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    assert model.score(frame, y) > 0.8


def test_missing_values_are_those_of_the_estimator():
    X = np.array([[np.nan], [0.0], [1.0], [2.0]] * 10)
    y = [2, 1, 2, 3] * 10
    model = ThresholdRanker(DecisionTreeRegressor()).fit(X, y)
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert model.predict([[np.nan]]) == 2
    with pytest.raises(ValueError, match="NaN"):
        ThresholdRanker().fit(X, y)


def test_precomputed_kernels_are_cut_in_both_directions():
    g = np.random.default_rng(0)
    X, y = g.normal(size=(30, 2)), g.integers(1, 4, 30)
    given = ThresholdRanker(MPRank(kernel="precomputed")).fit(X @ X.T, y)
    own = ThresholdRanker(MPRank()).fit(X, y)
    np.testing.assert_allclose(given.thresholds_, own.thresholds_, rtol=1e-6)


def test_a_search_gives_queries_on():
    g = np.random.default_rng(0)
    X, y, qid = g.normal(size=(60, 2)), g.integers(1, 4, 60), np.arange(60) % 6
    with config_context(enable_metadata_routing=True):
        model = ThresholdRanker(RankSVM()).set_fit_request(qid=True)
        cv = GroupKFold(3).set_split_request(groups="qid")
        search = GridSearchCV(model, {"estimator__C": [0.1, 1.0]}, cv=cv)
        search.fit(X, y, qid=qid)
    assert search.best_estimator_.estimator_.n_queries_ == 6


class TestRefused:
    X, y = np.arange(8.0)[:, None], [1, 2, 3, 1, 2, 3, 1, 2]

    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ({"loss": "hinge"}, "loss"),
            ({"costs": "guessed"}, "costs"),
            ({"cv": 1}, "cv"),
            ({"estimator": "Ridge"}, "estimator"),
            ({"estimator": LogisticRegression()}, "LogisticRegression.* is a classifier.*ranker"),
            ({"estimator": PRank()}, "PRank.* is a classifier"),
        ],
    )
    def test_parameters(self, params, words):
        with pytest.raises(ValueError, match=words):
            ThresholdRanker(**params).fit(self.X, self.y)

    def test_folds_that_leave_nothing_to_learn(self):
        with pytest.raises(ValueError, match=r"without a fold of 4 rows: .*cv=None"):
            ThresholdRanker(RankSVM(), cv=[([0, 3], [1, 2, 4, 5])]).fit(self.X, self.y)

    def test_weights_that_leave_nothing_to_cut(self):
        with pytest.raises(ValueError, match=r"zero for every row that cv=.* holds back"):
            ThresholdRanker(Ridge(), cv=[([0, 1, 2, 3], [6, 7])]).fit(
                self.X, self.y, sample_weight=[1] * 6 + [0, 0]
            )

    def test_scores_that_are_none(self):
        class Two(Kept):
            def predict(self, X):
                return np.column_stack([X, X])

        class Endless(Kept):
            def predict(self, X):
                return np.full(len(X), np.inf)

        with pytest.raises(ValueError, match=r"shape \(8, 2\), expected a score"):
            ThresholdRanker(Two()).fit(self.X, self.y)
        with pytest.raises(ValueError, match="larger than a float can hold"):
            ThresholdRanker(Endless()).fit(self.X, self.y)


@pytest.mark.parametrize("cv", [5, None, "splitter", "pairs"])
@pytest.mark.parametrize("queries", [False, True])
@pytest.mark.parametrize("estimator", [None, Ridge()], ids=str)
def test_rows_of_weight_zero_are_as_if_absent(cv, queries, estimator):
    g = np.random.default_rng(0)
    X, y = g.normal(size=(40, 2)), np.repeat([1, 2, 3, 9], 10)
    weight = np.where(np.arange(40) % 3 == 0, 0.0, g.random(40) + 0.5)
    # a label that only rows of weight 0 have, and queries without any weight
    weight[30:] = 0
    qid = g.integers(0, 6, size=40) if queries else None
    if queries:
        weight[qid == 2] = 0
    X[weight == 0] = np.nan
    kept = np.flatnonzero(weight)
    pairs = [(np.arange(0, 40, 2), np.arange(1, 40, 2)), (np.arange(10), np.arange(30, 40))]
    splitter = GroupKFold(3) if queries else KFold(3)
    mapped = [(np.searchsorted(kept, np.intersect1d(kept, a)), np.searchsorted(kept, np.intersect1d(
        kept, b))) for a, b in pairs[:1]]  # fmt: skip
    model, other = (
        ThresholdRanker(estimator, cv={"pairs": folds, "splitter": splitter}.get(cv, cv))
        for folds in (pairs, mapped)
    )
    model.fit(X, y, qid=qid, sample_weight=weight)
    other.fit(X[kept], y[kept], qid=None if qid is None else qid[kept], sample_weight=weight[kept])
    assert_array_equal(model.thresholds_, other.thresholds_)
    assert_array_equal(model.classes_, [1, 2, 3])
    assert_array_equal(model.project(X[kept]), other.project(X[kept]))


def test_folds_without_weight():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    first, last = np.arange(4), np.arange(4, 8)
    weight = (np.arange(8) < 4) * 1.0
    with pytest.raises(ValueError, match=r"every row that cv=.* holds back"):
        ThresholdRanker(Ridge(), cv=[(first, last)]).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="can't learn without a fold of 4 rows"):
        ThresholdRanker(Ridge(), cv=[(last, first)]).fit(X, y, sample_weight=weight)


class TestLinearAlgebra:
    """What a linear estimator can't solve is said in words of ours, never in SciPy's."""

    rows = np.random.default_rng(0).normal(size=(30, 1))
    ranks = np.arange(30) % 3

    def test_dependent_features_warn(self):
        model = ThresholdRanker(Ridge(alpha=1e-30))
        with pytest.warns(UserWarning, match="Ridge learns from features that are") as found:
            model.fit(np.hstack([self.rows, 1e-300 * self.rows[::-1]]), self.ranks)
        assert not any("ill-conditioned" in str(warning.message) for warning in found)
        assert np.isfinite(model.thresholds_).all()

    def test_huge_features_raise(self):
        with pytest.raises(ValueError, match="the scores of Ridge are larger than a float"):
            ThresholdRanker(Ridge()).fit(1e160 * self.rows, self.ranks)

    def test_unsolvable_problems_raise(self):
        class Unsolvable(Kept):
            def fit(self, *_, **__):
                raise np.linalg.LinAlgError("Singular matrix")

        with pytest.raises(ValueError, match="Unsolvable can't learn from features"):
            ThresholdRanker(Unsolvable()).fit(self.rows, self.ranks)


def log_loss_and_rps(y, shares):
    """Return the mean logarithmic loss and the ranked probability score of shares of grades "
    "from 0."""
    truth = y[:, None] <= np.arange(shares.shape[1])
    rps = ((np.cumsum(shares, axis=1) - truth) ** 2).sum(axis=1).mean()
    return -np.log(shares[np.arange(len(y)), y]).mean(), rps


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
@pytest.mark.parametrize("smooth", [False, True])
def test_probabilities_are_as_good_as_those_of_logistic_at(smooth):
    """At most 5 % behind mord where its model is the truth, and ahead where it is not."""
    from mord import LogisticAT

    g = np.random.default_rng(0)
    X = g.normal(size=(1500, 4))
    line = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) if smooth else X @ [1.0, -1.0, 0.5, 0.0]
    y = np.digitize(line + g.logistic(size=1500) / 2, [-1.0, 0.0, 1.0])
    train, test = slice(0, 600), slice(600, None)
    model = ThresholdRanker(None if smooth else Ridge()).fit(X[train], y[train])
    shares = model.predict_proba(X[test])
    assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0).all()
    mine = log_loss_and_rps(y[test], shares)
    peer = log_loss_and_rps(y[test], LogisticAT().fit(X[train], y[train]).predict_proba(X[test]))
    assert (np.array(mine) <= np.array(peer) * (0.9 if smooth else 1.05)).all()
    for above in range(1, 4):  # calibrated: of each fifth of the rows the mean is right
        chance = shares[:, above:].sum(axis=1)
        for part in np.array_split(np.argsort(chance), 5):
            assert abs(chance[part].mean() - (y[test][part] >= above).mean()) < 0.12


def test_probabilities_of_two_labels_rise_with_the_score_and_of_rare_ones_are_valid():
    g = np.random.default_rng(1)
    X = g.normal(size=(120, 2))
    two = ThresholdRanker(Ridge()).fit(X, X[:, 0] + g.normal(size=120) > 1)
    shares = two.predict_proba(X)
    assert (np.diff(shares[np.argsort(two.project(X)), 1]) >= 0).all()
    rare = np.where(np.arange(120) == 3, 5, g.integers(1, 4, 120))
    shares = ThresholdRanker(Ridge(), label_order=[1, 2, 3, 4, 5]).fit(X, rare).predict_proba(X)
    assert shares.shape == (120, 5)
    assert (shares >= 0).all()
    assert_allclose(shares.sum(axis=1), 1.0)

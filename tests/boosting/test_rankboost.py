"""RankBoost against the algorithm on the pairs themselves, and the lecture's facts about it."""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rankwise.boosting import RankBoost, stumps
from rankwise.metrics import exponential_pair_loss, pairwise_misranking_loss
from tests.reference import adaboost, pair_weights, rankboost

M = 40


def assert_same_rounds(model, X, weights, *, tie=1e-10, criterion="loss"):
    """Assert that a model is the literal one round by round, ties apart."""
    x, cuts = X[:, model.features_].T, model.cutpoints_[:, None]
    hs = list(np.where(np.isnan(x), model.missing_above_[:, None], x > cuts))
    rounds = rankboost(X, weights, len(hs), criterion=criterion, ties=hs, tol=tie)
    for t, expected in enumerate(rounds):
        # Missing values apart from others may be told by either side.
        same = np.array_equal(hs[t], expected.h)
        assert same or np.array_equal(hs[t], ~expected.h)
        alpha = expected.alpha if same else -expected.alpha
        assert_allclose(model.alphas_[t], alpha, rtol=1e-7, atol=1e-9)
        assert_allclose(model.train_loss_[t], expected.loss, rtol=1e-9)
    assert len(hs) == 8


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("criterion", ["loss", "edge"])
@pytest.mark.parametrize(
    ("levels", "missing", "queries", "weighted"),
    list(product([2, 4, None], [False, True], [False, True], [False, True])),
)
def test_rounds_of_the_literal_algorithm(
    levels, missing, queries, weighted, criterion, max_bins, graded_rows
):
    X, y, qid, weight = graded_rows(levels, missing=missing)
    qid, weight = qid if queries else None, weight if weighted else None
    for pair_weight in ("uniform", "magnitude"):
        model = RankBoost(8, criterion=criterion, max_bins=max_bins, pair_weight=pair_weight).fit(
            X, y, qid=qid, sample_weight=weight
        )
        weights = pair_weights(
            y, one_sided=True, qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_same_rounds(model, X, weights, criterion=criterion)
        assert model.n_pairs_ == np.count_nonzero(weights)
        loss = exponential_pair_loss(
            y, model.predict(X), qid=qid, sample_weight=weight, pair_weight=pair_weight
        )
        assert_allclose(model.train_loss_[-1], loss, rtol=1e-9)


@pytest.mark.parametrize("levels", [2, 5, None])
@pytest.mark.parametrize("pair_weight", ["uniform", "magnitude"])
@pytest.mark.parametrize("kept", [0, np.inf])
def test_every_way_to_sum_is_the_literal_one(levels, pair_weight, kept, monkeypatch, graded_rows):
    # Histograms that are kept, and one that serves all groups in turn.
    monkeypatch.setattr(stumps, "KEPT", kept)
    X, y, qid, weight = graded_rows(levels, seed=1, missing=True)
    weights = pair_weights(
        y, one_sided=True, qid=qid, sample_weight=weight, pair_weight=pair_weight
    )
    for rows in (X, sparse.csr_array(np.where(X == 1, 0, X))):
        model = RankBoost(8, criterion="loss", pair_weight=pair_weight)
        model.fit(rows, y, qid=qid, sample_weight=weight)
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        assert_same_rounds(model, dense, weights)


@pytest.mark.parametrize("criterion", ["loss", "edge"])
def test_given_pairs_are_the_literal_ones(criterion, graded_rows):
    X, _, _, _ = graded_rows(2, missing=True)
    random = np.random.default_rng(3)
    pairs = np.vstack([random.integers(0, M, size=(200, 2)), [[0, 1], [1, 2], [2, 0], [5, 5]]])
    weight = random.uniform(size=len(pairs)) * (random.uniform(size=len(pairs)) > 0.1)
    model = RankBoost(8, criterion=criterion).fit_pairs(X, pairs, pair_weight=weight)
    D = np.zeros((M, M))
    np.add.at(D, tuple(pairs.T), weight)
    np.fill_diagonal(D, 0)
    kept = (weight > 0) & (pairs[:, 0] != pairs[:, 1])
    assert (model.n_pairs_, model.n_dropped_pairs_) == (kept.sum(), (~kept).sum())
    limit = rankboost(X, D, len(model.alphas_), criterion=criterion, n_pairs=model.n_pairs_)
    for loss, expected in zip(model.train_loss_, limit, strict=True):
        assert_allclose(loss, expected.loss, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["loss", "edge"])
def test_all_pairs_given_are_those_of_fit(criterion, graded_rows):
    X, y, qid, _ = graded_rows(4)
    pairs = np.argwhere(pair_weights(y, one_sided=True, qid=qid))
    expected = RankBoost(20, criterion=criterion).fit(X, y, qid=qid)
    model = RankBoost(20, criterion=criterion).fit_pairs(X, pairs)
    assert_allclose(model.train_loss_, expected.train_loss_)
    assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)


def test_cyclic_pairs_are_a_compromise():
    X = np.array([[0.0], [1.0], [2.0]])
    model = RankBoost().fit_pairs(X, [[0, 1], [1, 2], [2, 0]], pair_weight=[1.0, 1.0, 0.5])
    assert_array_equal(model.rank(X), [3, 2, 1])
    assert 0 < model.train_loss_[-1] < 1


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("levels", [2, 3, None])
def test_csr_is_dense(levels, max_bins, graded_rows):
    X, y, qid, _ = graded_rows(levels, m=150, missing=True)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.6] = 0
    for criterion in ("loss", "edge"):
        model = RankBoost(20, criterion=criterion, max_bins=max_bins)
        expected = model.fit(X, y, qid=qid).predict(X)
        for rows in (sparse.csr_array(X), sparse.csc_matrix(X)):
            assert_allclose(model.fit(rows, y, qid=qid).predict(rows), expected, atol=1e-9)
            assert_allclose(list(model.staged_predict(rows))[-1], expected, atol=1e-9)


def test_wide_sparse_rows_stay_sparse():
    import tracemalloc

    X = sparse.csr_array(sparse.random(5_000, 10_000, density=1e-3, random_state=0))
    y = (np.asarray(X[:, :2000].sum(axis=1)).ravel() > 0).astype(int)
    tracemalloc.start()
    model = RankBoost(3).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(model.alphas_) == 3
    assert peak < 5_000 * 10_000 / 4


@pytest.mark.parametrize("levels", [2, pytest.param(3, marks=pytest.mark.slow), None])
def test_ten_thousand_rounds_of_separable_data_stay_finite(levels, graded_rows):
    X, y, _, _ = graded_rows(levels, m=30)
    X[:, 2] = y
    model = RankBoost(10_000).fit(X, y)
    P = pair_weights(y, one_sided=True).sum()
    assert np.isfinite(model.alphas_).all()
    assert np.abs(model.alphas_).max() <= np.log(2 * P) / 2 + 1e-12
    assert np.isfinite(model.train_loss_).all()
    assert (np.diff(model.train_loss_) <= 0).all()
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) == 1.0


def test_boosting_ends_when_nothing_is_gained():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    model = RankBoost().fit(X, y)
    assert len(model.alphas_) == len(model.train_loss_) == 0
    assert_array_equal(model.predict(X), np.zeros(4))
    assert_array_equal(model.feature_importances_, [0.0])
    assert len(RankBoost().fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 1, 1]).alphas_) < 100


def test_a_missing_value_is_what_matters():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = random.integers(0, 2, size=200)
    X[y == 1, 1] = np.nan
    model = RankBoost(1).fit(X, y)
    assert model.features_[0] == 1
    assert model.cutpoints_[0] == -np.inf
    assert model.score(X, y) == 1.0
    # None was missing in feature 0: the larger part decides.
    model = RankBoost(1).fit(X[:, :1], X[:, 0] > 1.5)
    assert model.predict([[np.nan]]) == model.predict([[0.0]])


def test_bins_come_close_to_every_cut():
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 6))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + random.normal(0, 0.5, 30_000) > 1).astype(int)
    binned, exact = (
        RankBoost(30, max_bins=b, random_state=0).fit(X[:25_000], y[:25_000]) for b in (255, None)
    )
    assert_allclose(binned.train_loss_, exact.train_loss_, rtol=3e-2)
    scores = [m.score(X[25_000:], y[25_000:]) for m in (binned, exact)]
    assert_allclose(*scores, atol=3e-3)


def test_early_stopping():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    y = (X[:, 0] + random.normal(0, 2, 400) > 0).astype(int)
    qid = random.integers(0, 40, size=400)
    pairs = np.argwhere(pair_weights(y, one_sided=True))[::50]
    fits = [
        lambda model: model.fit(X, y),
        lambda model: model.fit(X, y, qid=qid),
        lambda model: model.fit_pairs(X, pairs),
    ]
    for fit in fits:
        model = fit(RankBoost(500, n_iter_no_change=5, validation_fraction=0.25, random_state=0))
        n = len(model.alphas_)
        assert 1 <= n < 200
        assert len(model.validation_loss_) == n + 5
        assert np.argmin(model.validation_loss_) == n - 1
        assert not hasattr(RankBoost(2).fit(X, y), "validation_loss_")
    with pytest.raises(ValueError, match=r"validation_fraction=0.1 leaves a part"):
        RankBoost(n_iter_no_change=5).fit(X[:4], [0, 0, 0, 1])
    with pytest.raises(ValueError, match="no pair to learn from"):
        RankBoost(n_iter_no_change=5).fit_pairs(X, [[0, 1]])


def test_what_is_learned_can_be_taken_apart(graded_rows):
    X, y, _, _ = graded_rows(4, m=200, missing=True)
    model = RankBoost(30).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 30
    for scores, loss in zip(stages, model.train_loss_, strict=True):
        assert_allclose(exponential_pair_loss(y, scores), loss, rtol=1e-9)
    assert_allclose(stages[-1], model.predict(X), atol=1e-12)
    parts = [model.feature_score(f)(X[:, f]) for f in range(4)]
    assert_allclose(np.sum(parts, axis=0), model.predict(X), atol=1e-12)
    assert len(model.feature_score(3).cuts) == 0
    falls = -np.diff(np.log(model.train_loss_), prepend=0)
    assert_allclose(model.feature_importances_[0], falls[model.features_ == 0].sum() / falls.sum())
    assert_allclose(model.feature_importances_.sum(), 1)


def test_pair_weights_are_normalised_and_targets_may_be_shifted(graded_rows):
    X, y, _, weight = graded_rows(None)
    for pair_weight in ("uniform", "magnitude"):
        model, scaled = (
            RankBoost(20, pair_weight=pair_weight).fit(X, c * y, sample_weight=c * weight)
            for c in (1, 1e-3)
        )
        assert_allclose(scaled.train_loss_, model.train_loss_, rtol=1e-9)


def test_the_product_of_the_normalisers_is_the_training_loss(graded_rows):
    X, y, qid, weight = graded_rows(3, m=80)
    model = RankBoost(30).fit(X, y, qid=qid, sample_weight=weight)
    D = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)
    product_of_z = 1.0
    for t, alpha in enumerate(model.alphas_):
        h = (X[:, model.features_[t]] > model.cutpoints_[t]).astype(float)
        moved = D * np.exp(-alpha * (h[None, :] - h[:, None]))
        product_of_z *= moved.sum() / D.sum()
        D = moved
        assert_allclose(product_of_z, model.train_loss_[t], rtol=1e-9)
    loss = exponential_pair_loss(y, model.predict(X), qid=qid, sample_weight=weight)
    assert_allclose(product_of_z, loss, rtol=1e-9)
    assert loss >= pairwise_misranking_loss(y, model.predict(X), qid=qid, sample_weight=weight)


def test_the_distribution_over_pairs_of_two_classes_factorises(graded_rows):
    X, y, _, _ = graded_rows(2)
    model = RankBoost(10).fit(X, y)
    worse, better = y == 0, y > 0
    D = np.full((worse.sum(), better.sum()), 1 / (worse.sum() * better.sum()))
    for t, alpha in enumerate(model.alphas_):
        h = (X[:, model.features_[t]] > model.cutpoints_[t]).astype(float)
        D = D * np.exp(-alpha * (h[better][None, :] - h[worse][:, None]))
        D = D / D.sum()
    assert_allclose(D, np.outer(D.sum(axis=1), D.sum(axis=0)), rtol=1e-10)
    s = model.predict(X)
    assert_allclose(D.sum(axis=1), np.exp(s[worse]) / np.exp(s[worse]).sum(), rtol=1e-9)
    assert_allclose(D.sum(axis=0), np.exp(-s[better]) / np.exp(-s[better]).sum(), rtol=1e-9)


def test_adaboost_with_a_constant_reaches_the_same_objective():
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(300, 3)).astype(float)
    y = (X.sum(axis=1) + random.normal(0, 2, 300) > 6).astype(int)
    best = RankBoost(2_000).fit(X, y).train_loss_[-1]
    scores = adaboost(X, y, 2_000)
    up, down = np.exp(-scores[y == 1]).sum(), np.exp(scores[y == 0]).sum()
    assert_allclose(up, down, rtol=1e-6)
    assert_allclose(exponential_pair_loss(y, scores), best, rtol=1e-6)
    early = exponential_pair_loss(y, adaboost(X, y, 3))
    assert early > best * (1 + 1e-3)
    alone = adaboost(X, y, 2_000, constant=False)
    assert abs(np.exp(-alone[y == 1]).sum() / np.exp(alone[y == 0]).sum() - 1) > 1e-2


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"max_bins": 256}, {}, "max_bins"),
        ({"max_bins": 1}, {}, "max_bins"),
        ({"criterion": "auc"}, {}, "criterion"),
        ({"pair_weight": "log"}, {}, "pair_weight"),
        ({"n_estimators": 0}, {}, "n_estimators"),
        ({"validation_fraction": 1.0}, {}, "validation_fraction"),
        ({}, {"y": np.zeros(M)}, "no comparable pair"),
        ({}, {"qid": np.arange(M)}, "no comparable pair"),
        ({}, {"sample_weight": -np.ones(M)}, r"sample_weight\[0\] is -1.0"),
        ({}, {"X": np.full((M, 4), np.inf)}, "infinity"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message, graded_rows):
    X, y, _, _ = graded_rows(4)
    with pytest.raises(ValueError, match=message):
        RankBoost(**parameters).fit(**{"X": X, "y": y, **arguments})


@pytest.mark.parametrize(
    ("pairs", "weight", "message"),
    [
        ([0, 1], None, "shape"),
        ([[0.5, 1.0]], None, "integers"),
        ([[0, M]], None, r"pairs\[0\]"),
        ([[0, -1]], None, r"pairs\[0\]"),
        ([[0, 1]], [1.0, 2.0], "pair_weight has the shape"),
        ([[0, 1]], [-1.0], r"pair_weight\[0\] is -1.0"),
        ([[0, 1]], [np.nan], r"pair_weight\[0\] is nan"),
        ([[0, 1], [2, 2]], [0.0, 1.0], "nothing to learn from"),
    ],
)
def test_bad_pairs_are_named(pairs, weight, message, graded_rows):
    with pytest.raises(ValueError, match=message):
        RankBoost().fit_pairs(graded_rows(2)[0], pairs, pair_weight=weight)


def test_unfitted_and_unknown(graded_rows):
    with pytest.raises(NotFittedError):
        RankBoost().predict([[1.0]])
    X, y, _, _ = graded_rows(2)
    for feature in (4, -1, np.ones(3), 0.5):
        with pytest.raises(ValueError, match="feature="):
            RankBoost(2).fit(X, y).feature_score(feature)


UNCOMPILED = """
import numpy as np
from scipy import sparse
from rankwise.boosting import RankBoost

random = np.random.default_rng(0)
X = random.normal(size=(30, 3))
X[X > 1.5] = np.nan
y = random.integers(0, 3, size=30)
pairs = random.integers(0, 30, size=(40, 2))
for rows in (X, sparse.csr_array(X)):
    for criterion in ("loss", "edge"):
        for target in (y, y + random.normal(size=30)):
            model = RankBoost(4, criterion=criterion, max_bins=8).fit(rows, target)
            print(*model.predict(rows).round(9))
        print(*RankBoost(4, criterion=criterion).fit_pairs(rows, pairs).predict(rows).round(9))
    for options in ({"loss": "magnitude"}, {"pair_weight": "ndcg"}):
        model = RankBoost(3, max_leaf_nodes=3, min_samples_leaf=2, **options).fit(rows, y)
        print(*model.predict(rows).round(9))
"""


def test_it_runs_without_compilation():
    printed = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", UNCOMPILED],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        ).stdout.split()
        for off in ("0", "1")
    ]
    assert len(printed[0]) == 16 * 30
    assert_allclose(np.array(printed[1], dtype=float), np.array(printed[0], dtype=float), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"criterion": "edge"}, {"max_leaf_nodes": 3}])
def test_weights_that_no_float_holds_beside_the_largest(options):
    X, y, weight = [[0.0], [1.0], [2.0]], [0, 1, 2], [1e60, 1e60, 1e-270]
    model = RankBoost(5, min_samples_leaf=1, **options).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.train_loss_).all()
    pairs = [[0, 1], [1, 2], [2, 0]]
    expected = RankBoost(5, min_samples_leaf=1, **options).fit_pairs(X, pairs[:1])
    given = RankBoost(5, min_samples_leaf=1, **options)
    given.fit_pairs(X, pairs, pair_weight=[1e169, 1e-286, 0.0])
    assert_array_equal(given.predict(X), expected.predict(X))
    assert (given.n_pairs_, given.n_dropped_pairs_) == (1, 2)

"""The score of ThresholdRanker() and what thresholds make of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from rankwise.metrics import mean_rank_loss
from rankwise.ordinal import ThresholdRanker, _landmarks
from rankwise.ordinal._landmarks import CS, LandmarkRidge, fit_landmarks
from rankwise.ordinal._threshold import best_thresholds


def sample(n=350, d=3, seed=0):
    g = np.random.default_rng(seed)
    X = g.normal(size=(n, d))
    y = 1 + np.digitize(X[:, 0] ** 2 + X[:, 1] + g.normal(0, 0.3, n), [-1, 0, 1, 3])
    return X, y


def test_columns_are_made_alike():
    g = np.random.default_rng(0)
    X = np.column_stack([np.exp(2 * g.normal(size=99)), g.normal(size=99), g.random(99) < 0.1])
    model = LandmarkRidge().fit(X, g.normal(size=99))
    for column, (median, scale, mean, sd) in zip(X.T, model.columns_.T, strict=True):
        low, high = np.quantile(column, [0.25, 0.75])
        assert median == np.median(column)
        assert_allclose(scale, (high - low) / 1.349 if high > low else column.std())
        changed = np.arcsinh((column - median) / scale)
        assert_allclose([mean, sd], [changed.mean(), changed.std()])
    assert_allclose(model.landmarks_.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(model.landmarks_.std(axis=0), 1.0)


def test_leave_one_out_scores_are_cut():
    X, y = sample()
    for loss in ("absolute", "zero-one", "squared"):
        model = ThresholdRanker(loss=loss).fit(X, y)
        score = LandmarkRidge()
        left_out = score.fit_left_out(X, y.astype(float))
        assert_array_equal(model.project(X), score.predict(X))
        wanted = best_thresholds(left_out, y - 1, np.ones(len(y)), 5, loss, "expected")
        assert_array_equal(model.thresholds_, wanted)
        assert np.abs(left_out - y).mean() > np.abs(score.predict(X) - y).mean()
    assert score.landmarks_.shape == (300, 3)
    assert CS[score.errors_.argmin()] == score.C_


def test_left_out_scores_are_those_of_the_solver():
    X, y = sample(60)
    for weight in (np.ones(60), np.random.default_rng(0).random(60)):
        score = LandmarkRidge()
        left_out = score.fit_left_out(X, y, weight)
        Z = score.landmarks_
        found = fit_landmarks(lambda Z=Z: iter([(slice(None), Z)]), Z, y * 1.0, weight, CS)
        assert_allclose(left_out, found[-1], rtol=1e-6)


@pytest.mark.parametrize("n", [100, 400])
def test_units_and_containers_of_columns_do_not_matter(n):
    X, y = sample(n)
    X[X < -1] = 0
    expected = ThresholdRanker().fit(X, y)
    other = X * [1e-3, 7, 1e5] + [5, 0, -1e4]
    moved = ThresholdRanker().fit(other, y)
    assert_allclose(moved.project(other), expected.project(X), rtol=1e-6)
    sparse = ThresholdRanker().fit(csr_array(X), y)
    assert_allclose(sparse.project(csr_array(X)), expected.project(X), rtol=1e-8)


def test_blocks_of_rows_and_columns_do_not_matter(monkeypatch):
    X, y = sample()
    expected = ThresholdRanker().fit(X, y)
    monkeypatch.setattr(_landmarks, "_BLOCK", 1000)
    model = ThresholdRanker().fit(X, y)
    assert_allclose(model.project(X), expected.project(X), rtol=1e-6)


def test_rows_without_weight_are_not_there():
    X, y = sample()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = ThresholdRanker().fit(X, y, sample_weight=weight)
    kept = weight > 0
    other = ThresholdRanker().fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_array_equal(model.thresholds_, other.thresholds_)
    assert_array_equal(model.project(X), other.project(X))


def test_queries_and_splitters_are_held_back_whole():
    X, y = sample(120)
    qid = np.arange(120) % 6
    by_query = ThresholdRanker().fit(X, y, qid=qid)
    alone = ThresholdRanker().fit(X, y)
    assert_array_equal(by_query.project(X), alone.project(X))
    assert (by_query.thresholds_ != alone.thresholds_).any()
    seen = ThresholdRanker(cv=None).fit(X, y)
    scores = seen.project(X)
    assert_array_equal(seen.thresholds_, best_thresholds(scores, y - 1, np.ones(120), 5))


def test_it_learns_what_bends_and_says_the_median_of_noise():
    X, y = sample(1000)
    model = ThresholdRanker().fit(X[:500], y[:500])
    assert mean_rank_loss(y[500:], model.predict(X[500:])) < 0.25
    noise = np.random.default_rng(3).integers(1, 4, 1000)
    model = clone(model).fit(X[:500], noise[:500])
    lost = mean_rank_loss(noise[500:], model.predict(X[500:]))
    assert lost < 1.05 * mean_rank_loss(noise[500:], np.full(500, 2))


def test_files_whose_parts_do_not_belong_together_are_refused():
    X, y = sample(50)
    for change in (
        {"landmarks_": np.ones((50, 2))},
        {"columns_": np.ones((3, 3))},
        {"dual_coef_": np.ones(49)},
    ):
        model = LandmarkRidge().fit(X, y)
        vars(model).update(change)
        with pytest.raises(ValueError, match="must"):
            model._check_loaded()

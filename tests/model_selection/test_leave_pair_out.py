"""The shortcut against refitting without every pair, over all its options."""

import numpy as np
import pytest
from hypothesis import given, settings
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.engine.kernels import Kernel
from rankwise.magnitude import MPRank, MPRankCV
from rankwise.model_selection import leave_pair_out
from rankwise.model_selection._leave_pair_out import _draw_pairs
from rankwise.testing import oracles
from rankwise.testing.strategies import rated

M = 16
# Two rows are a query of their own, and one is alone.
QID = np.array([3, 3, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 0, 4, 0, 2])
WEIGHT = np.random.default_rng(6).uniform(0.2, 3, size=M)


def rows(d, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(M, d)) + 1
    X[9] = X[10]
    return X, X[:, 0] + random.normal(size=M) + 50


def features(K):
    eigenvalues, U = np.linalg.eigh(K)
    return U * np.sqrt(np.maximum(eigenvalues, 0))


def literal_errors(differences, y, weight):
    """Mean square and misranking over the pairs i != j whose difference is known."""
    squares = wrong = total = comparable = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if i == j or np.isnan(differences[i, j]):
                continue
            both = weight[i] * weight[j]
            squares += both * (differences[i, j] - (y[j] - y[i])) ** 2
            total += both
            if y[i] > y[j]:
                comparable += both
                wrong += both * (differences[i, j] >= -1e-12)
    return squares / total, wrong / comparable


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("d", "kernel"), [(2, "linear"), (9, "linear"), (3, "rbf"), (3, "poly")])
def test_equal_to_refitting_every_pair(d, kernel, container, qid, weight, C):
    X, y = rows(d)
    phi = X if kernel == "linear" else features(Kernel(kernel).gram(X))
    expected = oracles.leave_pair_out(phi, y, C, qid=qid, weight=weight)
    result = leave_pair_out(
        MPRank(C, kernel=kernel), container(X), y, qid=qid, sample_weight=weight
    )
    assert result.exact
    assert_allclose(result.differences, expected, rtol=1e-8, atol=1e-8)
    msd, misranking = literal_errors(expected, y, np.ones(M) if weight is None else weight)
    assert_allclose([result.msd, result.misranking], [msd, misranking], rtol=1e-8)
    assert result.differences[9, 10] == (0.0 if qid is None or QID[9] == QID[10] else np.nan)


@pytest.mark.parametrize("qid", [None, QID])
def test_close_fits_keep_their_digits(qid):
    X, y = rows(3)
    X[9] += 1
    K = Kernel("rbf", 2.0).gram(X)
    expected = oracles.leave_pair_out(features(K), y, 1e11, qid=qid)
    result = leave_pair_out(MPRank(1e11, kernel="precomputed"), K, y, qid=qid)
    assert_allclose(result.differences, expected, rtol=1e-7, atol=1e-9)
    path = MPRankCV([1e11], kernel="precomputed").fit(K, y, qid=qid)
    assert_allclose(path.lpo_errors_[0, 0], result.msd, rtol=1e-6)


def test_a_feature_of_one_pair_alone():
    X, y = rows(2)
    X[:, 1] = 0
    X[0, 1] = 1
    for weight in (WEIGHT, WEIGHT[::-1], WEIGHT**2):
        expected = oracles.leave_pair_out(X, y, 1e8, qid=QID, weight=weight)
        result = leave_pair_out(MPRank(1e8), X, y, qid=QID, sample_weight=weight)
        assert_allclose(result.differences[0, 1], expected[0, 1], rtol=1e-4)


@settings(max_examples=30)
@given(rated(max_rows=9))
def test_equal_on_hostile_samples(data):
    X, y, qid, weight = data
    if np.bincount(qid).max() < 2:
        return
    expected = oracles.leave_pair_out(X, y, 4.0, qid=qid, weight=weight)
    for model, given_rows in ((MPRank(4.0), X), (MPRank(4.0, kernel="precomputed"), X @ X.T)):
        result = leave_pair_out(model, given_rows, y, qid=qid, sample_weight=weight)
        assert_allclose(result.differences, expected, rtol=1e-8, atol=1e-8)


def test_two_rows_alone_say_nothing_of_each_other():
    result = leave_pair_out(MPRank(), [[1.0], [2.0]], [3.0, 5.0])
    assert_array_equal(result.differences, 0)
    assert (result.msd, result.misranking, result.n_pairs) == (4.0, 1.0, 1)


def test_a_row_without_weight_is_not_there():
    X, y = rows(3)
    weight = np.ones(M)
    weight[[2, 5]] = 0
    kept = weight > 0
    result = leave_pair_out(MPRank(kernel="rbf"), X, y, sample_weight=weight)
    fewer = leave_pair_out(MPRank(kernel="rbf"), X[kept], y[kept])
    assert_allclose(result.msd, fewer.msd)
    assert_allclose(result.differences[np.ix_(kept, kept)], fewer.differences)
    assert np.isnan(result.differences[2]).all()


def test_the_estimator_is_left_alone():
    X, y = rows(3)
    model = MPRank()
    leave_pair_out(model, X, y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("qid", [None, QID])
def test_any_estimator_is_refitted(qid):
    X, y = rows(3)
    result = leave_pair_out(LinearRegression(), X, y, qid=qid, n_pairs=None)
    expected = np.full((M, M), np.nan)
    np.fill_diagonal(expected, 0)
    for i in range(M):
        for j in range(M):
            if i != j and (qid is None or qid[i] == qid[j]):
                rest = [k for k in range(M) if k not in (i, j)]
                model = LinearRegression().fit(X[rest], y[rest])
                expected[i, j] = np.diff(model.predict(X[[i, j]]))[0]
    assert not result.exact
    assert_allclose(result.differences, expected, atol=1e-10)


def test_sampled_pairs():
    X, y = rows(3)
    model = make_pipeline(StandardScaler(), Ridge())
    every = leave_pair_out(model, X, y, n_pairs=None)
    with parallel_config("threading"):
        some = leave_pair_out(model, X, y, n_pairs=30, random_state=0, n_jobs=2)
    known = ~np.isnan(some.differences)
    assert (some.n_pairs, every.n_pairs) == (30, M * (M - 1) // 2)
    assert known.sum() == 60 + M
    assert_array_equal(some.differences[known], every.differences[known])
    again = leave_pair_out(model, X, y, n_pairs=30, random_state=0)
    assert_array_equal(again.differences, some.differences)


def test_pairs_are_drawn_evenly_within_queries():
    random = np.random.RandomState(0)
    every = _draw_pairs(QID, 5, None, random)
    wanted = {(i, j) for i in range(M) for j in range(i + 1, M) if QID[i] == QID[j]}
    assert {tuple(sorted(pair)) for pair in every.tolist()} == wanted
    assert len(every) == len(wanted)
    counts = np.zeros((M, M))
    for _ in range(400):
        drawn = _draw_pairs(QID, 5, 5, random)
        assert len(np.unique(drawn, axis=0)) == 5
        np.add.at(counts, tuple(drawn.T), 1)
    rates = counts[counts > 0]
    assert len(rates) == len(wanted)
    assert rates.min() > 0.5 * rates.mean()


def test_weights_and_queries_reach_fit():
    class Kept(MPRank):
        leave_pair_out = property()

    X, y = rows(3)
    result = leave_pair_out(Kept(5.0), X, y, qid=QID, sample_weight=WEIGHT, n_pairs=None)
    pair = [2, 3]
    rest = np.setdiff1d(np.arange(M), pair)
    model = MPRank(5.0).fit(X[rest], y[rest], qid=QID[rest], sample_weight=WEIGHT[rest])
    assert not result.exact
    assert_allclose(result.differences[2, 3], np.diff(model.predict(X[pair]))[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": np.arange(M)}, "no query has two rows"),
        ({"qid": [1, 2]}, "qid has 2 entries"),
        ({"n_pairs": 0}, "n_pairs=0"),
        ({"y": np.ones(3)}, "inconsistent"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_bad_input_is_named(arguments, message):
    X, y = rows(3)
    with pytest.raises(ValueError, match=message):
        leave_pair_out(MPRank(), X, **{"y": y, **arguments})


def test_weights_for_a_model_without():
    from sklearn.neighbors import KNeighborsRegressor

    X, y = rows(3)
    with pytest.raises(ValueError, match="whose fit takes none"):
        leave_pair_out(KNeighborsRegressor(), X, y, sample_weight=WEIGHT)

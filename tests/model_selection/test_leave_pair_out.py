"""The shortcut against refitting without every pair, over all its options."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank, MPRankCV
from rankwise.model_selection import _leave_pair_out, leave_pair_out
from rankwise.model_selection._leave_pair_out import _draw_pairs
from rankwise.pairwise import RankSVM
from rankwise.testing._weights import Weighted, with_absent_rows
from rankwise.testing.strategies import rated
from tests import reference as oracles

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
    # Rows 9 and 10 are the same and of one query, rows 0 and 2 of two.
    assert result.differences[9, 10] == 0.0
    assert np.isnan(result.differences[0, 2]) == (qid is not None)


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


def test_two_rows_leave_none_to_refit_on():
    with pytest.raises(ValueError, match="give three or more"):
        leave_pair_out(
            LinearRegression(), [[1.0], [2.0], [3.0]], [3.0, 5.0, 1.0], sample_weight=[1, 0, 1]
        )


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


class Queried(BaseEstimator, RegressorMixin):
    """A regressor that learns nothing without its queries: their number is its slope."""

    def fit(self, X, y, *, qid=None, sample_weight=None):  # noqa: ARG002
        self.slope_ = 0.0 if qid is None else float(len(np.unique(qid)))
        self.weight_ = 0.0 if sample_weight is None else float(np.sum(sample_weight))
        return self

    def predict(self, X):
        return self.slope_ * np.asarray(X)[:, 0] + self.weight_ * np.asarray(X)[:, 1]


def plain(**given):
    X, y = rows(3)
    return leave_pair_out(Queried(), X, y, n_pairs=None, **given).differences


GIVEN = [{"qid": QID}, {"sample_weight": WEIGHT}, {"qid": QID, "sample_weight": WEIGHT}]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(
    "model",
    [
        make_pipeline("passthrough", Queried()),
        make_pipeline("passthrough", make_pipeline(Queried())),
    ],
)
def test_the_last_step_of_a_pipeline_is_given_queries_and_weights(model, given):
    X, y = rows(3)
    result = leave_pair_out(model, X, y, n_pairs=None, **given)
    assert_array_equal(result.differences, plain(**given))


def requesting():
    return Queried().set_fit_request(qid=True, sample_weight=True)


@pytest.mark.parametrize("given", GIVEN)
def test_metadata_routing_reaches_every_part(given):
    X, y = rows(3)
    with config_context(enable_metadata_routing=True):
        for model in (
            make_pipeline("passthrough", requesting()),
            TransformedTargetRegressor(requesting(), transformer=FunctionTransformer()),
            requesting(),
            Queried(),
        ):
            result = leave_pair_out(model, X, y, n_pairs=None, **given)
            assert_allclose(result.differences, plain(**given))
        with pytest.raises(UnsetMetadataPassedError, match="explicitly set"):
            leave_pair_out(make_pipeline(Queried()), X, y, **given)


@pytest.mark.parametrize("name", ["qid", "sample_weight"])
def test_what_would_not_reach_a_part_is_refused(name):
    X, y = rows(3)
    given = {"qid": QID, "sample_weight": WEIGHT}[name]
    message = rf"{name} would not reach Queried.*last step.*set_fit_request\({name}=True\)"
    for model in (
        TransformedTargetRegressor(Queried()),
        GridSearchCV(Queried(), {}),
        BaggingRegressor(Queried()) if name == "qid" else StackingRegressor([("a", Queried())]),
    ):
        if name in inspect.signature(model.fit).parameters:
            continue
        with pytest.raises(ValueError, match=message):
            leave_pair_out(model, X, y, **{name: given})


def test_queries_of_a_model_that_takes_none_make_the_pairs():
    X, y = rows(3)
    model = make_pipeline(StandardScaler(), LinearRegression())
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            assert leave_pair_out(model, X, y, qid=QID, n_pairs=None).n_pairs == 27


def test_few_pairs_of_many_rows_take_no_matrix():
    random = np.random.default_rng(0)
    X = random.normal(size=(150_000, 2))
    y = X[:, 0]
    result = leave_pair_out(LinearRegression(), X, y, n_pairs=3, random_state=0)
    assert (result.n_pairs, result.pairs.shape, result.predicted.shape) == (3, (3, 2), (3,))
    assert_allclose(result.predicted, np.diff(y[result.pairs])[:, 0])
    assert result.msd < 1e-20
    assert result.misranking == 0


def test_a_matrix_that_the_machine_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(_leave_pair_out, "memory", lambda: 8 * 100**2)
    random = np.random.default_rng(0)
    X = random.normal(size=(101, 2))
    result = leave_pair_out(LinearRegression(), X, X[:, 0], n_pairs=5)
    with pytest.raises(ValueError, match=r"101 rows takes .* GiB.*as pairs and predicted"):
        result.differences  # noqa: B018
    with pytest.raises(ValueError, match=r"101 rows takes .* GiB.*a part of the rows"):
        leave_pair_out(MPRank(), X, X[:, 0])
    with pytest.raises(ValueError, match="n_pairs=None asks for 5,050 refits"):
        leave_pair_out(LinearRegression(), X, X[:, 0], n_pairs=None)
    assert leave_pair_out(MPRank(), X[:100], X[:100, 0]).exact


def test_pairs_of_very_many_rows():
    codes = np.zeros(3_000_000, dtype=np.int64)
    drawn = _draw_pairs(codes, 1, 50, np.random.RandomState(0))
    assert (drawn[:, 0] < drawn[:, 1]).all()
    assert drawn.max() < len(codes)


def test_errors_of_drawn_pairs_are_those_of_the_matrix():
    X, y = rows(3)
    y = np.round(y)
    for more in ({}, {"qid": QID}, {"sample_weight": WEIGHT}):
        result = leave_pair_out(Ridge(), X, y, n_pairs=20, random_state=1, **more)
        weight = more.get("sample_weight", np.ones(M))
        msd, misranking = literal_errors(result.differences, y, weight)
        assert_allclose([result.msd, result.misranking], [msd, misranking])


@pytest.mark.parametrize("scale", [1e-170, 1e-300])
def test_small_differences_are_no_ties(scale):
    X, y = rows(3)
    for model in (LinearRegression(), MPRank(1e6)):
        expected = leave_pair_out(model, X, y, n_pairs=None).misranking
        assert leave_pair_out(model, X, y * scale, n_pairs=None).misranking == expected


def test_errors_that_no_float_can_hold_are_refused():
    X, y = rows(3)
    for scale in (1e200, 1e306):
        with pytest.raises(ValueError, match="larger than a float can hold"):
            leave_pair_out(Queried(), X, y * scale)


@pytest.mark.parametrize("weight", [1e-308, 1e300])
def test_weights_of_any_size(weight):
    X, y = rows(3)

    class Unmoved(Queried):
        def predict(self, X):
            return X[:, 0]

    result = leave_pair_out(Unmoved(), X, y, sample_weight=np.full(M, weight), n_pairs=None)
    expected = leave_pair_out(Unmoved(), X, y, n_pairs=None)
    assert_allclose([result.msd, result.misranking], [expected.msd, expected.misranking])
    assert result.n_pairs == expected.n_pairs


@pytest.mark.parametrize("model", [LinearRegression(), MPRank()])
def test_ordered_categorical_and_masks(model):
    X, y = rows(3)
    grades = np.digitize(y, [49, 50, 51])
    words = pd.Categorical(np.array(["d", "c", "b", "a"])[grades], list("dcba"), ordered=True)
    found = leave_pair_out(model, X, pd.Series(words), n_pairs=None)
    expected = leave_pair_out(model, X, grades, n_pairs=None)
    assert_array_equal(found.differences, expected.differences)
    mask = np.zeros(M, dtype=bool)
    mask[3] = True
    for name, values in (("y", y), ("qid", QID), ("sample_weight", WEIGHT)):
        given = {"y": y, name: np.ma.masked_array(values, mask=mask)}
        with pytest.raises(ValueError, match=rf"{name} has a masked entry \(row 3\)"):
            leave_pair_out(model, X, **given)
    with pytest.raises(ValueError, match="X has a masked entry"):
        leave_pair_out(model, np.ma.masked_array(X, mask=X[2, 1] == X), y)


class Odd(BaseEstimator):
    def __init__(self, said=None):
        self.said = said

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict(self, X):  # noqa: ARG002
        return self.said


@pytest.mark.parametrize("said", [[np.nan, 1.0], [np.inf, 0.0], [1.0], None, [[1, 2]], ["a", "b"]])
def test_odd_predictions_are_refused(said):
    X, y = rows(3)
    with pytest.raises(ValueError, match="the prediction of Odd"):
        leave_pair_out(Odd(said), X, y, n_pairs=2)
    with pytest.raises(ValueError, match="Odd predicts"):
        leave_pair_out(Odd([1.7e308, -1.7e308]), X, y, n_pairs=2)


@pytest.mark.parametrize("model", ["MPRank", None, StandardScaler(), object()])
def test_no_ranker(model):
    X, y = rows(3)
    with pytest.raises(TypeError, match="has no"):
        leave_pair_out(model, X, y)


def test_weights_for_a_model_without():
    from sklearn.neighbors import KNeighborsRegressor

    X, y = rows(3)
    with pytest.raises(ValueError, match="whose fit takes none"):
        leave_pair_out(KNeighborsRegressor(), X, y, sample_weight=WEIGHT)


@pytest.mark.parametrize("n_jobs", [np.inf, "", 0, 1.0, [1]])
def test_odd_jobs_are_named(n_jobs):
    with pytest.raises(ValueError, match="n_jobs="):
        leave_pair_out(Ridge(), np.eye(4), [1, 2, 3, 4], n_jobs=n_jobs)


@pytest.mark.parametrize("model", [MPRank(), RankSVM(), make_pipeline(StandardScaler(), Ridge())])
def test_rows_of_weight_0_are_absent(model):
    X, y = rows(2)
    others, kept = with_absent_rows(Weighted(X, y, QID, WEIGHT))
    options = {"n_pairs": 8, "random_state": 0}
    expected = leave_pair_out(model, X, y, qid=QID, sample_weight=WEIGHT, **options)
    found = leave_pair_out(
        model, others.X, others.y, qid=others.qid, sample_weight=others.weight, **options
    )
    assert repr(found) == repr(expected)
    assert_allclose(found.differences[np.ix_(kept, kept)], expected.differences, rtol=1e-9)
    if not found.exact:
        assert_array_equal(found.pairs, kept[expected.pairs])


def test_sparse_rows_whose_arrays_contradict_each_other():
    X = sparse.csr_array(np.eye(4))
    X.indptr = np.array([0, 1, 2, 3, 10**9], np.int32)
    with pytest.raises(ValueError, match="X is a sparse matrix whose arrays contradict"):
        leave_pair_out(Ridge(), X, np.arange(4.0), n_pairs=2)

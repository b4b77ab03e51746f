"""MPRank against least squares over explicit pairs, whichever way it is solved."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels

import rankwise
from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank, SVRank
from rankwise.testing.strategies import rated
from tests import reference as oracles

M, D = 24, 4
QID = np.random.default_rng(5).integers(0, 5, size=M)
WEIGHT = np.random.default_rng(6).uniform(0.2, 3, size=M)
ONLINE = {"solver": "online", "tol": 1e-15, "max_passes": 100_000}


def rows(m=M, d=D, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d)) + 2
    return X, X @ random.normal(size=d) + random.normal(size=m) - 7


@pytest.mark.parametrize("C", [0.03, 1.0, 40.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("solver", ["primal", "dual", "online", "auto", "chunks"])
def test_every_solver_is_least_squares_over_the_pairs(solver, container, qid, weight, C):
    X, y = rows()
    w, objective = oracles.mprank(X, y, C, qid=qid, weight=weight)
    if solver == "chunks":
        model = MPRank(C)
        for part in np.array_split(np.random.default_rng(1).permutation(M), 5):
            model.partial_fit(
                container(X[part]),
                y[part],
                qid=None if qid is None else qid[part],
                sample_weight=None if weight is None else weight[part],
            )
    else:
        options = ONLINE if solver == "online" else {"solver": solver}
        model = MPRank(C, **options).fit(container(X), y, qid=qid, sample_weight=weight)
    exact = solver != "online"
    assert_allclose(model.coef_, w, rtol=1e-9 if exact else 1e-4, atol=1e-10 if exact else 1e-6)
    assert_allclose(model.objective_, objective, rtol=1e-9)
    assert (model.n_iter_ > 1) != exact
    assert model.n_queries_ == (1 if qid is None else len(np.unique(qid)))
    residuals = y - model.predict(container(X))
    assert_allclose(np.average(residuals, weights=weight), 0, atol=1e-12 if exact else 1e-6)


KERNELS = {
    "poly": {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 0.5},
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "default gamma": {"kernel": "rbf"},
    "callable": {"kernel": lambda X, Y: np.tanh(X) @ np.tanh(Y).T},
}


def values(X, Y, kernel="rbf", gamma=None, degree=3, coef0=1.0):
    if callable(kernel):
        return kernel(X, Y)
    extra = {"degree": degree, "coef0": coef0} if kernel == "poly" else {}
    return pairwise_kernels(X, Y, metric=kernel, gamma=gamma or 1 / X.shape[1], **extra)


def features(K):
    """Return rows whose inner products are K."""
    eigenvalues, U = np.linalg.eigh(K)
    return U * np.sqrt(np.maximum(eigenvalues, 0))


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("solver", ["dual", "online"])
def test_kernels_are_least_squares_over_the_pairs(solver, name, qid, weight):
    (X, y), new, parameters = rows(), rows(seed=9)[0], KERNELS[name]
    both = np.vstack([X, new])
    phi = features(values(both, both, **parameters))
    w, objective = oracles.mprank(phi[:M], y, 5.0, qid=qid, weight=weight)
    options = ONLINE if solver == "online" else {"solver": solver}
    model = MPRank(5.0, **parameters, **options).fit(X, y, qid=qid, sample_weight=weight)
    raw = phi @ w
    expected = raw + np.average(y - raw[:M], weights=weight)
    loose = {"rtol": 1e-7} if solver == "dual" else {"rtol": 1e-4}
    assert_allclose(model.predict(both), expected, **loose)
    assert_allclose(model.objective_, objective, rtol=1e-9)
    assert_allclose(model.dual_coef_.sum(), 0, atol=1e-10)
    ready = clone(model).set_params(kernel="precomputed")
    ready.fit(values(X, X, **parameters), y, qid=qid, sample_weight=weight)
    assert_allclose(ready.predict(values(new, X, **parameters)), expected[M:], **loose)
    if name != "callable":
        thin = clone(model).fit(sparse.csr_array(X), y, qid=qid, sample_weight=weight)
        assert_allclose(thin.predict(sparse.csr_array(new)), expected[M:], **loose)


def test_it_is_ridge_with_half_the_rows_over_c():
    X, y = rows()
    model, ridge = MPRank(3.0).fit(X, y), Ridge(alpha=M / 6).fit(X, y)
    assert_allclose(model.coef_, ridge.coef_)
    assert_allclose(model.intercept_, ridge.intercept_)


def test_it_is_not_kernel_ridge():
    X, y = rows()
    plain = KernelRidge(alpha=M / 6, kernel="rbf").fit(X, y).predict(X)
    assert np.abs(MPRank(3.0, kernel="rbf").fit(X, y).predict(X) - plain).max() > 1


@given(rated(), st.sampled_from(["linear", "rbf"]), st.integers(0, 2**16))
def test_properties(data, kernel, seed):
    X, y, qid, weight = data
    assume(np.bincount(qid[weight > 0]).max() > 1)
    model = MPRank(3.0, kernel=kernel)
    base = clone(model).fit(X, y, qid=qid, sample_weight=weight)
    said = base.predict(X)
    random = np.random.default_rng(seed)
    order, names = random.permutation(len(y)), random.permutation(10)

    def same(other, shift=0.0):
        assert_allclose(other.predict(X), said + shift, rtol=1e-7, atol=1e-9)
        assert_allclose(other.objective_, base.objective_, rtol=1e-7, atol=1e-9)

    same(clone(model).fit(X, y + 5, qid=qid, sample_weight=weight), shift=5)
    same(clone(model).fit(X[order], y[order], qid=qid[order], sample_weight=weight[order]))
    same(clone(model).fit(X, y, qid=names[qid], sample_weight=weight))
    same(clone(model).fit(X, y, qid=[f"query {q}" for q in qid], sample_weight=weight))
    same(clone(model).fit(X, y, qid=qid, sample_weight=7.5 * weight))
    twice = np.repeat(np.arange(len(y)), weight)
    same(clone(model).fit(X[twice], y[twice], qid=qid[twice]))
    none = np.r_[weight, 0]
    silent = clone(model).fit(
        np.vstack([X, X[:1] + 1]), np.r_[y, 99], qid=np.r_[qid, 77], sample_weight=none
    )
    same(silent)


@given(rated(), st.integers(1, 4), st.booleans())
def test_parts_on_several_machines_merge(data, n_parts, close):
    X, y, qid, weight = data
    assume(np.bincount(qid[weight > 0]).max() > 1)
    whole = MPRank(2.0).fit(X, y, qid=qid, sample_weight=weight)
    parts = [part for part in np.array_split(np.arange(len(y)), n_parts) if len(part)]
    models = [
        MPRank(2.0).partial_fit(X[p], y[p], qid=qid[p], sample_weight=weight[p]) for p in parts
    ]
    merged = models[0]
    for other in models[1:]:
        before = other.coef_.copy()
        merged.merge(other)
        assert_allclose(other.coef_, before, rtol=0)
    if close:
        merged.close_queries()
        assert not merged._statistics.queries
        fresh = MPRank(2.0).partial_fit(X, y, qid=qid + 100, sample_weight=weight)
        expected = MPRank(2.0).fit(
            np.vstack([X, X]),
            np.r_[y, y],
            qid=np.r_[qid, qid + 100],
            sample_weight=np.r_[weight, weight],
        )
        assert_allclose(fresh.merge(merged).coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(merged.intercept_, whole.intercept_, rtol=1e-7, atol=1e-9)
    assert_allclose(merged.objective_, whole.objective_, rtol=1e-7, atol=1e-9)


def test_a_stream_far_from_zero_keeps_its_digits():
    X, y = rows(200, 3)
    model = MPRank(10.0)
    for part in np.array_split(np.arange(200), 9):
        model.partial_fit(X[part] + 1e6, y[part] + 1e7)
    assert_allclose(model.coef_, MPRank(10.0).fit(X, y).coef_, rtol=1e-6)


def test_closed_queries_stay_closed():
    X, y = rows()
    model = MPRank().partial_fit(X, y, qid=QID).close_queries([0, 1])
    assert model.partial_fit(X[QID == 2], y[QID == 2], qid=QID[QID == 2]).n_queries_ == 5
    before = model.coef_
    with pytest.raises(ValueError, match="query 1 is closed"):
        model.partial_fit(X[QID == 1], y[QID == 1], qid=QID[QID == 1])
    with pytest.raises(ValueError, match="qid=0 is not an open query"):
        model.close_queries([0])
    with pytest.raises(ValueError, match="give qid to all or to none"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.merge(MPRank().partial_fit(X[:, :2], y, qid=QID))
    assert model.coef_ is before


def test_partial_fit_goes_on_from_partial_fit_alone():
    X, y = rows()
    half = M // 2
    for model in (MPRank(), MPRank(kernel="rbf", solver="online")):
        expected = clone(model).partial_fit(X[:half], y[:half]).predict(X)
        found = model.fit(X, y).partial_fit(X[:half], y[:half]).predict(X)
        assert_allclose(found, expected, rtol=0)
    with pytest.raises(ValueError, match="partial_fit"):
        MPRank().fit(X[:4], y[:4]).merge(MPRank().partial_fit(X, y))
    model = MPRank().partial_fit(X, y)
    assert_allclose(pickle.loads(pickle.dumps(model)).partial_fit(X, y).coef_, model.coef_)
    assert_allclose(model.fit(X, y).coef_, MPRank().fit(X, y).coef_, rtol=0)


@pytest.mark.parametrize("n_passes", [1, 2, 7])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_passes_are_those_of_the_paper(kernel, n_passes):
    X, y = rows()
    K = pairwise_kernels(X, metric=kernel)
    alpha = oracles.mprank_passes(K, y, 2.0, 0.004, n_passes)
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        model = MPRank(
            2.0, kernel=kernel, solver="online", eta=0.004, max_passes=n_passes, tol=0.0
        ).fit(X, y)
    expected = K @ (alpha - alpha.mean())
    assert_allclose(np.ptp(model.predict(X) - expected), 0.0, atol=1e-12)


STREAMED = {
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.1},
    "callable": {"kernel": lambda A, B: np.tanh(A @ B.T / 50) + A @ B.T},
}


@pytest.mark.parametrize("eta", [None, 0.002])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("name", STREAMED)
def test_points_with_a_kernel_take_a_step_each(name, qid, weight, eta):
    X, y = rows()
    options = {**STREAMED[name], "solver": "online", "eta": eta}
    K = Kernel(*(options.get(key) for key in ("kernel", "gamma")), options.get("degree"), 1.0).gram(
        X
    )
    coef = oracles.mprank_points(K, y, 3.0, eta, qid=qid, weight=weight)
    models = []
    for n_chunks in (1, 5, M):
        model = MPRank(3.0, **options)
        for part in np.array_split(np.arange(M), n_chunks):
            given = {"qid": None if qid is None else qid[part]}
            given["sample_weight"] = None if weight is None else weight[part]
            model.partial_fit(X[part], y[part], **given)
        models.append(model)
    assert_allclose(model.dual_coef_, coef, rtol=1e-9, atol=1e-12)
    for other in models:
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        assert other.intercept_ == model.intercept_
    a = np.ones(M) if weight is None else weight
    codes = np.zeros(M, int) if qid is None else qid
    both = np.where(codes[:, None] == codes, np.outer(a, a), 0.0)
    missed = y - K @ coef
    cost = np.sum(both * np.subtract.outer(missed, missed) ** 2) / both.sum()
    assert_allclose(model.objective_, coef @ K @ coef + 3.0 * cost)
    assert_allclose(np.average(y - model.predict(X), weights=a), 0.0, atol=1e-12)
    assert (model.n_iter_, model.solver_) == (1, "online")
    assert model.n_queries_ == len(np.unique(codes))


def test_sparse_points_and_the_rest_of_a_stream(tmp_path):
    X, y = rows(60)
    X[X < 1.5] = 0.0
    online = MPRank(3.0, kernel="rbf", solver="online")
    dense = clone(online).partial_fit(X, y)
    model = clone(online)
    for part in np.array_split(np.arange(60), 7):
        model.partial_fit(sparse.csr_array(X[part]), y[part])
    assert_allclose(model.predict(X), dense.predict(X))
    rankwise.save(model, tmp_path / "model.rankwise")
    loaded = rankwise.load(tmp_path / "model.rankwise")
    again = loaded.partial_fit(X[:3], y[:3]), model.partial_fit(X[:3], y[:3])
    np.testing.assert_array_equal(*(each.dual_coef_ for each in again))
    assert model.fit(X, y).n_iter_ > 1
    assert dense.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"kernel": "rbf"}, "solver='auto'"),
        ({"kernel": "rbf", "solver": "dual"}, "solver='dual'"),
        ({"kernel": "precomputed", "solver": "online"}, "kernel='precomputed'"),
    ],
)
def test_other_solvers_have_no_stream_and_say_so(options, fix):
    model = MPRank(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit([[0.0]], [1.0])
    assert fix in str(error.value.__cause__)


def test_a_stream_of_points_refuses_what_does_not_fit():
    X, y = rows()
    model = MPRank(kernel="rbf", solver="online").partial_fit(X, y, qid=QID)
    before = model.dual_coef_
    with pytest.raises(ValueError, match="give qid to all or to none"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="use one kind"):
        model.partial_fit(X, y, qid=QID.astype(str))
    with pytest.raises(ValueError, match="overshoot"):
        model.set_params(eta=5.0).partial_fit(X, y, qid=QID)
    with pytest.raises(ValueError, match="gamma=9"):
        model.set_params(eta=None, gamma=9.0).partial_fit(X, y, qid=QID)
    assert model.dual_coef_ is before


def test_online_stops_when_a_pass_gains_little():
    X, y = rows(200, 5)
    loose, tight = (
        MPRank(50.0, kernel="rbf", solver="online", tol=tol).fit(X, y) for tol in (1e-2, 1e-6)
    )
    exact = MPRank(50.0, kernel="rbf").fit(X, y)
    assert loose.n_iter_ < tight.n_iter_
    assert exact.objective_ <= tight.objective_ < loose.objective_
    assert_allclose(tight.objective_, exact.objective_, rtol=1e-3)
    with pytest.warns(ConvergenceWarning, match="max_passes=2"):
        MPRank(50.0, kernel="rbf", solver="online", max_passes=2).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_papers_step_gets_there_too(kernel):
    X, y = rows()
    exact = MPRank(2.0, kernel=kernel).fit(X, y)
    model = MPRank(2.0, kernel=kernel, eta=0.005, **ONLINE).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-5)
    with pytest.raises(ValueError, match=r"eta=5\.0 makes the steps overshoot"):
        MPRank(2.0, kernel=kernel, solver="online", eta=5.0).fit(X, y)


def test_auto_takes_the_cheaper_one(monkeypatch):
    random = np.random.default_rng(0)
    for (m, d), solver in {(50, 10): "primal", (10, 50): "dual"}.items():
        assert MPRank().fit(random.normal(size=(m, d)), random.normal(size=m)).solver_ == solver
    assert MPRank(kernel="rbf").fit(random.normal(size=(50, 2)), np.arange(50)).solver_ == "dual"
    monkeypatch.setattr("rankwise.magnitude._mprank._LARGEST", 30)
    wide = sparse.csr_array(random.normal(size=(40, 31)) * random.integers(0, 2, size=(40, 31)))
    assert MPRank().fit(wide, random.normal(size=40)).solver_ == "online"


@pytest.mark.parametrize(("m", "d"), [(40, 8), (8, 40)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rounding_may_hide_the_penalty(m, d, kernel):
    X, y = rows(m, d)
    X = np.round(X[:, np.r_[:d, :d]] * 1e8)
    X[3], y[3] = X[4], y[4]
    model = MPRank(1e14, kernel=kernel, gamma=1e-18 if kernel == "rbf" else None)
    if kernel == "linear" and m > d:
        with pytest.raises(ValueError, match=r"can't be trusted.*scale the features"):
            model.fit(X, y)
        return
    model.fit(X, y)
    residuals = y - model.predict(X)
    assert np.isfinite(residuals).all()
    assert residuals.std() <= y.std()


def test_degenerate_samples():
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in ("primal", "dual", "online"):
            assert_allclose(MPRank(solver=solver).fit(X, np.full(M, 4.0)).predict(X), 4.0)
            assert_allclose(MPRank(solver=solver).fit(X * 0 + 1950, y).predict(X), y.mean())


@pytest.mark.parametrize("model", [MPRank(), MPRank(kernel="rbf"), SVRank(), SVRank(kernel="rbf")])
def test_rows_without_a_partner_are_refused(model):
    X, y = rows()
    with pytest.raises(ValueError, match=r"each row its own query.*two or more rows"):
        model.fit(X, y, qid=np.arange(M))
    with pytest.raises(ValueError, match="one sample"):
        model.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="each row its own query"):
        model.fit(X, y, qid=np.arange(M) // 2, sample_weight=np.arange(M) % 2)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"C": 0}, {}, "'C' parameter"),
        ({"kernel": "sigmoid"}, {}, "'kernel' parameter"),
        ({"kernel": "rbf", "solver": "primal"}, {}, "solver='primal' needs kernel='linear'"),
        ({"kernel": "precomputed"}, {}, "square"),
        ({"kernel": lambda X, _: X}, {}, "shape"),
        ({"kernel": lambda X, Y: np.full((len(X), len(Y)), np.nan)}, {}, "not finite"),
        ({"kernel": lambda X, Y: -(X @ Y.T), "C": 1e6}, {}, "positive semi-definite"),
        ({}, {"sample_weight": -np.ones(M)}, r"sample_weight\[0\] is -1.0"),
        ({}, {"sample_weight": np.zeros(M)}, "zero"),
        ({}, {"sample_weight": np.ones(3)}, "sample_weight"),
        ({}, {"qid": np.arange(3)}, "qid has 3 entries"),
        ({}, {"y": [np.nan] * M}, "NaN"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message):
    X, y = rows()
    given = {"X": X, "y": y, **arguments}
    with pytest.raises(ValueError, match=message):
        MPRank(**parameters).fit(**given)


def test_unfitted():
    with pytest.raises(NotFittedError):
        MPRank().predict([[1.0]])


@pytest.mark.parametrize("other", [None, 0, "model", Ridge()])
def test_only_the_same_kind_can_be_merged(other):
    model = MPRank().partial_fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"other=.* must be an MPRank"):
        model.merge(other)


@pytest.mark.parametrize("weight", [-np.inf, np.nan, -1.0, 0.0, 1 + 2j, [1, 2j], "a"])
def test_one_weight_for_all_rows_is_checked_as_an_array_is(weight):
    X, y = [[0.0], [1.0]], [0, 1]
    model = MPRank().partial_fit(X, y)
    for learn in (model.fit, model.partial_fit, model.leave_pair_out):
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            learn(X, y, sample_weight=weight)


def test_one_weight_for_all_rows():
    X, y = [[0.0], [1.0], [3.0]], [0, 1, 1]
    same = MPRank().fit(X, y, sample_weight=2.0), MPRank().fit(X, y, sample_weight=[2.0] * 3)
    assert_allclose(same[0].predict(X), same[1].predict(X))


def test_closing_takes_names():
    model = MPRank().partial_fit([[0.0], [1.0]], [0, 1], qid=[1, 1])
    with pytest.raises(TypeError, match="must be a list of the names of queries"):
        model.close_queries(sparse.csr_array([[1]]))

"""What is learned from rows far from 0 is right or refused: against a hundred digits."""

import warnings
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.metrics import magnitude_loss
from rankwise.model_selection import leave_pair_out

DIGITS = 100
CS = (1e-2, 1.0, 1e5, 1e8)
SHIFTS = (0.0, 100.0, 2000.0, 1e6)
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    "cubic": {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "smooth": {"kernel": "rbf", "gamma": 2.0**-20},
}
REFUSED = "can't be trusted: rounding may change them.*scale the features"


def decimals(values):
    return np.array([Decimal(float(v)) for v in np.ravel(values)]).reshape(np.shape(values))


def gram(X, Y, kernel, gamma=1.0, degree=3, coef0=1.0):
    """Return the kernel's values with all their digits."""
    X, Y, gamma = decimals(X), decimals(Y), Decimal(gamma)
    if kernel == "rbf":
        squares = ((X[:, None] - Y) ** 2).sum(axis=2)
        return np.array([[(-gamma * s).exp() for s in row] for row in squares])
    return X @ Y.T if kernel == "linear" else (gamma * (X @ Y.T) + Decimal(coef0)) ** degree


def solve(A, b):
    """Solve a linear system by elimination."""
    A = np.column_stack([A, b])
    for i in range(len(A)):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]] = A[[pivot, i]]
        A[i] /= A[i, i]
        rest = np.arange(len(A)) != i
        A[rest] -= A[rest, i, None] * A[i]
    return A[:, -1]


def costs(qid, weight):
    a = decimals(weight)
    totals = np.array([a[qid == q].sum() for q in qid])
    return 2 * a * totals / sum(a[qid == q].sum() ** 2 for q in np.unique(qid))


def fit(K, y, qid, cost, C):
    """Return a and intercepts b with K a + b + a / (C c) = y, and sums of a of 0 in queries."""
    member = np.array([[Decimal(int(q == p)) for q in np.unique(qid)] for p in qid])
    k = member.shape[1]
    system = np.block(
        [[K + np.diag(1 / (Decimal(C) * cost)), member], [member.T, decimals(np.zeros((k, k)))]]
    )
    found = solve(system, np.concatenate([y, decimals(np.zeros(k))]))
    return found[: len(y)], member @ found[len(y) :]


def exact(X, new, y, C, qid, weight, **kernel):
    """Return the scores of new rows, and the objective."""
    with localcontext(prec=DIGITS):
        K, a, y, cost = gram(X, X, **kernel), decimals(weight), decimals(y), costs(qid, weight)
        alpha, level = fit(K, y, qid, cost, C)
        said = K @ alpha
        objective = alpha @ said + Decimal(C) * (cost @ (y - said - level) ** 2)
        scores = gram(new, X, **kernel) @ alpha + a @ (y - said) / a.sum()
        return scores.astype(float), float(objective)


def exact_left_out(X, y, C, qid, weight, **kernel):
    """Return h(x_j) - h(x_i) with i and j left out, by refitting; nan across queries."""
    found = np.full((len(y), len(y)), np.nan)
    np.fill_diagonal(found, 0.0)
    with localcontext(prec=DIGITS):
        K, y, cost = gram(X, X, **kernel), decimals(y), costs(qid, weight)
        for i, j in np.argwhere(np.tril(qid[:, None] == qid, -1)):
            rest = np.delete(np.arange(len(y)), [i, j])
            alpha, _ = fit(K[np.ix_(rest, rest)], y[rest], qid[rest], cost[rest], C)
            found[i, j] = float((K[j, rest] - K[i, rest]) @ alpha)
            found[j, i] = -found[i, j]
    return found


def rated(m=9, d=2, shift=0.0, seed=1):
    random = np.random.default_rng(seed)
    X = np.round(64 * random.normal(size=(m, d))) / 64
    y = X[:, 0] + random.normal(size=m)
    weight = random.integers(1, 5, size=m) / 2
    return X + shift, y, np.arange(m) % 2, weight


def attempt(function, *given, **named):
    """Return what is learned, or None if that is refused with a sentence on what to do."""
    try:
        return function(*given, **named)
    except (ValueError, ConvergenceWarning) as error:
        said = str(error)
    assert "scale the features" in said
    return None


def learn(model, solver, X, y, **given):
    if solver != "chunks":
        return model.set_params(solver=solver).fit(X, y, **given)
    for part in (slice(0, 5), slice(5, None)):
        model.partial_fit(X[part], y[part], **{name: v[part] for name, v in given.items()})
    return model


CASES = [
    *product(["linear"], ["primal", "dual", "chunks"], [2, 14]),
    *product(["poly", "cubic", "rbf", "smooth"], ["dual"], [2]),
]


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(("name", "solver", "d"), CASES)
def test_scores_are_right_or_refused(name, solver, d, shift):
    kernel, refused = KERNELS[name], 0
    for C, queries, weights in product(CS, (0, 1), (0, 1)):
        X, y, qid, weight = rated(d=d, shift=shift)
        qid, weight = qid * queries, weight**weights
        new = rated(4, d, shift, seed=2)[0]
        expected, objective = exact(X, np.vstack([X, new]), y, C, qid, weight, **kernel)
        given = {"qid": qid, "sample_weight": weight}
        model = attempt(learn, MPRank(C, **kernel), solver, X, y, **given)
        if model is None:
            refused += 1
            continue
        assert_allclose(model.predict(X), expected[:9], rtol=0, atol=1e-3 * y.std())
        assert_allclose(model.predict(new), expected[9:], rtol=0, atol=1e-2 * y.std())
        assert_allclose(model.objective_, objective, rtol=1e-4)
        if name != "linear":
            sums = np.bincount(qid, model.dual_coef_)
            assert_allclose(sums / np.abs(model.dual_coef_).max(), 0, atol=1e-13)
    # C times the kernel's largest value is past 10^12 where it is refused
    assert refused == 0 or (name in ("poly", "cubic") and shift > 0)
    assert refused < 16 or (name == "cubic" and shift == 1e6)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_values_that_were_rounded_before_are_right_or_refused(name, shift):
    kernel, learned = KERNELS[name], 0
    for C in CS:
        X, y, qid, weight = rated(shift=shift)
        expected, _ = exact(X, X, y, C, qid, weight, **kernel)
        K = Kernel(**kernel).gram(X)
        given = {"qid": qid, "sample_weight": weight}
        model = attempt(MPRank(C, kernel="precomputed").fit, K, y, **given)
        if model is not None:
            learned += 1
            assert_allclose(model.predict(K), expected, rtol=0, atol=1e-3 * y.std())
    assert learned == 4 or shift > 0


@pytest.mark.parametrize("shift", [0.0, 2000.0, 1e6])
@pytest.mark.parametrize(("name", "d"), [("linear", 1), ("linear", 12), ("poly", 1), ("rbf", 2)])
def test_left_out_differences_are_those_of_refits_or_refused(name, d, shift):
    kernel = KERNELS[name]
    for C, both in product(CS, (0, 1)):
        X, y, qid, weight = rated(8, d, shift)
        qid, weight = qid * both, weight**both
        expected = exact_left_out(X, y, C, qid, weight, **kernel)
        pairs = np.where(np.isnan(expected), 0, np.outer(weight, weight))
        np.fill_diagonal(pairs, 0)
        missed = np.nan_to_num(expected - (y - y[:, None]))
        given = {"qid": qid, "sample_weight": weight}
        options = {k: v for k, v in kernel.items() if k != "gamma"}
        gammas = [kernel["gamma"]] if "gamma" in kernel else None
        found = attempt(MPRank(C, **kernel).leave_pair_out, X, y, **given)
        if found is None:
            assert name == "poly"
            assert shift > 0
            with pytest.raises(ValueError, match=REFUSED):
                MPRankCV([C], gammas=gammas, **options).fit(X, y, **given)
            continue
        assert_allclose(found, expected, rtol=0, atol=1e-3 * np.nanmax(np.abs(expected)))
        search = MPRankCV([C], gammas=gammas, **options).fit(X, y, **given)
        expected = (pairs * missed**2).sum() / pairs.sum()
        assert_allclose(search.lpo_errors_[0, 0], expected, rtol=1e-3)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(("name", "d"), [("linear", 2), ("linear", 14), ("poly", 2), ("rbf", 2)])
def test_newtons_method_is_right_or_refused_or_warns(name, d, shift):
    kernel = KERNELS[name]
    for C, both in product(CS, (0, 1)):
        X, y, qid, weight = rated(d=d, shift=shift)
        qid, weight = qid * both, weight**both
        expected, objective = exact(X, X, y, C, qid, weight, **kernel)
        model = SVRank(C, epsilon=0.0, power=2, tol=1e-6, **kernel)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if attempt(model.fit, X, y, qid=qid, sample_weight=weight) is None:
                assert name == "poly"
                assert shift > 0
                continue
        assert_allclose(model.predict(X), expected, rtol=0, atol=2e-3 * y.std())
        assert_allclose(model.objective_, objective, rtol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_years_need_no_scaling(container):
    random = np.random.default_rng(0)
    year = random.integers(1950, 2025, size=(60, 1)).astype(float)
    y = 1e-3 * (year[:, 0] - 1980) ** 2 + 0.3 * random.normal(size=60)
    X, kernel = container(year), {"kernel": "poly", "degree": 2}
    one = np.zeros(60, dtype=int)
    for C in (1.0, 100.0):
        expected, objective = exact(year, year, y, C, one, one + 1, **kernel)
        model = MPRank(C, **kernel).fit(X, y)
        assert_allclose(model.predict(X), expected, rtol=0, atol=1e-4 * y.std())
        assert_allclose(model.objective_, objective, rtol=1e-5)
    about = np.hstack([year - 1987, (year - 1987) ** 2])
    best = Ridge(1e-9).fit(about, y).predict(about)
    assert magnitude_loss(y, model.predict(X)) < 1.1 * magnitude_loss(y, best)
    model.set_params(C=10.0)
    search = MPRankCV([10.0], **kernel).fit(X, y)
    assert_allclose(search.lpo_errors_, leave_pair_out(model, X, y).msd, rtol=1e-3)
    assert_allclose(search.lpo_errors_, magnitude_loss(y, model.fit(X, y).predict(X)), rtol=0.2)
    with pytest.raises(ValueError, match=REFUSED):
        MPRank(1e12, kernel="poly", degree=2).fit(X, y)
    with pytest.raises(ValueError, match="give Cs up to 1"):
        MPRankCV([1.0, 1e12], kernel="poly", degree=2).fit(X, y)


def test_few_rows_of_many_features_near_a_hundred():
    random = np.random.default_rng(0)
    X = 100 + random.normal(size=(60, 90))
    y = X[:, :5].sum(axis=1) + random.normal(size=60)
    primal, dual, thin = (
        MPRank(1e5, solver=solver).fit(container(X), y)
        for solver, container in (
            ("primal", np.asarray),
            ("dual", np.asarray),
            ("dual", sparse.csr_array),
        )
    )
    assert_allclose(dual.coef_, primal.coef_, atol=1e-7)
    assert_allclose(thin.coef_, primal.coef_, atol=1e-7)
    assert_allclose(dual.score(X, y), primal.score(X, y))


def test_queries_far_from_each_other():
    X, y, qid, weight = rated(40, 3)
    far = X + 1e6 * qid[:, None]
    for solver in ("primal", "dual"):
        near = MPRank(1e4, solver=solver).fit(X, y, qid=qid, sample_weight=weight)
        model = MPRank(1e4, solver=solver).fit(far, y, qid=qid, sample_weight=weight)
        assert_allclose(model.coef_, near.coef_, atol=1e-6)
    kernel = {"kernel": "rbf", "gamma": 0.5}
    apart = MPRank(1e3, **kernel).fit(far, y, qid=qid).predict(far)
    # no row of one query is near one of the other
    for q in (0, 1):
        alone = MPRank(1e3 / 2, **kernel).fit(far[qid == q], y[qid == q]).predict(far[qid == q])
        assert_allclose(np.ptp(apart[qid == q] - alone), 0, atol=1e-6)


def test_the_online_solver_says_when_it_ends_far_from_the_optimum():
    X, y, _, _ = rated(9, 14)
    with pytest.warns(ConvergenceWarning, match="above the smallest.*solver='dual'"):
        MPRank(1e5, solver="online").fit(X, y)

"""TopPush and AccuracyAtTop against cvxpy, their costs against definitions, and hostile input."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, nnls
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.newton import minimise
from rankwise.pairwise import AccuracyAtTop, TopPush
from rankwise.pairwise._accuracy_at_top import TopCosts
from rankwise.pairwise._loops import raise_levels
from rankwise.pairwise._top_push import _nonnegative, push


def make(seed, m=50, d=3, noise=0.3, n_queries=1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    y = (X[:, 0] + noise * random.normal(size=m) > 0.8).astype(int)
    return X, y, random.integers(0, n_queries, size=m), random.integers(1, 4, size=m).astype(float)


def literal(s, y, codes, a, tau, power, *, maximum=np.max, pos=lambda x: np.maximum(x, 0)):
    """Return the terms of the loss and constraints on the thresholds, for NumPy or cvxpy."""
    terms, constraints, total = [], [], 0.0
    for q in np.unique(codes):
        ups, downs = np.flatnonzero((codes == q) & (y == 1)), np.flatnonzero((codes == q) & (y < 1))
        if not len(ups) or not len(downs):
            continue
        rows = np.flatnonzero(codes == q)
        if tau is None:
            t = maximum(s[downs])
        elif maximum is np.max:
            t = brentq(
                lambda t, rows=rows: a[rows] @ pos(1 + s[rows] - t) - tau * a[rows].sum(),
                s[rows].min() - 2, s[rows].max() + 2, xtol=1e-14,
            )  # fmt: skip
        else:
            t = cp.Variable()
            constraints.append(a[rows] @ pos(1 + s[rows] - t) <= tau * a[rows].sum())
        terms.append(a[ups] @ pos(1 + t - s[ups]) ** power)
        total += a[ups].sum()
    return sum(terms) / total, constraints


def smallest(X, y, codes, a, C, tau, power):
    """The minimum by cvxpy."""
    w = cp.Variable(X.shape[1])
    loss, constraints = literal(X @ w, y, codes, a, tau, power, maximum=cp.max, pos=cp.pos)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) + C * loss), constraints)
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("h", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_levels(h, weighted):
    random = np.random.default_rng(0)
    x, a, starts = random.normal(size=40), random.uniform(0.5, 2, size=40), np.array([0, 1, 15, 40])
    a = a if weighted else np.ones(40)
    mass = np.array([0.1, 2.0, 0.7])

    def hinges(gap):
        wide, narrow = np.maximum(gap + h, 0), np.maximum(gap - h, 0)
        return (wide**2 - narrow**2) / (4 * h) if h else np.maximum(gap, 0)

    expected = [
        brentq(lambda t, b=b, part=part: a[b] @ hinges(x[b] - t) - part, -50, 50, xtol=1e-14)
        for part, b in zip(mass, map(slice, starts[:-1], starts[1:]), strict=True)
    ]
    t = np.full(3, -40.0)
    raise_levels(x, a if weighted else np.empty(0), starts, h, mass, t)
    assert_allclose(t, expected, atol=1e-12)


@pytest.mark.parametrize(("tau", "power", "n_queries"), list(product([None, 0.1], [1, 2], [1, 3])))
def test_costs(tau, power, n_queries):
    _, y, codes, a = make(1, m=30, n_queries=n_queries)
    codes = np.where(codes == 1, 4, codes)  # queries that don't occur
    y[codes == 0] = 0 if n_queries > 1 else y[codes == 0]
    costs = TopCosts(y == 1, codes, a, tau=tau, power=power)
    random = np.random.default_rng(2)
    for h in (0.5, 0.05, 1e-4):
        s, other = 0.5 * random.normal(size=(2, 30))
        found = costs.evaluate(s, h)
        assert found.cost == pytest.approx(literal(s, y, codes, a, tau, power)[0])
        assert found.slopes.sum() == pytest.approx(0, abs=1e-12)
        # a bound from below for all scores, off by the slack here
        there = literal(other, y, codes, a, tau, power)[0]
        assert there >= found.cost + found.slopes @ (other - s) - found.slack - 1e-12
        curve, v = costs.curve(s, h), random.normal(size=30)
        step = 1e-6 * h
        changed = costs.evaluate(s + step * v, h).slopes - costs.evaluate(s - step * v, h).slopes
        changed /= 2 * step
        assert_allclose(curve.product(v), changed, atol=2e-4 * np.abs(changed).max())
        H = np.stack([curve.product(e) for e in np.eye(30)])
        assert_allclose(curve.gram(np.eye(30)), H, atol=1e-9 * np.abs(H).max())
        assert_allclose(curve.gram(csr_array(np.eye(30))), H, atol=1e-9 * np.abs(H).max())
        assert_allclose(curve.diagonal, np.diagonal(H), atol=1e-9 * np.abs(H).max())
    assert found.slack < 1e-3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("tau", "power"), [(None, 2), (0.05, 1), (0.05, 2), (0.4, 1)])
@pytest.mark.parametrize(("n_queries", "weighted"), [(1, False), (1, True), (3, True)])
def test_equal_to_cvxpy(seed, tau, power, n_queries, weighted):
    X, y, codes, a = make(seed, n_queries=n_queries)
    a = a if weighted else np.ones(len(y))
    C = 10.0 ** (seed - 1)
    model = (
        TopPush(C, tol=1e-8) if tau is None else AccuracyAtTop(C, tau=tau, power=power, tol=1e-8)
    )
    model.fit(X, y, qid=codes if n_queries > 1 else None, sample_weight=a if weighted else None)
    assert model.objective_ == pytest.approx(smallest(X, y, codes, a, C, tau, power), rel=1e-6)
    w = model.coef_
    loss = literal(X @ w, y, codes, a, tau, power)[0]
    assert model.objective_ == pytest.approx(w @ w + C * loss, rel=1e-9)
    assert 0 <= model.duality_gap_ <= 1e-8 * model.objective_
    sparse = type(model)(**model.get_params()).fit(
        csr_array(X), y, qid=codes if n_queries > 1 else None, sample_weight=a if weighted else None
    )
    assert_allclose(sparse.coef_, w, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_both_solvers_of_top_push_agree(seed):
    X, y, codes, a = make(seed, m=400, d=8, noise=[0.0, 0.3, 1.0][seed % 3])
    costs = TopCosts(y == 1, codes, a, tau=None, power=2)
    C = [1.0, 1e3][seed % 2]
    few = push(X, costs.ups, costs.v, costs.below, C, tol=1e-7, max_iter=200)
    newton = minimise(X, costs, C, tol=1e-7, max_iter=500, sample=(X, None))
    assert few.gap <= 1e-7 * few.objective
    assert newton.gap <= 1e-7 * newton.objective
    assert few.objective == pytest.approx(newton.objective, rel=2e-7)


def test_kernels_are_the_same_model():
    X, y, codes, a = make(3, n_queries=2)
    for model in (TopPush(30.0, tol=1e-9), AccuracyAtTop(30.0, tau=0.2, tol=1e-9)):
        for qid in (None, codes):
            model.set_params(kernel="linear").fit(X, y, qid=qid, sample_weight=a)
            objective, scores = model.objective_, model.predict(X)
            model.set_params(kernel="precomputed").fit(X @ X.T, y, qid=qid, sample_weight=a)
            assert model.objective_ == pytest.approx(objective, rel=1e-7)
            assert_allclose(np.diff(model.predict(X @ X.T)), np.diff(scores), atol=1e-3)


def test_wide_rows_are_solved_by_newton(monkeypatch):
    X, y, _, _ = make(4, m=300, d=30)
    best = TopPush(5.0, tol=1e-7).fit(X, y)
    monkeypatch.setattr("rankwise.pairwise._top_push.MOST_FEATURES", 10)
    for rows in (X, csr_array(X)):
        model = TopPush(5.0).fit(rows, y)
        assert model.n_iter_ > best.n_iter_
        assert model.objective_ == pytest.approx(best.objective_, rel=1.1e-4)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (40, 40)])
def test_nonnegative_least_squares(shape):
    random = np.random.default_rng(0)
    for kind in range(4):
        A, b = random.normal(size=shape), random.normal(size=shape[0])
        if kind == 1:
            A = np.abs(A)
        if kind == 2:
            A[:, 1::2] = A[:, ::2]  # columns twice
        if kind == 3:
            b = -A @ np.ones(shape[1])
        x = _nonnegative(A, b)
        assert x.min() >= 0
        assert np.linalg.norm(A @ x - b) == pytest.approx(nnls(A, b)[1], rel=1e-9, abs=1e-9)


def test_thresholds_bound_the_quantile():
    """The cost is at least the share of positives that are not among the first tau of the rows."""
    X, y, _, _ = make(5, m=200)
    for tau in (0.05, 0.2):
        model = AccuracyAtTop(10.0, tau=tau).fit(X, y)
        s = model.predict(X)
        cost = (model.objective_ - model.coef_ @ model.coef_) / 10.0
        first = np.argsort(-s)[: int(tau * 200)]
        assert cost >= 1 - y[first].sum() / y.sum()


def test_exact_threshold_of_one_feature():
    """With one feature an order is a sign, so Boyd et al.'s problem is solved point by point."""
    X, y, _, _ = make(0, m=40, d=1)
    tau, C = 0.2, 5.0
    exact = np.inf
    for sign in (1.0, -1.0):
        order = np.argsort(-sign * X[:, 0])
        point = X[order[int(tau * 40)]]  # the row that tau of all rows exceed
        w = cp.Variable(1)
        loss = cp.sum(cp.pos(1 + point @ w - X[y == 1] @ w)) / y.sum()
        problem = cp.Problem(cp.Minimize(cp.sum_squares(w) + C * loss), [sign * w >= 0])
        exact = min(exact, problem.solve(solver="CLARABEL"))
    model = AccuracyAtTop(C, tau=tau, tol=1e-8).fit(X, y)
    s = np.sort(X @ model.coef_)[::-1]
    ours = (
        model.coef_ @ model.coef_
        + C * np.maximum(0, 1 + s[int(tau * 40)] - X[y == 1] @ model.coef_).mean()
    )
    assert exact <= ours * (1 + 1e-9) <= model.objective_ * (1 + 1e-8)


def test_grades_and_positive():
    X, _, _, _ = make(1)
    grades = np.digitize(X[:, 0], [-0.5, 0.5, 1.2])
    top = TopPush(10.0).fit(X, grades)
    assert_allclose(top.coef_, TopPush(10.0).fit(X, grades == 3).coef_)
    two = TopPush(10.0, positive=2).fit(X, grades)
    assert_allclose(two.coef_, TopPush(10.0).fit(X, grades >= 2).coef_)


def test_rows_alike_are_told():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 2)), np.arange(2000) % 2
    with pytest.warns(UserWarning, match="scores all rows alike"):
        model = TopPush(7.0).fit(X, y)
    assert model.objective_ == pytest.approx(7.0)
    assert np.ptp(AccuracyAtTop(7.0).fit(X, y).predict(X)) > 1e-3
    X[y == 1] += 5.0
    for scale in (1e-9, 1.0, 1e9):  # where it is not so, nothing is told, however small the scores
        assert np.ptp(TopPush(1e-9).fit(scale * X, y).predict(scale * X)) > 0


@pytest.mark.parametrize("model", [TopPush(1e3, max_iter=1), AccuracyAtTop(1e3, max_iter=1)])
def test_early_stop_is_told(model):
    X, y, _, _ = make(2, m=200, d=5)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1"):
        model.fit(X, y)
    assert model.duality_gap_ > 1e-4 * model.objective_


@pytest.mark.parametrize("model", [TopPush(), AccuracyAtTop()])
def test_refusals(model):
    X, y, codes, _ = make(0, n_queries=2)
    with pytest.raises(ValueError, match="both positive and other rows"):
        model.fit(X, np.ones(50))
    with pytest.raises(ValueError, match="no query has both positive and other rows"):
        model.fit(X, codes, qid=codes)
    with pytest.raises(ValueError, match="another positive"):
        type(model)(positive=2).fit(X, y)
    with pytest.raises(ValueError, match="'tau' parameter"):
        AccuracyAtTop(tau=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0: expected"):
        model.fit(X, y, sample_weight=-np.ones(50))


def test_a_c_that_overflows_is_named():
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(11, 3)), np.array([1, 3, 2, 1, 1, 2, 1, 3, 1, 1, 2])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"C=1e.*308"):
        TopPush(C=1e308, positive=3).fit(rows, y)

"""C. Cortes, M. Mohri, A. Rastogi, An alternative ranking problem for search engines, 2007."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from experiments.magnitude import approximate_leave_pair_out
from rankwise._core.kernels import Kernel
from rankwise.bounds import kernel_radius, stability_beta
from rankwise.magnitude import MPRank, SVRank
from rankwise.metrics import (
    epsilon_insensitive_loss,
    hinge_magnitude_loss,
    hinge_rank_loss,
    magnitude_loss,
)

EPSILON = 0.3


def rows(m, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(m, d))
    return X, X.sum(axis=1) + random.normal(0, 0.3, m)


def online_passes(K, y, C, eta, n_passes):
    """Section 2.5, lines 1 to 5, as printed, with a fixed number of passes; returns alpha."""
    m = len(y)
    tilde = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    alpha = np.zeros(m)
    for _ in range(n_passes):
        for i in range(m):
            fitted = sum(alpha[j] * tilde[i, j] for j in range(m))
            alpha[i] += eta * (2 * (y[i] - y.mean() - fitted) - m / C * alpha[i])
    return alpha


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_passes", [1, 2, 7])
def test_passes_of_the_online_version(kernel, n_passes):
    """Section 2.5: each pass of the printed algorithm, not only its limit."""
    X, y = rows(12)
    C, eta = 2.0, 0.02
    K = Kernel(kernel).gram(X)
    alpha = online_passes(K, y, C, eta, n_passes)
    # w = sum_i alpha_i (Phi(x_i) - mean Phi): alpha less its mean, over rows that aren't centred
    expected = K @ (alpha - alpha.mean())
    model = MPRank(C, kernel=kernel, solver="online", eta=eta, max_passes=n_passes, tol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = model.fit(X, y).predict(X)
    assert_allclose(scores - scores.mean(), expected - expected.mean(), atol=1e-13)


def scores_matrix(K, C):
    """Return U of equation 23."""
    m = len(K)
    c = 2 * C / m
    by_row, by_column = K.sum(axis=1)[:, None], K.sum(axis=0)
    centred = c * (K - (by_row + by_column) / m + K.sum() / m**2)
    return c * (K - by_row / m) @ np.linalg.inv(np.eye(m) + centred)


def raw_scores(model, K, y):
    """Return w . Phi(x), without the constant that MPRank adds."""
    return model.fit(K, y).predict(K) - model.intercept_


def pair_equation(U, h, y, i, j, mean):
    """Solve equation 24 for the cost of the pair i, j, with the minus that its text lost.

    ``mean`` is that of the scores of h', which the equation takes as known.
    """
    m = len(y)

    def v(a, b):
        return U[a, b] - sum(U[a, k] for k in range(m) if k not in (i, j)) / (m - 2)

    first, second = 1 - v(i, i) - v(i, j), 1 - v(j, i) - v(j, j)
    shift = first * (v(j, j) + v(j, i)) - second * (v(i, i) + v(i, j))
    numerator = first * (h[j] - y[j]) - second * (h[i] - y[i]) - shift * (mean - y.mean())
    return (numerator / ((1 - v(j, j)) * (1 - v(i, i)) - v(i, j) * v(j, i))) ** 2


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_proposition_2_with_the_mean_of_the_refit(C):
    """Proposition 2, equation 24: exact for every pair, given the mean score of h'."""
    X, y = rows(11)
    K = Kernel("rbf").gram(X)
    m = len(y)
    U = scores_matrix(K, C)
    h = raw_scores(MPRank(C, kernel="precomputed"), K, y)
    assert_allclose(U @ (y - y.mean()), h, atol=1e-13)
    for i in range(m):
        for j in range(i):
            kept = np.array([k for k in range(m) if k not in (i, j)])
            # the terms of the two rows are left out, and the factor 2 C / m stays
            refit = MPRank(C * (m - 2) / m, kernel="precomputed")
            refit.fit(K[np.ix_(kept, kept)], y[kept])
            scores = refit.predict(K[:, kept]) - refit.intercept_
            cost = ((scores[j] - y[j]) - (scores[i] - y[i])) ** 2
            assert_allclose(pair_equation(U, h, y, i, j, scores.mean()), cost, rtol=0, atol=1e-12)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_approximate_leave_pair_out_is_the_printed_sum(C):
    """Section 2.6, the sum after proposition 2: equation 24 with the mean score of h for h'."""
    X, y = rows(11, seed=1)
    K = Kernel("rbf").gram(X)
    m = len(y)
    h = raw_scores(MPRank(C, kernel="precomputed"), K, y)
    U = scores_matrix(K, C)
    every = [(i, j) for i in range(m) for j in range(m) if i != j]
    printed = sum(pair_equation(U, h, y, i, j, h.mean()) for i, j in every) / (m * (m - 1))
    assert_allclose(approximate_leave_pair_out(K, y, C), printed, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_identities_27_and_28(kernel):
    """Equations 27 and 28: rows of U add to 0, and V gives (m - 1) / (m - 2) times the scores.

    In 28, V_ii is the last expression of 27, whose sum leaves i out twice.
    """
    X, y = rows(9, seed=2)
    C, m = 3.0, 9
    K = Kernel(kernel).gram(X)
    U = scores_matrix(K, C)
    assert_allclose(U.sum(axis=1), 0, atol=1e-13)
    V = ((m - 1) * U + U.diagonal()[:, None]) / (m - 2)
    for i in range(m):
        for j in range(m):
            if i != j:
                others = sum(U[i, k] for k in range(m) if k not in (i, j))
                assert_allclose(V[i, j], U[i, j] - others / (m - 2), atol=1e-13)
    h = raw_scores(MPRank(C, kernel="precomputed"), K, y)
    assert_allclose(V @ (y - y.mean()), (m - 1) / (m - 2) * h, atol=1e-13)


def hinge_rank(gap, wanted):
    return np.where(gap * wanted >= 0, 0.0, np.abs(gap))


def magnitude(gap, wanted):
    return np.abs(gap - wanted)


def insensitive(gap, wanted):
    return np.maximum(0.0, np.abs(gap - wanted) - EPSILON)


def hinge_magnitude(gap, wanted):
    return np.where(gap * wanted >= 0, 0.0, np.abs(gap - wanted))


# The costs of a pair (equations 4 to 7), and the loss of the two rows that is the cost.
COSTS = {
    "hinge_rank": (hinge_rank, hinge_rank_loss),
    "magnitude": (magnitude, lambda *a, **o: 2 * magnitude_loss(*a, **o)),
    "epsilon_insensitive": (
        insensitive, lambda *a, **o: 2 * epsilon_insensitive_loss(*a, epsilon=EPSILON, **o)
    ),
    "hinge_magnitude": (hinge_magnitude, hinge_magnitude_loss),
}  # fmt: skip


def changes(cost, power, M, n=40_000):
    """Return by how much random pairs' costs change, over what the two scores change by."""
    random = np.random.default_rng(power)
    y = random.uniform(-2, 2, size=(n, 2))
    h = y + random.uniform(-M, M, size=(n, 2))
    # half of the second hypotheses are near the first, where a jump shows
    steps = np.where(random.random((n, 1)) < 0.5, 1e-3, 1.0) * random.uniform(-M, M, size=(n, 2))
    other = y + np.clip(h + steps - y, -M, M)
    wanted = y[:, 1] - y[:, 0]
    costs = [cost(s[:, 1] - s[:, 0], wanted) ** power for s in (h, other)]
    return np.abs(costs[1] - costs[0]) / np.abs(other - h).sum(axis=1), (y, h, costs[0])


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", list(COSTS))
def test_lemma_1_admissibility_of_the_costs(name, power):
    """Lemma 1: sigma_1 = 1 and sigma_2 = 4M; the hinge-magnitude cost, which jumps, has neither."""
    cost, loss = COSTS[name]
    M = 1.0
    ratios, (y, h, costs) = changes(cost, power, M)
    assert_allclose([loss(*pair, power=power) for pair in zip(y[:50], h[:50], strict=True)],
                    costs[:50], atol=1e-12)  # fmt: skip
    given = {"C": 1.0, "kappa": 1.0, "m": 10, "M": M, "power": power}
    sigma = stability_beta(**given, cost="magnitude").pieces["sigma"]
    assert sigma == {1: 1.0, 2: 4 * M}[power]
    if name == "hinge_magnitude":
        assert ratios.max() > 10 * sigma
        with pytest.raises(ValueError, match="not covered by the theorem"):
            stability_beta(**given, cost=name)
    else:
        assert sigma / 2 < ratios.max() <= sigma * (1 + 1e-9)
        assert stability_beta(**given, cost=name).pieces["sigma"] == sigma


def test_equation_7_as_printed_charges_more_below_the_tube():
    """Equation 7: |d - eps| for d < -eps is |d| + eps, with a jump of 2 eps; ours is |d| - eps."""
    d = np.array([-1.0, -0.4, -0.3, 0.0, 0.3, 0.4, 1.0])
    printed = np.where(np.abs(d) <= EPSILON, 0.0, np.abs(d - EPSILON))
    ours = insensitive(d, 0.0)
    assert_allclose(printed - ours, np.where(d < -EPSILON, 2 * EPSILON, 0.0), atol=1e-15)
    _, loss = COSTS["epsilon_insensitive"]
    assert_allclose([loss([0.0, 0.0], [0.0, gap]) for gap in d], ours, atol=1e-15)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("power", "epsilon"), [(1, 0.0), (1, EPSILON), (2, EPSILON)])
def test_proposition_3_for_svrank(kernel, power, epsilon):
    """Proposition 3 and equation 45 for SVRank, n = 1 and 2; with epsilon = 0 it is MPRank, n = 1.

    The objective of the smaller sample is divided by m^2 as well, as the proof does.
    """
    X, y = rows(20)
    m, C = len(y), 2.0
    K = Kernel(kernel).gram(X)
    options = {"epsilon": epsilon, "power": power, "kernel": "precomputed", "tol": 1e-9}
    scores, duals = [], []
    for k in range(-1, m):
        kept = np.flatnonzero(np.arange(m) != k)
        model = SVRank(C * (len(kept) / m) ** 2, **options).fit(K[np.ix_(kept, kept)], y[kept])
        scores.append(model.predict(K[:, kept]))
        duals.append(np.zeros(m))
        duals[-1][kept] = model.dual_coef_
    gaps = [np.subtract.outer(s - y, s - y) for s in scores]
    costs = [np.maximum(0.0, np.abs(gap) - epsilon) ** power for gap in gaps]
    M = max(np.abs(s - y).max() for s in scores)
    kappa = kernel_radius(X, kernel=kernel)
    given = {"C": C, "kappa": kappa, "m": m, "M": M, "power": power}
    beta = stability_beta(**given, cost="epsilon_insensitive")
    assert 0 < max(np.abs(cost - costs[0]).max() for cost in costs[1:]) <= beta.value
    lengths = [np.sqrt((a - duals[0]) @ K @ (a - duals[0])) for a in duals[1:]]
    assert 0 < max(lengths) <= 2 * C * beta.pieces["sigma"] * kappa / m

"""Ridge on landmarks against its definition, refitted without each row."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.ordinal import _landmarks as module
from rankwise.ordinal._landmarks import fit_landmarks, landmark_kernel

CS = np.array([0.1, 10.0, 1000.0])


def kernel(x, z):
    r = np.sqrt(0.3 * ((x - z) ** 2).sum() / len(x))
    return (1 + r) * np.exp(-r) + x @ z / len(x)


def literal(X, L, y, a, penalty):
    """Return coefficients of kernel values and the intercept: the objective's normal equations."""
    K = np.array([[kernel(x, z) for z in L] for x in X])
    G = np.array([[kernel(x, z) for z in L] for x in L])
    rows = np.column_stack([K, np.ones(len(X))])
    matrix = rows.T @ (a[:, None] * rows)
    matrix[:-1, :-1] += penalty * (G + 1e-8 * np.trace(G) / len(G) * np.eye(len(G)))
    found = np.linalg.lstsq(matrix, rows.T @ (a * y), rcond=1e-13)[0]
    return found[:-1], found[-1]


def blocks_of(X, size):
    return lambda: (
        (slice(start, min(start + size, len(X))), X[start : start + size])
        for start in range(0, len(X), size)
    )


def sample(n, d, weighted):
    g = np.random.default_rng(n + d)
    X = g.normal(size=(n, d))
    X[-1] = X[0]
    y = np.sin(X[:, 0]) + X.sum(axis=1) + g.normal(0, 0.3, n)
    return X, y, g.random(n) + 0.1 if weighted else np.ones(n)


def test_kernel_values():
    X, _, _ = sample(12, 3, weighted=False)
    expected = [[kernel(x, z) for z in X[:5]] for x in X]
    assert_allclose(landmark_kernel(X, X[:5]), expected, rtol=1e-7)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("p", [1, 6, 20])
@pytest.mark.parametrize("d", [1, 4])
def test_left_out_rows_are_those_of_refits(d, p, weighted):
    X, y, weight = sample(20, d, weighted)
    L = X[:p]
    a = weight / weight.mean()
    scores = np.empty((len(CS), len(y)))
    for (row, C), i in product(enumerate(CS), range(len(y))):
        seen = np.where(np.arange(len(y)) == i, 0.0, a)
        coef, intercept = literal(X, L, y, seen, len(y) / (2 * C))
        scores[row, i] = intercept + sum(c * kernel(X[i], z) for c, z in zip(coef, L, strict=True))
    C, found_errors, found_coef, found_intercept, left_out = fit_landmarks(
        blocks_of(X, 20), L, y, weight, CS
    )
    errors = ((scores - y) ** 2 @ a) / len(y)
    assert_allclose(found_errors, errors, rtol=1e-4)
    assert CS[errors.argmin()] == C
    assert_allclose(left_out, scores[errors.argmin()], rtol=1e-3, atol=1e-4)
    coef, intercept = literal(X, L, y, a, len(y) / (2 * C))
    expected = landmark_kernel(X, L) @ coef + intercept
    assert_allclose(landmark_kernel(X, L) @ found_coef + found_intercept, expected, rtol=1e-4)


def test_blocks_change_nothing(monkeypatch):
    X, y, weight = sample(50, 3, weighted=True)
    whole = fit_landmarks(blocks_of(X, 50), X[:10], y, weight, CS)
    monkeypatch.setattr(module, "_KEPT", 0)
    for size in (1, 7, 50):
        parts = fit_landmarks(blocks_of(X, size), X[:10], y, weight, CS)
        for one, other in zip(whole, parts, strict=True):
            assert_allclose(one, other, rtol=1e-6)


def test_only_proportions_of_weights_count():
    X, y, weight = sample(30, 2, weighted=True)
    one, other = (fit_landmarks(blocks_of(X, 30), X[:9], y, weight * f, CS) for f in (1, 8))
    assert_allclose(one[2], other[2], rtol=1e-9)


def test_a_single_row_and_equal_rows():
    one = np.ones((1, 2))
    _, _, coef, intercept, _ = fit_landmarks(blocks_of(one, 1), one, np.ones(1), np.ones(1), CS)
    assert_allclose(intercept, 1.0)
    assert_array_equal(coef, 0.0)
    X, y = np.ones((6, 2)), np.arange(6.0)
    _, _, coef, intercept, left_out = fit_landmarks(blocks_of(X, 6), X, y, np.ones(6), CS)
    assert_allclose(landmark_kernel(X, X) @ coef + intercept, 2.5)
    # the mean of the others
    assert_allclose(left_out, (15 - y) / 5, rtol=1e-6)

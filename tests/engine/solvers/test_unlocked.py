"""Cholesky factors without the GIL, against NumPy."""

import numpy as np
import pytest

from rankwise.engine.solvers.unlocked import factor, half_solve, solve


def draw(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    return X @ X.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 30, 300])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_equal_numpy(n, n_rows):
    A, rows = draw(n), np.random.default_rng(1).normal(size=(n_rows, n))
    R = np.triu(A) + np.tril(np.full((n, n), np.nan), -1)  # the lower half is not read
    factor(R)
    lower = np.linalg.cholesky(A)
    np.testing.assert_allclose(np.triu(R), lower.T, atol=1e-10)
    assert np.isnan(R[np.tril_indices(n, -1)]).all()
    whole, half = rows.copy(), rows.copy()
    solve(R, whole)
    np.testing.assert_allclose(whole @ A, rows, atol=1e-8)
    half_solve(R, half)
    np.testing.assert_allclose(half @ lower.T, rows, atol=1e-8)


def test_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match=r"3 rows is not positive definite.*row 2"):
        factor(np.diag([1.0, -1.0, 1.0]))


@pytest.mark.parametrize("A", [np.eye(3, dtype=np.float32), np.ones((3, 4))[:, :3]])
def test_other_arrays_are_refused(A):
    with pytest.raises(ValueError, match="C order"):
        factor(A)

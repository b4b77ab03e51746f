"""Solutions of positive definite systems without the GIL, against NumPy."""

import numpy as np
import pytest

from rankwise.recommend.item_kernel import solve_in_place


def draw(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    return X @ X.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 30, 300])
@pytest.mark.parametrize("n_rows", [1, 3])
@pytest.mark.parametrize(("numbers", "digits"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_equal_numpy(n, n_rows, numbers, digits):
    A, rows = draw(n), np.random.default_rng(1).normal(size=(n_rows, n)).astype(numbers)
    R = np.triu(A) + np.tril(np.full((n, n), np.nan), -1)  # the lower half is not read
    R = R.astype(numbers)
    found = rows.copy()
    solve_in_place(R, found)
    lower = np.linalg.cholesky(A)
    np.testing.assert_allclose(np.triu(R), lower.T, atol=digits)
    assert np.isnan(R[np.tril_indices(n, -1)]).all()
    np.testing.assert_allclose(found @ A, rows, atol=100 * digits)


def test_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match=r"3 rows is not positive definite.*row 2"):
        solve_in_place(np.diag([1.0, -1.0, 1.0]), np.ones((1, 3)))


@pytest.mark.parametrize("A", [np.eye(3, dtype=np.int64), np.ones((3, 4))[:, :3]])
def test_other_arrays_are_refused(A):
    with pytest.raises(ValueError, match="C order"):
        solve_in_place(A, np.ones((1, 3)))


def test_two_kinds_of_numbers_are_refused():
    with pytest.raises(ValueError, match="float32 is invalid: expected writeable arrays"):
        solve_in_place(np.eye(3), np.ones((1, 3), np.float32))

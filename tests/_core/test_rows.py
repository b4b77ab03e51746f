import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise._core._loops.rows import as_rows, axpy, dot, rank_of, scores


@njit
def add_row(a, rows, i, w):
    axpy(a, rows, i, w)
    return dot(rows, i, w)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_row_vocabulary(container, dtype):
    random = np.random.default_rng(0)
    X = (random.normal(size=(6, 11)) * (random.random((6, 11)) < 0.5)).astype(dtype)
    rows = as_rows(container(X))
    W = random.normal(size=(3, 11))
    out = np.empty((6, 3))
    scores(rows, W, out)
    assert_allclose(out, X.astype(float) @ W.T, rtol=1e-12)
    w = W[0].copy()
    assert_allclose(add_row(0.5, rows, 2, w), X[2] @ (W[0] + 0.5 * X[2]), rtol=1e-6)
    assert_allclose(w, W[0] + 0.5 * X[2].astype(float), rtol=1e-12)


def test_rank_of_a_score_on_a_threshold_is_the_higher_one():
    thresholds = np.array([-1.0, 0.0, 0.0, 2.0])
    ranks = [rank_of(s, thresholds) for s in (-2.0, -1.0, 0.0, 1.0, 2.0)]
    assert ranks == [0, 1, 3, 3, 4]

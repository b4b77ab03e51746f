from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from rankwise._core.kernels import (
    Anchored,
    Kernel,
    centre,
    find_anchor,
    shift_rows,
)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_gram_blocks_are_those_of_scikit_learn(name, container):
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(300, 4)), random.normal(size=(7, 4))
    kernel = Kernel(name, 0.4, 2, 0.7)
    options = {"poly": {"gamma": 0.4, "degree": 2, "coef0": 0.7}, "rbf": {"gamma": 0.4}}
    expected = pairwise_kernels(X, Y, metric=name, **options.get(name, {}))
    assert_allclose(kernel.gram(container(X), container(Y)), expected, rtol=1e-9, atol=1e-12)
    whole = kernel.gram(container(X))
    assert_allclose(whole, pairwise_kernels(X, metric=name, **options.get(name, {})), rtol=1e-9)
    assert_allclose(kernel.diagonal(container(X)), whole.diagonal())
    assert whole.flags.c_contiguous


ANCHORED = {
    "linear": ({"kernel": "linear"}, "plain"),
    "poly": ({"kernel": "poly", "gamma": 0.5, "degree": 3}, "plain"),
    "large constant": ({"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 2.0**20}, "far"),
    "rbf": ({"kernel": "rbf", "gamma": 0.25}, "plain"),
    "near": ({"kernel": "rbf", "gamma": 2.0**-40}, "near"),
    "steep": ({"kernel": "rbf", "gamma": 2.0**7}, "steep"),
}


def centred(X, kernel, gamma=1.0, degree=3, coef0=1.0):
    """Return a centred Gram matrix without rounding."""
    with localcontext(prec=100):
        X = np.array([[Decimal(float(v)) for v in row] for row in X])
        if kernel == "rbf":
            squares = ((X[:, None] - X) ** 2).sum(axis=2)
            K = np.array([[(-Decimal(gamma) * s).exp() for s in row] for row in squares])
        else:
            K = X @ X.T
            if kernel == "poly":
                K = (Decimal(gamma) * K + Decimal(coef0)) ** degree
        means = K.sum(axis=0) / len(K)
        return (K - means - (means - means.sum() / len(K))[:, None]).astype(float)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("shift", [0.0, 100.0, 2000.0, 1e6, -1e9])
@pytest.mark.parametrize("name", ANCHORED)
def test_what_differences_see_has_all_its_digits(name, shift, d, container):
    parameters, mode = ANCHORED[name]
    X = np.round(64 * np.random.default_rng(d).normal(size=(12, d))) / 64 + shift
    anchored = Anchored.of(Kernel(**parameters), container(X))
    assert anchored.mode == ("far" if parameters["kernel"] == "poly" and shift else mode)
    assert (anchored.anchor is None) == (shift == 0 or anchored.mode == "steep")
    K = anchored.gram(container(X))
    assert_allclose(anchored.gram(container(X[:4]), container(X)), K[:4], rtol=1e-13)
    expected, sizes = centred(X, **parameters), anchored.sizes(container(X), K)
    centre(K)
    assert_allclose(K, expected, rtol=0, atol=2e-15 * np.abs(expected).max())
    assert_allclose(K, expected, rtol=0, atol=8 * np.finfo(float).eps * sizes.max())


def test_only_columns_far_from_0_are_moved():
    X = sparse.csr_array([[1950.0, 0.0, 3.0], [2024.0, 5.0, 0.0], [1999.0, 0.0, 0.0], [0, 0, 9.0]])
    anchor = find_anchor(X[:3])
    assert_allclose(anchor, [1991.0, 0.0, 0.0])
    moved = shift_rows(X, anchor)
    assert_allclose(moved.toarray(), X.toarray() - anchor)
    assert moved.nnz == 7
    assert find_anchor(sparse.csr_array(np.eye(4))) is None
    assert find_anchor(np.random.default_rng(0).uniform(size=(100, 3))) is None
    assert shift_rows(X, None) is X


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_two_groups_of_rows_far_from_each_other(far):
    X = np.round(64 * np.random.default_rng(0).normal(size=(20, 3))) / 64
    X[::2] += far
    expected = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    assert_allclose(Anchored.of(Kernel("rbf", 0.5), X).gram(X), expected, rtol=1e-12)

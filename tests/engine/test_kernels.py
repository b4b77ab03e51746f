import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, polynomial_kernel

from rankwise.engine.kernels import Kernel, polynomial_map


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_map_reproduces_the_kernel(degree, coef0, gamma):
    random = np.random.default_rng(degree)
    X, Z = random.normal(size=(7, 3)), random.normal(size=(5, 3))
    params = {"degree": degree, "gamma": gamma, "coef0": coef0}
    mapped = polynomial_map(X, **params) @ polynomial_map(Z, **params).T
    assert_allclose(mapped, polynomial_kernel(X, Z, **params), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("params", [{"degree": 0}, {"gamma": 0.0}, {"coef0": -1.0}])
def test_what_has_no_map_is_refused(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        polynomial_map(np.ones((2, 2)), **{"degree": 2, **params})


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

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import polynomial_kernel

from rankwise.engine.kernels import polynomial_map


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

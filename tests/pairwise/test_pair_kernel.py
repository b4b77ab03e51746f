import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from rankwise.pairwise import pair_kernel

X = np.random.default_rng(0).normal(size=(6, 2))
PAIRS = [[0, 1], [2, 3]]


def test_it_is_the_inner_product_of_differences():
    differences = X[[1, 3]] - X[[0, 2]]
    assert_allclose(pair_kernel(X, PAIRS), differences @ differences.T)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", X),
        ("kernel", "sine"),
        ("gamma", {1}),
        ("gamma", 0),
        ("degree", b""),
        ("coef0", X),
    ],
)
def test_odd_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of pair_kernel"):
        pair_kernel(X, PAIRS, **{"kernel": "poly", name: value})


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_what_no_float_can_hold_is_refused(kernel):
    with pytest.raises(ValueError, match="larger than a float can hold"):
        pair_kernel(X * 1e200, PAIRS, kernel=kernel)
    # rows so far from each other are as if at right angles
    assert_allclose(pair_kernel(X * 1e200, PAIRS, kernel="rbf"), 2 * np.eye(2))


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_origins_do_not_matter(kernel, offset):
    random = np.random.default_rng(0)
    X = np.round(64 * random.normal(size=(20, 3))) / 64
    pairs, others = random.permutation(20).reshape(10, 2), random.permutation(20).reshape(10, 2)
    expected = pair_kernel(X, pairs, None, others, kernel=kernel)
    for container in (np.asarray, csr_array):
        far = container(X + offset)
        found = pair_kernel(far, pairs, None, others, kernel=kernel)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        found = pair_kernel(far, pairs, far, others, kernel=kernel, gamma=1 / 3)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

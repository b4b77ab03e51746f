import numpy as np
import pytest
from numpy.testing import assert_allclose

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


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_what_no_float_can_hold_is_refused(kernel):
    with pytest.raises(ValueError, match="larger than a float can hold"):
        pair_kernel(X * 1e200, PAIRS, kernel=kernel)

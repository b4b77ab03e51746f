"""Numbers at both ends of what a float can hold, and what is no number."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.bounds import (
    auc_deviation,
    disjoint_pairs,
    empirical_rademacher,
    kernel_radius,
    margin_bound,
    prank_regret_bound,
    ranking_margin,
    stability_beta,
    stability_bound,
)

X, Y = np.array([[-2.0, 1.0], [0.0, 0.5], [2.0, 1.0]]), [1, 2, 3]
SIZES = [1e300, 1.7e308 / 4, 1e-300, 5e-324, 1.0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_lengths_of_any_size(size, container):
    rows = container(np.array([[3.0, 4.0], [0.0, 1.0]]) * (size / 8))
    assert_allclose(kernel_radius(rows), 5 * (size / 8), atol=2e-323)
    if size > 1e-100:
        expected = empirical_rademacher(np.array([[3.0, 4.0], [0.0, 1.0]]) / 8).value
        assert_allclose(empirical_rademacher(rows).value, expected * size)


def test_lengths_that_no_float_can_hold():
    wide = np.full((2, 2), 1.7e308) * [[1, -1], [-1, 1]]
    with pytest.raises(ValueError, match="longer than a float can hold"):
        kernel_radius(wide)
    with pytest.raises(ValueError, match="a float can hold: scale the features"):
        kernel_radius(wide, kernel="poly")
    with pytest.raises(ValueError, match="longer than a float can hold"):
        empirical_rademacher(wide)
    assert kernel_radius(wide, kernel="rbf") == 1.0
    assert empirical_rademacher(wide, kind="stumps").pieces["n_stumps"] == 3


@pytest.mark.parametrize("size", SIZES)
def test_margins_do_not_depend_on_the_size_of_the_ranker(size):
    coef, thresholds = np.array([1.0, 0.0]), np.array([-1.0, 1.0])
    expected = ranking_margin(X, Y, coef, thresholds)
    assert_allclose(ranking_margin(X, Y, size * coef, size * thresholds), expected)


def test_margins_of_long_rows():
    margin = ranking_margin(X * 1e307, Y, [1.0, 0.0], [-1e307, 1e307])
    assert_allclose(margin, 1 / math.sqrt(2))


def test_regret_bound_of_any_margin():
    for margin in (5e-324, 1e-200, 1e200, 1e307):
        assert not math.isnan(prank_regret_bound(X, Y, [1.0, 0.0], [-1.0, 1.0], margin).value)


def test_targets_of_any_size():
    pairs = disjoint_pairs([1.7e308, -1.7e308, 5e-324, 0.0], random_state=0)
    y = np.array([1.7e308, -1.7e308, 5e-324, 0.0])
    assert len(pairs) == 2
    assert (y[pairs[:, 0]] < y[pairs[:, 1]]).all()


def test_ordered_categories():
    y = pd.Series(pd.Categorical(["a", "b", "a", "b"], ["b", "a"], ordered=True))
    expected = disjoint_pairs([1, 0, 1, 0], random_state=0)
    assert disjoint_pairs(y, random_state=0).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("C", "kappa", "M", "m"), list(product(*[[1e-300, 1.0, 1e300]] * 3, [1, 2**62]))
)
def test_stability_of_any_size(C, kappa, M, m):
    for power in (1, 2):
        beta = stability_beta(C=C, kappa=kappa, m=m, power=power, M=M)
        logs = math.log10(4 * C) + 2 * math.log10(kappa) - math.log10(m)
        logs += 2 * math.log10(4 * M) if power == 2 else 0
        if -300 < logs < 300:
            assert_allclose(math.log10(beta.value), logs, rtol=1e-10, atol=1e-10)
        elif logs > 310:
            assert beta.value == math.inf
        bound = stability_bound(
            empirical=1.0, C=C, kappa=kappa, m=m, M=M, power=power, delta=5e-324
        )
        assert bound.value >= 1.0


def test_small_chances():
    assert math.isfinite(auc_deviation(10, 10, delta=5e-324).value)
    bound = margin_bound([1e308, -1e308], complexity=(0, 0), rho=[5e-324, 1.0], delta=5e-324)
    assert bound.pieces["margin_loss"] == 0.5
    assert bound.pieces["complexity"] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc_deviation(10**400, 1), "n_pos="),
        (lambda: stability_beta(C=10**400, kappa=1, m=1, power=1, M=1), "C="),
        (lambda: stability_beta(C=1, kappa=1, m=10**400, power=1, M=1), "m="),
        (lambda: stability_beta(C=1, kappa=1, m=1, power=1.0, M=1), "power="),
        (lambda: kernel_radius([[10**400]]), "X must be numbers"),
        (lambda: kernel_radius(np.ma.masked_equal(X, 0.5)), "X has a masked entry"),
        (lambda: margin_bound([1j], complexity=(0, 0), rho=1), "margins must be numbers"),
        (lambda: margin_bound([1], complexity=(0, 0), rho=[1j]), "rho must be numbers"),
        (lambda: disjoint_pairs(np.ma.masked_equal([1, 2], 2)), "y has a masked entry"),
        (lambda: ranking_margin(X, Y, [np.nan, 1], [0, 1]), "must be finite"),
        (lambda: ranking_margin(X, Y, [0, 1], [0, np.nan]), "rising order"),
        (lambda: kernel_radius(X, kernel=lambda *_: np.nan), "finite numbers"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

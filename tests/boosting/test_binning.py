"""Edges between bins, and the bins of values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise._core.threads import Pool
from rankwise.boosting.binning import bin_features, find_edges
from tests.boosting.blocks import column


@pytest.mark.parametrize("max_bins", [255, None])
def test_bins_count_the_edges_below(max_bins):
    random = np.random.default_rng(0)
    m = 3_000
    X = np.column_stack(
        [
            random.normal(size=m),
            np.exp(10 * random.normal(size=m)),
            random.integers(0, 9, size=m),
            np.where(random.uniform(size=m) < 0.1, np.nan, random.normal(size=m)),
            np.full(m, 2.0),
            np.full(m, np.nan),
            random.choice([-1.7e308, -1.0, 0.0, 5e-324, 1.7e308], size=m),
            np.append(np.full(m - 1, 0.5), 1e300),
            np.sort(random.normal(size=m)),
            1e-3 * random.standard_cauchy(size=m),
        ]
    )
    order = random.permutation(m)
    results = []
    for rows in (X, sparse.csr_array(X)):
        with Pool(2) as pool:
            bins, edges = bin_features(rows, order, None, max_bins, np.random.RandomState(0), pool)
        assert_array_equal(np.flatnonzero(bins.missing), [3, 5])
        for f in range(X.shape[1]):
            x = X[order, f]
            codes = column(bins, f, m)
            expected = np.where(np.isnan(x), len(edges[f]) + 1, np.searchsorted(edges[f], x))
            assert_array_equal(codes, expected)
        results.append(edges)
    assert len(results[0][0]) == (254 if max_bins else m - 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_edges(weighted):
    weight = np.ones(6) if weighted else None
    values = np.array([1.0, 2.0, 2.0, 3.0, 7.0, np.nan])
    assert_array_equal(find_edges(values, weight, None), [1.5, 2.5, 5.0])
    assert len(find_edges(np.full(3, np.nan), None, 10)) == 0
    close = np.array([1.0, np.nextafter(1.0, 2)])
    assert_array_equal(find_edges(close, None, 255), [1.0])
    assert np.isfinite(find_edges(np.array([-1.7e308, 1.7e308]), None, 255)).all()
    # Zeros fill one bin, and the others are still cut evenly.
    values = np.append(np.zeros(9_000), np.linspace(1, 2, 1_000))
    edges = find_edges(values, np.ones(10_000) if weighted else None, 50)
    assert 45 <= len(edges) <= 49
    counts = np.diff(np.searchsorted(values[9_000:], edges))
    assert counts.max() <= 2 * counts.min() + 2
    even = find_edges(np.arange(1_000.0), np.ones(1_000) if weighted else None, 10)
    assert_allclose(even, np.arange(100, 1_000, 100) - 0.5, atol=1)


@pytest.mark.parametrize("heavy", [1e20, 1e300])
def test_values_whose_weights_are_lost_beside_a_heavy_one_need_no_bins(heavy):
    edges = find_edges(np.arange(8.0), np.append(heavy, np.ones(7)), 4)
    assert_array_equal(edges, [0.5])

"""Scaling by what was seen: the definition row by row, and any cutting to the same bits."""

import numpy as np
import pytest

from rankwise.cli._loops import scale_as_seen


def by_definition(X):
    """Standardise each row by the mean and deviation of the rows up to it."""
    out = np.empty_like(X)
    for i in range(len(X)):
        seen = X[: i + 1]
        deviation = seen.std(axis=0)
        out[i] = (X[i] - seen.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return out


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_are_scaled_by_those_up_to_them(columns):
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(60, columns))
    X[:, 0] = 0.5
    seen, mean, variance = np.zeros((3, columns))
    scaled = scale_as_seen(np.ascontiguousarray(X.T), seen, mean, variance)
    assert np.allclose(scaled, by_definition(X), atol=1e-12)
    assert np.allclose(mean, X.mean(axis=0))
    assert np.allclose(variance, X.var(axis=0), atol=1e-12)
    assert variance[0] == 0
    assert (seen == 60).all()


def test_a_missing_number_is_the_mean_and_counts_for_nothing():
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(60, 2))
    holes = np.random.default_rng(1).uniform(size=60) < 0.3
    moments = np.zeros((3, 2))
    scaled = scale_as_seen(np.where([holes, np.zeros(60, bool)], np.nan, X.T), *moments)
    assert (scaled[holes, 0] == 0).all()
    assert np.allclose(scaled[~holes, 0], by_definition(X[~holes])[:, 0], atol=1e-12)
    assert np.allclose(scaled[:, 1], by_definition(X)[:, 1], atol=1e-12)
    assert moments[0].tolist() == [(~holes).sum(), 60]


@pytest.mark.parametrize("cuts", [[1], [2, 3], [0, 59], list(range(60))])
def test_any_cutting_gives_the_same_bits(cuts):
    X = np.random.default_rng(1).normal(size=(60, 4))
    X[::7, 2] = np.nan
    whole = scale_as_seen(np.ascontiguousarray(X.T), *np.zeros((3, 4)))
    moments, blocks = np.zeros((3, 4)), np.split(X, cuts)
    parts = [scale_as_seen(np.ascontiguousarray(block.T), *moments) for block in blocks]
    assert (np.vstack(parts) == whole).all()
    assert (moments[0] == [60, 60, 51, 60]).all()

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
    mean, variance = np.zeros(columns), np.zeros(columns)
    scaled = scale_as_seen(np.ascontiguousarray(X.T), 0, mean, variance)
    assert np.allclose(scaled, by_definition(X), atol=1e-12)
    assert np.allclose(mean, X.mean(axis=0))
    assert np.allclose(variance, X.var(axis=0), atol=1e-12)
    assert variance[0] == 0


@pytest.mark.parametrize("cuts", [[1], [2, 3], [0, 59], list(range(60))])
def test_any_cutting_gives_the_same_bits(cuts):
    X = np.random.default_rng(1).normal(size=(60, 4))
    whole = scale_as_seen(np.ascontiguousarray(X.T), 0, np.zeros(4), np.zeros(4))
    mean, variance = np.zeros(4), np.zeros(4)
    parts, seen = [], 0
    for part in np.split(X, cuts):
        parts.append(scale_as_seen(np.ascontiguousarray(part.T), seen, mean, variance))
        seen += len(part)
    assert (np.vstack(parts) == whole).all()

"""Settings for all tests."""

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import settings

mpl.use("agg")
settings.register_profile("default", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("default")


@pytest.fixture
def graded_rows():
    """Return a function that makes rows, targets, queries and weights for boosting."""
    return _graded_rows


def _graded_rows(levels, *, seed=0, m=40, missing=False):
    """Rows with real, coarse and constant features; targets of so many levels (None: real)."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 3] = 1.0
    y = X[:, 0] + np.sin(2 * X[:, 2]) + random.normal(0, 0.7, m)
    if levels is not None:
        y = np.searchsorted(np.quantile(y, np.arange(1, levels) / levels), y).astype(float) ** 2
    if missing:
        X[random.uniform(size=X.shape) < 0.2] = np.nan
    return X, y, random.integers(0, 4, size=m), random.uniform(0.2, 2, size=m)

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.datasets import make_ellipses, make_herbrich


def test_ranks_are_cut_from_the_saddle():
    X, y = make_herbrich(2000, noise=0, random_state=0)
    value = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    literal = [
        max([1] + [r + 2 for r, c in enumerate((-1, -0.1, 0.25, 1)) if v > c]) for v in value
    ]
    assert_array_equal(y, literal)
    assert X.min() >= 0
    assert X.max() <= 1


def test_noise_moves_some_ranks():
    X, y = make_herbrich(2000, random_state=0)
    again, same = make_herbrich(2000, random_state=0)
    assert_array_equal(X, again)
    assert_array_equal(y, same)
    assert 0.1 < np.mean(y != make_herbrich(2000, noise=0, random_state=0)[1]) < 0.2


@pytest.mark.parametrize(("n", "noise"), [(0, 0.1), (2.5, 0.1), (10, -1)])
def test_bad_arguments_are_refused(n, noise):
    with pytest.raises(ValueError, match="parameter"):
        make_herbrich(n, noise=noise)


@pytest.mark.parametrize(("n", "k", "ratio"), [(50, 5, 0.6), (2000, 5, 0.3), (1001, 3, 1.0)])
def test_ranks_are_rings_of_ellipses(n, k, ratio):
    X, y = make_ellipses(n, n_ranks=k, ratio=ratio, random_state=0)
    radii = np.sqrt(X[:, 0] ** 2 + (X[:, 1] / ratio) ** 2)
    assert_array_equal(y, 1 + np.searchsorted(np.arange(1, k) / k, radii))
    assert radii.max() <= 1
    counts = np.bincount(y, minlength=k + 1)[1:]
    assert np.ptp(counts) <= 1
    assert np.any(np.diff(y) < 0)


def test_rings_are_filled_evenly():
    X, y = make_ellipses(50_000, random_state=0)
    squares = 25 * (X[:, 0] ** 2 + (X[:, 1] / 0.6) ** 2)
    angles = np.arctan2(X[:, 1] / 0.6, X[:, 0])
    for r in range(1, 6):
        share = (squares[y == r] - (r - 1) ** 2) / (2 * r - 1)
        assert_allclose(np.quantile(share, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.02)
        assert_allclose(
            np.quantile(angles[y == r], [0.25, 0.75]), [-np.pi / 2, np.pi / 2], atol=0.1
        )


def test_noise_moves_the_points_of_ellipses():
    X, y = make_ellipses(5000, random_state=0)
    again, same = make_ellipses(5000, noise=0.2, random_state=0)
    assert_array_equal(y, same)
    assert_allclose((again - X).std(axis=0), 0.2, rtol=0.05)
    assert_allclose((again - X).mean(axis=0), 0, atol=0.02)


@pytest.mark.parametrize(
    "bad", [{"n_samples": 0}, {"n_ranks": 1}, {"ratio": 0}, {"ratio": 1.5}, {"noise": -1}], ids=str
)
def test_bad_ellipses_are_refused(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}.*parameter"):
        make_ellipses(**bad)

"""Thresholds against all others."""

import itertools

import numpy as np
import pytest

from rankwise.web._methods import fit_cuts


def graded(cuts, scores, levels):
    return levels[np.searchsorted(cuts, scores, side="right")]


def least(scores, ratings, levels):
    """The least distance of any rising grades, equal scores with one grade."""
    distinct = np.unique(scores)
    best = np.inf
    for grades in itertools.combinations_with_replacement(levels, len(distinct)):
        given = np.array(grades)[np.searchsorted(distinct, scores)]
        best = min(best, np.abs(given - ratings).sum())
    return best


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("n_levels", [1, 2, 3, 5])
def test_no_other_thresholds_fit_better(n_levels, ties, usual):
    g = np.random.default_rng(n_levels)
    levels = np.arange(1.0, n_levels + 1)
    middle = (levels[1:] + levels[:-1]) / 2 if usual else None
    for n in range(7):
        for _ in range(20):
            scores = g.integers(1, 5, n).astype(float) if ties else g.normal(3, 2, n)
            ratings = g.choice(levels, n)
            cuts = fit_cuts(scores, ratings, levels, middle)
            assert cuts.shape == (n_levels - 1,)
            assert (np.diff(cuts) >= 0).all()
            found = np.abs(graded(cuts, scores, levels) - ratings).sum()
            assert found == pytest.approx(least(scores, ratings, levels))


def test_usual_thresholds_stay_where_nothing_speaks_against_them():
    levels = np.arange(1.0, 6.0)
    usual = levels[1:] - 0.5
    assert fit_cuts(np.zeros(0), np.zeros(0), levels, usual).tolist() == usual.tolist()
    found = fit_cuts(np.array([4.6, 2.2]), np.array([5.0, 2.0]), levels, usual)
    assert found.tolist() == usual.tolist()
    found = fit_cuts(np.array([4.2, 2.2]), np.array([5.0, 2.0]), levels, usual)
    assert found[:3].tolist() == usual[:3].tolist()
    assert 3.5 <= found[3] <= 4.2


def test_inputs_are_left_alone():
    arrays = np.array([3.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([1.5])
    for array in arrays:
        array.flags.writeable = False
    fit_cuts(*arrays)

"""K. Crammer and Y. Singer, Pranking with ranking, NIPS 2001."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose

from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_figure_1_shows_the_thresholds_of_the_update():
    """Figure 1: the thresholds between guess and truth move down by 1, and the score moves up."""
    shown = runpy.run_path(str(EXAMPLES / "plot_update.py"))
    (x,), (rank,) = shown["x"], shown["rank"]
    drawn, points = [], []
    for ax in shown["axes"]:
        (lines,) = ax.collections
        drawn.append(np.sort([segment[0, 0] for segment in lines.get_segments()]))
        (point,) = ax.lines
        points.append(float(point.get_xdata()[0]))
    titles = [ax.get_title() for ax in shown["axes"]]
    plt.close(shown["fig"])
    guess = 1 + int((points[0] >= drawn[0]).sum())
    error_set = [r for r in range(1, 5) if guess <= r < rank]
    assert (guess, rank) == (2, 4)
    assert titles[0] == "true rank 4, predicted 2"
    moved = [-1.0 if r in error_set else 0.0 for r in range(1, 5)]
    assert_allclose(drawn[1] - drawn[0], moved, atol=1e-12)
    assert_allclose(points[1] - points[0], len(error_set) * (x @ x), atol=1e-12)
    assert titles[1] == f"true rank 4, predicted {1 + int((points[1] >= drawn[1]).sum())}"


def test_numbers_of_parameters():
    """Section 4: PRank has n + k - 1 parameters, the multiclass perceptron k n, Widrow-Hoff n."""
    n, k = 7, 5
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, n)), np.arange(60) % k + 1
    prank = PRank(vote=None).fit(X, y)
    assert prank.coef_.size + prank.thresholds_.size == n + k - 1
    assert MulticlassPerceptron(vote=None, fit_intercept=False).fit(X, y).coef_.size == k * n
    hoff = WidrowHoff(0.01, step="plain", fit_intercept=False).fit(X, y)
    assert hoff.coef_.size == n
    # what is rounded is w.x itself: no offset is learned beside the n
    assert_allclose(hoff.project(X), X @ hoff.coef_, atol=1e-12)
    assert_allclose(hoff.thresholds_, [1.5, 2.5, 3.5, 4.5])

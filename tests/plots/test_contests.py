"""Displays of models of contests."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot as plt

from rankwise.contests import BradleyTerry, PlackettLuce
from rankwise.ordinal import PRank
from rankwise.plots import (
    ContestCalibrationDisplay,
    RaterDisplay,
    StrengthDisplay,
    WinMatrixDisplay,
)


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    first = random.integers(5, size=400)
    second = (first + random.integers(1, 5, size=400)) % 5
    outcome = (random.random(400) < 1 / (1 + np.exp(0.5 * (first - second)))).astype(float)
    return BradleyTerry().fit(first, second, outcome, rater=random.integers(3, size=400))


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_strengths_and_places(model):
    display = StrengthDisplay.from_estimator(model)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [str(item) for item in model.ranking().order]
    (line,) = (x for x in display.ax_.lines if x.get_marker() == "o")
    np.testing.assert_allclose(line.get_xdata(), np.sort(model.strengths_)[::-1])
    places = StrengthDisplay.from_estimator(model, places=True, max_items=3, level=0.5)
    assert places.middle.tolist() == [1, 2, 3]
    assert places.ax_.get_xlabel() == "place, 50 % at once"
    votes = PlackettLuce().fit([["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]])
    assert StrengthDisplay.from_estimator(votes).names[0] == "b"


def test_wins_raters_and_calibration(model):
    wins = WinMatrixDisplay.from_estimator(model)
    assert np.isnan(np.diag(wins.shares)).all()
    order = model.ranking().order
    for i, j in ((0, 1), (2, 4)):
        pairs = model.goodness_of_fit().residuals
        u, v = order[i], order[j]
        row = np.flatnonzero((pairs.first == min(u, v)) & (pairs.second == max(u, v)))[0]
        share = pairs.observed[row] if u < v else 1 - pairs.observed[row]
        assert wins.shares[i, j] == pytest.approx(share)
        assert wins.shares[j, i] == pytest.approx(1 - share)
    raters = RaterDisplay.from_estimator(model)
    assert (np.diff(raters.middle) <= 0).all()
    RaterDisplay([str(i) for i in range(99)], np.zeros(99), -np.ones(99), np.ones(99) / 2).plot()
    found = ContestCalibrationDisplay.from_estimator(model, n_bins=4)
    assert found.n.sum() == pytest.approx(400)


def test_refusals(model):
    with pytest.raises(ValueError, match="PRank has no table"):
        StrengthDisplay.from_estimator(PRank())
    with pytest.raises(ValueError, match="has no raters"):
        RaterDisplay.from_estimator(BradleyTerry().fit([1, 2], [2, 1], [1, 1]))
    with pytest.raises(ValueError, match="max_items=0"):
        WinMatrixDisplay.from_estimator(model, max_items=0)
    with pytest.raises(ValueError, match="give the same number"):
        StrengthDisplay(["a"], [1, 2], [1], [1], label="x")
    with pytest.raises(ValueError, match="shape"):
        WinMatrixDisplay(["a"], [[1, 2]])
    for cls in (RaterDisplay, ContestCalibrationDisplay):
        with pytest.raises(ValueError, match="at least one"):
            cls(*([[]] * (4 if cls is RaterDisplay else 3)))

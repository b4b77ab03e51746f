import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_curve
from sklearn.naive_bayes import GaussianNB

from rankwise.metrics import auc_difference_test, auc_interval, auc_score
from rankwise.plots import ROCDisplay
from rankwise.plots._roc import roc_band

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
Y = (X[:, 0] + RANDOM.normal(size=120) > 0.5).astype(int)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_curve_interval_and_band():
    s = X[:, 0]
    display = ROCDisplay.from_predictions(Y, s, level=0.9)
    across, up, _ = roc_curve(Y, s)
    line = display.lines_["scores"]
    assert np.array_equal(line.get_xdata(), across)
    assert np.array_equal(line.get_ydata(), up)
    assert display.aucs == {"scores": auc_score(Y, s)}
    assert display.intervals == {"scores": auc_interval(Y, s, level=0.9)}
    assert display.pvalue is None
    assert len(display.ax_.collections) == 1
    assert "90%" in display.ax_.get_legend().get_title().get_text()


def test_scores_of_models():
    logistic, bayes = LogisticRegression().fit(X, Y), GaussianNB().fit(X, Y)
    ridge = Ridge().fit(X, Y)
    display = ROCDisplay.from_estimator({"a": logistic, "b": bayes}, X, Y)
    assert display.aucs["a"] == auc_score(Y, logistic.decision_function(X))
    assert display.aucs["b"] == auc_score(Y, bayes.predict_proba(X)[:, 1])
    test = auc_difference_test(Y, logistic.decision_function(X), bayes.predict_proba(X)[:, 1])
    assert display.pvalue == test[1]
    assert f"{test[1]:.2g}" in display.ax_.get_title()
    _, ax = plt.subplots()
    single = ROCDisplay.from_estimator(ridge, X, Y, ax=ax)
    assert single.ax_ is ax
    assert single.aucs == {"Ridge": auc_score(Y, ridge.predict(X))}


def test_many_models_have_no_bands():
    display = ROCDisplay.from_predictions(Y, {f"x{i}": X[:, i] for i in range(3)})
    assert not display.ax_.collections
    assert display.pvalue is None
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown[0].startswith("x0")


@pytest.mark.parametrize("tied", [False, True])
def test_bands_hold_the_true_curve(tied):
    """At a low level, so that a band which is too narrow is seen to fail."""
    random = np.random.default_rng(0)
    level, held = 0.5, []
    cuts = np.array([-0.5, 0.5, 1.5])
    positive = np.repeat([True, False], [25, 60])
    for _ in range(300):
        s = random.normal(size=85) + positive
        s = np.searchsorted(cuts, s).astype(float) if tied else s
        x, lower, upper = roc_band(positive, s, level=level)
        if tied:
            points = np.r_[np.inf, cuts[::-1], -np.inf]
            truth = np.interp(x, norm.sf(points), norm.sf(points - 1))
        else:
            truth = norm.sf(norm.isf(x) - 1)
        held.append(np.all((lower <= truth + 1e-12) & (truth <= upper + 1e-12)))
    assert np.mean(held) > level - 0.05


def test_band_follows_level_and_size():
    wide, narrow = (roc_band(Y == 1, X[:, 0], level=level) for level in (0.99, 0.5))
    assert np.all(wide[1] <= narrow[1])
    assert np.all(wide[2] >= narrow[2])
    many = roc_band(np.tile(Y == 1, 100), np.tile(X[:, 0], 100), level=0.95)
    assert np.mean(many[2] - many[1]) < 0.3 * np.mean(narrow[2] - narrow[1])
    one = roc_band(np.array([True, False]), np.array([1.0, 0.0]), level=0.95)
    assert np.all(one[1] == 0)
    assert np.all(one[2] == 1)


def test_nothing_to_draw_is_named():
    with pytest.raises(ValueError, match="scores is empty"):
        ROCDisplay(Y, {})
    with pytest.raises(ValueError, match="no comparable pair"):
        ROCDisplay.from_predictions([1, 1], [1, 2])
    with pytest.raises(ValueError, match="two classes"):
        ROCDisplay.from_predictions([1, 2, 3], [1, 2, 3])

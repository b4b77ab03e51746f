"""What a display can't draw is refused with a sentence that names it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rankwise.boosting import RankBoost
from rankwise.magnitude import MPRank
from rankwise.metrics import auc_score
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank
from rankwise.pairwise import RankSVM
from rankwise.plots import (
    DecisionRegionDisplay,
    FeatureScoreDisplay,
    OnlineLossDisplay,
    ProjectionDisplay,
    ROCDisplay,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
Y = (X[:, 0] + RANDOM.normal(size=60) > 0).astype(int)

DRAW = {
    FeatureScoreDisplay: FeatureScoreDisplay.from_estimator,
    ProjectionDisplay: lambda model: ProjectionDisplay.from_estimator(model, X, Y),
    DecisionRegionDisplay: lambda model: DecisionRegionDisplay.from_estimator(
        model, X, Y, grid_resolution=5
    ),
    ROCDisplay: lambda model: ROCDisplay.from_estimator(model, X, Y),
}
MODELS = [
    PRank(), PRank(vote="voted"), OAPRank(), MulticlassPerceptron(), RankBoost(3), RankSVM(),
    MPRank(), LinearRegression(), LogisticRegression(), RidgeClassifier(), GaussianNB(),
    DecisionTreeClassifier(), StandardScaler(), KNeighborsRegressor(),
    make_pipeline(StandardScaler(), RankBoost(3)), make_pipeline(StandardScaler(), PRank()),
    make_pipeline(StandardScaler()),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("display", DRAW)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_a_model_is_drawn_or_named(display, model):
    model.fit(X, Y)
    needed = {
        FeatureScoreDisplay: ["feature_score"],
        ProjectionDisplay: ["project", "thresholds_"],
        DecisionRegionDisplay: ["predict", "classes_"],
        ROCDisplay: ["predict"],
    }[display]
    silent = display is ROCDisplay and getattr(model, "vote", None) == "voted"
    if all(hasattr(model, name) for name in needed) and not silent:
        assert DRAW[display](model).figure_ is not None
        return
    with pytest.raises(ValueError, match=f"{type(model).__name__} has (no|neither) "):
        DRAW[display](model)
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DRAW)
@pytest.mark.parametrize("model", ["PRank", None, 3, DBSCAN()])
def test_what_is_no_model_is_refused(display, model):
    with pytest.raises((ValueError, TypeError)):
        DRAW[display](model)


@pytest.mark.parametrize(
    ("display", "model"),
    [
        (FeatureScoreDisplay, RankBoost()),
        (ProjectionDisplay, PRank()),
        (DecisionRegionDisplay, PRank()),
        (DecisionRegionDisplay, LogisticRegression()),
        (ROCDisplay, PRank()),
        (ROCDisplay, RankSVM()),
        (ROCDisplay, LinearRegression()),
        (ROCDisplay, GaussianNB()),
    ],
)
def test_unfitted_models(display, model):
    with pytest.raises(NotFittedError):
        DRAW[display](model)


def test_feature_scores_of_others():
    for model in (PRank(), LinearRegression(), DecisionTreeClassifier()):
        with pytest.raises(ValueError, match=f"{type(model).__name__} has no feature_score"):
            FeatureScoreDisplay.from_estimator(model.fit(X, Y))


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"features": [5]}, "features holds 5"),
        ({"features": [-1]}, "features holds -1"),
        ({"features": ["a"]}, "features="),
        ({"features": [0.5]}, "features="),
        ({"features": []}, "features="),
        ({"n_features": 0}, "n_features=0"),
        ({"n_features": 1.5}, "n_features=1.5"),
        ({"n_features": "all"}, "n_features='all'"),
    ],
)
def test_bad_features(chosen, message):
    model = RankBoost(3).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        FeatureScoreDisplay.from_estimator(model, **chosen)


def test_axes_must_be_axes():
    for draw in (
        lambda ax: ROCDisplay.from_predictions(Y, X[:, 0], ax=ax),
        lambda ax: ProjectionDisplay([0.0], [1], [0.0], [1, 2]).plot(ax),
        lambda ax: OnlineLossDisplay({"a": [1.0, 0.5]}).plot(ax),
    ):
        with pytest.raises(TypeError, match="ax='here' must be matplotlib Axes"):
            draw("here")


@pytest.mark.parametrize("level", [0, 1, np.nan, "95", None])
def test_bad_level(level):
    with pytest.raises(ValueError, match="level="):
        OnlineLossDisplay({"a": [1.0, 0.5]}, level=level)
    with pytest.raises(ValueError, match="level="):
        ROCDisplay.from_predictions(Y, X[:, 0], level=level)


@pytest.mark.parametrize("level", [5e-324, 1e-9, np.nextafter(1, 0)])
def test_any_level(level):
    assert ROCDisplay.from_predictions(Y, X[:, 0], level=level).level == level


@pytest.mark.parametrize("curve", [[], [np.nan, 1], ["a"], [[[1.0]]], None, {}])
def test_bad_curves(curve):
    with pytest.raises(ValueError, match="the curve of a"):
        OnlineLossDisplay({"a": curve})


def test_names_are_needed():
    for call in (
        lambda: OnlineLossDisplay([[1.0]]),
        lambda: OnlineLossDisplay.from_predictions([1, 2], [1, 2]),
        lambda: ROCDisplay([0, 1], [1, 2]),
        lambda: FeatureScoreDisplay([1]),
    ):
        with pytest.raises(TypeError, match="must be a dict"):
            call()


def test_scores_of_any_size():
    scores = np.where(X[:, 0] > 0, 1.7e308, -1.7e308)
    scores[0] = 5e-324
    display = ROCDisplay.from_predictions(Y, scores)
    assert display.aucs["scores"] == auc_score(Y, scores)
    display.figure_.canvas.draw()


def test_classes_of_an_ordered_categorical():
    words = pd.Categorical(np.array(["no", "yes"])[Y], ["no", "yes"], ordered=True)
    reverse = pd.Categorical(np.array(["b", "a"])[Y], ["b", "a"], ordered=True)
    for y in (words, pd.Series(reverse)):
        display = ROCDisplay.from_predictions(y, X[:, 0])
        assert display.aucs["scores"] == auc_score(Y, X[:, 0])
        up = display.lines_["scores"].get_ydata()
        assert up[-1] == 1


def test_masked_scores():
    with pytest.raises(ValueError, match="the scores of scores has a masked entry"):
        ROCDisplay.from_predictions(Y, np.ma.masked_less(X[:, 0], 0))
    with pytest.raises(ValueError, match="projections has a masked entry"):
        ProjectionDisplay(np.ma.masked_less(X[:, 0], 0), Y, [0.0], [0, 1])


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier with predictions and no scores."""

    def fit(self, X, y):  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_classifier_without_scores():
    with pytest.raises(ValueError, match="Silent has neither decision_function nor predict_proba"):
        ROCDisplay.from_estimator(Silent().fit(X, Y), X, Y)


def test_projections_too_large_to_draw():
    with pytest.raises(ValueError, match=r"projections must be .* below 1e\+300"):
        ProjectionDisplay([1.7e308, 0.0], [1, 2], [0.0], [1, 2])
    with pytest.raises(ValueError, match=r"X must be .* below"):
        DecisionRegionDisplay.from_estimator(PRank().fit(X, Y), 1.7e308 * np.sign(X), Y)


@pytest.mark.parametrize("axes", [{1, 2}, np.array(1.0), [1], [[1, 2], [3]]])
def test_odd_axes_are_named(axes):
    model = RankBoost(2).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=r"^axes"):
        FeatureScoreDisplay.from_estimator(model, features=[0], axes=axes)


def test_scores_that_are_none_are_named():
    with pytest.raises(TypeError, match=r"scores\['a'\] must be a FeatureScore, not 1"):
        FeatureScoreDisplay({"a": 1})


@pytest.mark.parametrize("streams", [[1], [(X, Y), None], [(X,)], {"a": 1}, [], [(X, Y), (X, [1])]])
def test_odd_streams_are_named(streams):
    with pytest.raises(ValueError, match="streams must be one or more"):
        OnlineLossDisplay.from_estimators([PRank()], streams)


def test_streams_may_be_made_on_the_way():
    display = OnlineLossDisplay.from_estimators([PRank()], ((X, Y) for _ in range(2)))
    assert display.curves["PRank"].shape == (2, 60)
    plt.close("all")


@pytest.mark.parametrize("name", ["x1", "x2", "regions"])
@pytest.mark.parametrize("value", ["", {"a": 1}, iter([1]), [[1, 2], True]])
def test_odd_grids_are_named(name, value):
    grid = {"x1": [0.0, 1.0], "x2": [0.0, 1.0], "regions": [[0, 1], [0, 1]]} | {name: value}
    with pytest.raises(ValueError, match=rf"^{name} "):
        DecisionRegionDisplay(**grid, X=X, y_true=Y, y_pred=Y, labels=[0, 1])


def test_curves_that_no_axis_can_show_are_named():
    with pytest.raises(ValueError, match="the curve of a must be finite numbers below"):
        OnlineLossDisplay({"a": [[1e307, -1e307], [-1e307, 1e307]]})

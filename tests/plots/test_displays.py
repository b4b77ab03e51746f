import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.boosting import FeatureScore, RankBoost
from rankwise.datasets import make_herbrich
from rankwise.metrics import mean_interval
from rankwise.model_selection import progressive_validation
from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff
from rankwise.plots import FeatureScoreDisplay, OnlineLossDisplay, ProjectionDisplay

STREAMS = [make_herbrich(120, random_state=seed) for seed in range(4)]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_curves_are_the_mean_over_streams():
    display = OnlineLossDisplay.from_estimators([PRank(), WidrowHoff()], STREAMS)
    expected = np.mean([progressive_validation(PRank(), *s).loss_curve for s in STREAMS], axis=0)
    line = display.lines_["PRank"]
    rounds = line.get_xdata().astype(int)
    assert rounds[0] == 1
    assert rounds[-1] == 120
    assert_allclose(line.get_ydata(), expected[rounds - 1])
    assert len(display.ax_.collections) == 2


def test_bands_follow_the_level():
    curves = {"a": np.array([[1.0, 2.0], [3.0, 4.0], [2.0, 3.0]])}
    for level in (0.5, 0.99):
        band = OnlineLossDisplay(curves, level=level).plot().ax_.collections[0]
        heights = band.get_paths()[0].vertices[:, 1]
        mean, half_width = mean_interval(curves["a"], level=level)
        assert_allclose(
            [heights.min(), heights.max()], [(mean - half_width)[0], (mean + half_width)[1]]
        )


def test_one_stream_has_no_band():
    display = OnlineLossDisplay.from_estimators({"a": PRank()}, STREAMS[:1])
    assert not display.ax_.collections


def test_curves_from_predictions():
    y = STREAMS[0][1]
    result = progressive_validation(PRank(), *STREAMS[0])
    _, ax = plt.subplots()
    display = OnlineLossDisplay.from_predictions(
        y, {"PRank": result.predictions}, labels=[1, 2, 3, 4, 5], ax=ax
    )
    assert display.ax_ is ax
    assert_allclose(display.lines_["PRank"].get_ydata()[-1], result.loss_curve[-1])


def test_names_and_lengths_are_checked():
    with pytest.raises(ValueError, match="repeats"):
        OnlineLossDisplay.from_estimators([PRank(), PRank(vote="averaged")], STREAMS)
    with pytest.raises(ValueError, match="same length"):
        OnlineLossDisplay.from_estimators([PRank()], [STREAMS[0], make_herbrich(5)])
    with pytest.raises(ValueError, match="same length"):
        OnlineLossDisplay.from_estimators([PRank()], [])


@pytest.mark.parametrize("model", [PRank(vote="averaged"), WidrowHoff()], ids=str)
def test_projection_counts_the_mistakes(model):
    X, y = STREAMS[0]
    model.fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    assert display.n_mistakes == np.sum(model.predict(X) != y)
    good, bad = display.ax_.collections[-2:]
    assert len(bad.get_offsets()) == display.n_mistakes
    assert len(good.get_offsets()) == len(y) - display.n_mistakes
    again = ProjectionDisplay.from_predictions(
        model.project(X), y, thresholds=model.thresholds_, labels=model.classes_
    )
    assert again.n_mistakes == display.n_mistakes


def test_projection_of_a_constant_score():
    display = ProjectionDisplay.from_predictions(
        [0.0, 0.0], ["a", "b"], thresholds=[0.0], labels=["a", "b"]
    )
    assert display.n_mistakes == 1


def test_models_without_a_line_are_refused():
    X, y = STREAMS[0]
    with pytest.raises(ValueError, match="thresholds_"):
        ProjectionDisplay.from_estimator(MulticlassPerceptron().fit(X, y), X, y)
    with pytest.raises(ValueError, match="curves is empty"):
        OnlineLossDisplay({})


@pytest.mark.parametrize(
    ("projections", "y", "thresholds", "message"),
    [
        ([0.0], [1], [0.0, 1.0], "thresholds"),
        ([0.0, 1.0], [1], [0.0], "inconsistent"),
        ([np.nan], [1], [0.0], "finite"),
        ([0.0], [3], [0.0], "label 3"),
    ],
)
def test_bad_projections_are_named(projections, y, thresholds, message):
    with pytest.raises(ValueError, match=message):
        ProjectionDisplay(projections, y, thresholds, [1, 2])


def test_many_rows_are_drawn_from_everywhere():
    display = ProjectionDisplay(np.arange(5000.0), np.ones(5000), [6000.0], [1, 2]).plot()
    drawn = display.ax_.collections[-2].get_offsets()[:, 0]
    assert len(drawn) == 2000
    assert drawn.max() > 4000


def test_scores_of_features():
    import pandas as pd

    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = X["a"] + np.sin(2 * X["b"]) > 0.5
    X.loc[random.uniform(size=400) < 0.2, "b"] = np.nan
    model = RankBoost(40).fit(X, y)
    display = FeatureScoreDisplay.from_estimator(model, n_features=2)
    assert {ax.get_xlabel() for ax in display.axes_} == {"a", "b"}
    for ax in display.axes_:
        cuts, scores, missing = model.feature_score("abc".index(ax.get_xlabel()))
        values, edges, _ = ax.patches[0].get_data()
        assert_allclose(edges[1:-1], cuts)
        assert_allclose(np.diff(values), np.diff(scores))
        lines = [line for line in ax.lines if line.get_label() == "missing"]
        assert len(lines) == (ax.get_xlabel() == "b")
        for line in lines:
            assert_allclose(line.get_ydata()[0] - values[0], missing - scores[0])
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    _, axes = plt.subplots(1, 3)
    display = FeatureScoreDisplay.from_estimator(model, features=[2, 0, 1], axes=axes)
    assert [ax.get_xlabel() for ax in axes] == ["c", "a", "b"]
    with pytest.raises(ValueError, match="3 panels for 1"):
        FeatureScoreDisplay.from_estimator(model, features=[2], axes=axes)
    with pytest.raises(ValueError, match="empty"):
        FeatureScoreDisplay({})
    flat = FeatureScoreDisplay({"x": FeatureScore(np.empty(0), np.zeros(1), 0.0)}).plot()
    assert len(flat.axes_) == 1


def test_models_may_come_from_a_generator():
    X, y = make_herbrich(50, random_state=0)
    models = (model for model in (PRank(), WidrowHoff()))
    display = OnlineLossDisplay.from_estimators(models, [(X, y)])
    assert list(display.curves) == ["PRank", "WidrowHoff"]
    plt.close(display.figure_)

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rankwise.datasets import make_ellipses
from rankwise.ordinal import MulticlassPerceptron, PRank, WidrowHoff
from rankwise.plots import DecisionRegionDisplay
from rankwise.plots._axes import rank_colors

X, Y = make_ellipses(60, random_state=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def painted(display, points):
    """Return the colours of the picture at points, without what is drawn over the regions."""
    for artist in [*display.ax_.collections, *display.ax_.spines.values()]:
        artist.set_visible(artist.get_zorder() < 2 and len(artist.get_facecolor()) > 0)
    display.figure_.canvas.draw()
    picture = np.asarray(display.figure_.canvas.buffer_rgba())[::-1, :, :3] / 255
    column, row = display.ax_.transData.transform(points).astype(int).T
    return picture[row, column]


@pytest.mark.parametrize(
    "model",
    [
        PRank(epochs=5),
        MulticlassPerceptron(epochs=5),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), WidrowHoff(0.01)),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regions_and_mistakes_are_the_predictions(model):
    model.fit(X, Y)
    display = DecisionRegionDisplay.from_estimator(model, X, Y, grid_resolution=30)
    for i, j in [(0, 0), (3, 20), (15, 15), (29, 7)]:
        expected = model.predict([[display.x1[j], display.x2[i]]])[0]
        assert display.labels[display.regions[i, j]] == expected
    assert display.x1[0] < X[:, 0].min() < X[:, 0].max() < display.x1[-1]
    assert display.x2[0] < X[:, 1].min() < X[:, 1].max() < display.x2[-1]
    right = model.predict(X) == Y
    assert display.n_mistakes == np.sum(~right) > 0
    assert f"{np.sum(~right)} of 60" in display.ax_.get_title()
    for drawn, kept in zip(display.ax_.collections[-2:], [right, ~right], strict=True):
        order = np.lexsort(drawn.get_offsets().T)
        truth = np.lexsort(X[kept].T)
        assert_array_equal(drawn.get_offsets()[order], X[kept][truth])
        assert_allclose(drawn.get_facecolors()[order], rank_colors(5)[Y[kept][truth] - 1])


def test_the_plane_has_the_colours_of_the_legend():
    x1, x2 = np.arange(8.0), np.arange(4.0)
    regions = np.tile([2, 2, 0, 0, 3, 3, 1, 1], (4, 1))
    display = DecisionRegionDisplay(x1, x2, regions, [[0, 1]], [2], [2], [0, 1, 2, 3]).plot()
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2", "3"]
    named = np.array([to_rgb(handle.get_color()) for handle in legend.legend_handles])
    # On both sides of a border close to it, where a rank in between would show.
    places = np.array([0.1, 1.3, 1.7, 3.3, 3.7, 5.3, 5.7, 6.9])
    seen = painted(display, np.column_stack([places, np.full(8, 1.5)]))
    assert_allclose(1 - seen, 0.35 * (1 - named[regions[0]]), atol=0.01)


def test_labels_keep_their_order():
    names = np.array(["poor", "fair", "good", "great", "best"])
    model = PRank(epochs=5, label_order=names).fit(X, names[Y - 1])
    display = DecisionRegionDisplay.from_estimator(model, X, names[Y - 1])
    plain = DecisionRegionDisplay.from_estimator(PRank(epochs=5).fit(X, Y), X, Y)
    assert_array_equal(display.regions, plain.regions)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == list(names)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_name_the_axes(frame):
    rows = frame({"length": X[:, 0], "width": X[:, 1]})
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, Y)
    _, ax = plt.subplots()
    display = DecisionRegionDisplay.from_estimator(model, rows, Y, grid_resolution=20, ax=ax)
    assert display.ax_ is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    assert display.regions.shape == (20, 20)


def test_one_point_and_one_region_can_be_drawn():
    model = PRank(label_order=[1, 2, 3]).partial_fit([[0.0, 0.0]], [3])
    display = DecisionRegionDisplay.from_estimator(model, [[2.0, 1.0]], [1])
    assert_array_equal(np.unique(display.regions), [2])
    fills, points = 2, 2
    assert len(display.ax_.collections) == fills + points
    assert display.n_mistakes == 1


def test_many_points_are_thinned():
    many, ranks = make_ellipses(5000, random_state=0)
    display = DecisionRegionDisplay.from_estimator(PRank().fit(many, ranks), many, ranks)
    assert sum(len(drawn.get_offsets()) for drawn in display.ax_.collections[-2:]) == 2000
    assert "of 5,000" in display.ax_.get_title()


def test_many_ranks_leave_room_for_the_plane():
    rows, ranks = make_ellipses(400, n_ranks=40, random_state=0)
    display = DecisionRegionDisplay.from_estimator(PRank().fit(rows, ranks), rows, ranks)
    names = [int(text.get_text()) for text in display.ax_.get_legend().get_texts()]
    assert len(names) == 10
    assert (names[0], names[-1]) == (1, 40)
    display.figure_.canvas.draw()


def test_what_cannot_be_drawn_is_refused():
    draw = DecisionRegionDisplay.from_estimator
    model = PRank().fit(X, Y)
    wide = np.hstack([X, X[:, :1]])
    with pytest.raises(ValueError, match="X has 3 features"):
        draw(PRank().fit(wide, Y), wide, Y)
    for unfitted in (PRank(), make_pipeline(StandardScaler(), PRank())):
        with pytest.raises(NotFittedError):
            draw(unfitted, X, Y)
    with pytest.raises(ValueError, match="LinearRegression has no classes_"):
        draw(LinearRegression().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="y contains the label 9"):
        draw(model, X, np.where(Y == 1, 9, Y))
    with pytest.raises(ValueError, match="inconsistent"):
        draw(model, X, Y[1:])
    for resolution in (1, 2.5, "fine"):
        with pytest.raises(ValueError, match="grid_resolution"):
            draw(model, X, Y, grid_resolution=resolution)
    with pytest.raises(ValueError, match="regions has the shape"):
        DecisionRegionDisplay([0, 1, 2], [0, 1], np.ones((3, 2)), X, Y, Y, [1, 2, 3, 4, 5])
    assert not plt.get_fignums()

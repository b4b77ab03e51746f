"""Ordered labels of every kind through the estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.datasets import make_herbrich
from rankwise.metrics import neg_mean_rank_loss_scorer
from rankwise.papers import prank

X, RANKS = make_herbrich(200, random_state=0)
WORDS = ["awful", "poor", "fair", "good", "superb"]


def test_strings_without_an_order_warn_and_sort():
    with pytest.warns(UserWarning, match="alphabetically") as caught:
        model = prank().fit(X, np.array(WORDS)[RANKS - 1])
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == sorted(WORDS)


def test_object_strings_and_polars_follow_label_order():
    words = np.array(WORDS)[RANKS - 1]
    expected = prank().fit(X, RANKS)
    for y in (words, words.astype(object), words.tolist(), pl.Series(words), pd.Series(words)):
        model = prank(label_order=WORDS).fit(X, y)
        assert_array_equal(model.coef_, expected.coef_)


def test_polars_enum_gives_the_order():
    words = pl.Series(np.array(WORDS)[RANKS - 1], dtype=pl.Enum(WORDS))
    model = prank().fit(X, words)
    assert model.classes_.tolist() == WORDS
    assert_array_equal(model.coef_, prank().fit(X, RANKS).coef_)


def test_half_stars_need_a_label_order():
    stars = RANKS / 2
    with pytest.raises(ValueError, match=r"continuous.*label_order"):
        prank().fit(X, stars)
    model = prank(label_order=[0.5, 1.0, 1.5, 2.0, 2.5]).fit(X, stars)
    assert set(model.predict(X)) <= {0.5, 1.0, 1.5, 2.0, 2.5}
    streamed = prank().partial_fit(X, stars, classes=[2.5, 0.5, 1.0, 1.5, 2.0])
    assert_array_equal(streamed.coef_, model.coef_)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"label_order": [1]}, [1, 1], "at least two"),
        ({"label_order": [1, 2, 1]}, [1, 2], "duplicated label"),
        ({"label_order": [1, 2]}, [1, 3], "label 3"),
        ({"label_order": ["a", "b"]}, [1, 2], "label 1 "),
        ({}, [], "inconsistent"),
        ({}, [1.0, np.nan], "NaN"),
        ({}, [1.0, np.inf], "infinity"),
        ({}, np.array(["2020-01-01", "NaT"], dtype="M8[D]"), "NaN"),
        ({}, pd.Series(["a", None], dtype="string"), "NaN"),
        ({}, np.ma.array([1, 2], mask=[0, 1]), "masked"),
        ({"label_order": [np.nan, 1]}, [1, 1], "NaN"),
        ({}, np.array(["a", None], dtype=object), "NaN"),
        ({}, pd.Categorical(["a", None], categories=["a", "b"], ordered=True), "NaN"),
        ({}, [1 + 2j, 2], "Complex"),
        ({}, np.array([1, "a"], dtype=object), "sorted"),
        ({}, [[1, 2], [2, 1]], "1d array"),
        ({}, None, "y is None"),
    ],
)
def test_bad_labels_are_named(params, y, message):
    with pytest.raises(ValueError, match=message):
        prank(**params).fit([[1.0], [2.0]], y)


def test_categories_may_not_change_within_a_stream():
    def words(names):
        return pd.Categorical(["low", "top"], categories=names, ordered=True)

    rows = [[1.0], [2.0]]
    model = prank().partial_fit(rows, words(["low", "mid", "top"]))
    model.partial_fit(rows, words(["low", "top"]))
    for other in (prank(label_order=["low", "mid", "top"]), model):
        with pytest.raises(ValueError, match="use one order"):
            other.partial_fit(rows, words(["top", "mid", "low"]))


@pytest.mark.parametrize("order", [[3, 2, 1], [1, 2, 3, 4], [1, 2, 9]])
def test_label_order_may_not_change_within_a_stream(order):
    model = prank(label_order=[1, 2, 3]).fit([[1.0], [2.0]], [1, 2])
    with pytest.raises(ValueError, match="was changed"):
        model.set_params(label_order=order).partial_fit([[1.0]], [1])


@pytest.mark.parametrize("classes", [5, [], [1], {1, 2}, [[1, 2]], [1, 1]])
def test_bad_classes_are_named(classes):
    for model in (prank(), prank().partial_fit([[1.0]], [1], classes=[1, 2])):
        with pytest.raises(ValueError, match="classes"):
            model.partial_fit([[1.0]], [1], classes=classes)


def test_mixed_labels_can_be_named():
    model = prank(label_order=[1, "a", 2]).fit([[1.0], [2.0]], np.array([1, "a"], dtype=object))
    assert model.classes_.tolist() == [1, "a", 2]


def test_two_ranks_out_of_the_alphabet_are_documented_scikit_learn_trouble():
    """scikit-learn's AUC takes the alphabetically last label as positive; ours is the higher."""
    words = np.array(["poor", "good"])[(RANKS > 3).astype(int)]
    model = prank(label_order=["poor", "good"]).fit(X, words)
    assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "good")


def test_classes_and_label_order_must_agree():
    with pytest.raises(ValueError, match="different labels"):
        prank(label_order=[1, 2]).partial_fit([[1.0]], [1], classes=[1, 2, 3])


def test_grid_search_with_the_scorer():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), prank()),
        {"prank__vote": [None, "averaged"]},
        scoring=neg_mean_rank_loss_scorer,
        cv=3,
    ).fit(X, RANKS)
    assert -5 < search.best_score_ < 0

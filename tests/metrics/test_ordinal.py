import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error

from rankwise.metrics import (
    mean_interval,
    mean_rank_loss,
    mean_rank_loss_per_rank,
    neg_mean_rank_loss_scorer,
    rank_losses,
)
from rankwise.ordinal import PRank
from rankwise.testing.strategies import streams


@given(streams())
def test_against_the_definition(stream):
    _, ranks, k = stream
    guessed = np.roll(ranks, 1)
    labels = np.arange(1, k + 1)
    assert_allclose(
        mean_rank_loss(ranks, guessed, labels=labels), mean_absolute_error(ranks, guessed)
    )
    per_rank = mean_rank_loss_per_rank(ranks, guessed, labels=labels)
    for r, loss in zip(labels, per_rank, strict=True):
        mine = ranks == r
        if mine.any():
            assert_allclose(loss, np.abs(guessed[mine] - r).mean())
        else:
            assert np.isnan(loss)


def test_monotone_relabelling_changes_nothing():
    y, guessed, names = np.array([0, 1, 2, 2]), np.array([2, 1, 0, 1]), np.array(["x", "b", "a"])
    assert mean_rank_loss(y, guessed) == mean_rank_loss(names[y], names[guessed], labels=names)


def test_labels_that_only_the_prediction_holds_count():
    assert_array_equal(rank_losses([1, 3], [2, 3]), [1, 0])


def test_categories_give_the_order():
    y = pd.Categorical(["low", "top"], categories=["low", "mid", "top"], ordered=True)
    assert_array_equal(rank_losses(y, ["top", "top"]), [2, 0])


@pytest.mark.parametrize(
    ("y", "guessed", "labels", "message"),
    [
        ([], [], None, "empty"),
        ([1, 2], [1], None, "inconsistent"),
        ([1, 2], [1, 3], [1, 2], "y_pred contains the label 3"),
        ([1, 2], [1, 2], [2, 2], "duplicated label"),
        ([np.nan, 1], [1, 1], None, "y_true contains NaN"),
        ([1, 2], [1.5, 2.5], None, "continuous"),
        (np.array(["2020"], dtype="M8[Y]"), [1], None, "one kind"),
    ],
)
def test_bad_input_is_named(y, guessed, labels, message):
    with pytest.raises(ValueError, match=message):
        mean_rank_loss(y, guessed, labels=labels)


def test_scorer_knows_ranks_that_the_fold_lacks():
    model = PRank(label_order=[1, 2, 3, 4]).fit([[0.0], [0.0]], [1, 1])
    model.coef_, model.thresholds_ = np.array([1.0]), np.array([0.0, 1.0, 2.0])
    assert neg_mean_rank_loss_scorer(model, [[-1.0], [5.0]], [4, 1]) == -3


def test_interval_covers_the_mean():
    trials = np.random.default_rng(0).normal(1.0, 2.0, size=(5, 4000))
    mean, half_width = mean_interval(trials, level=0.9)
    assert 0.88 < np.mean(np.abs(mean - 1.0) <= half_width) < 0.92


def test_interval_of_one_trial_knows_no_spread():
    mean, half_width = mean_interval([[1.0, 2.0]])
    assert_array_equal(mean, [1, 2])
    assert np.isinf(half_width).all()


@pytest.mark.parametrize(("values", "level"), [([], 0.95), ([1.0], 1.0), ([1.0], 0), (3.0, 0.5)])
def test_bad_intervals_are_refused(values, level):
    with pytest.raises(ValueError, match=r"values|level"):
        mean_interval(values, level=level)


ORDER = ["poor", "fair", "good"]


def words(values, order=ORDER):
    return pd.Categorical(values, categories=order, ordered=True)


def test_either_array_may_bring_the_order():
    true, guessed = ["poor", "good", "fair"], ["good", "poor", "fair"]
    expected = [2, 2, 0]
    for y_true, y_pred in (
        (words(true), guessed),
        (true, words(guessed)),
        (words(true), pd.Series(words(guessed))),
        (words(true), words(guessed, ["poor", "fair", "good", "superb"])),
        (pl.Series(true, dtype=pl.Enum(ORDER)), words(guessed)),
    ):
        assert rank_losses(y_true, y_pred).tolist() == expected
    assert rank_losses(true, words(guessed), labels=ORDER).tolist() == expected


def test_orders_that_contradict_are_refused():
    with pytest.raises(ValueError, match="categories of y_pred are ordered"):
        mean_rank_loss(words(["poor", "good"]), words(["poor", "good"], ORDER[::-1]))
    with pytest.raises(ValueError, match="categories of y_pred are ordered"):
        mean_rank_loss(["poor"], words(["poor"], ORDER[::-1]), labels=ORDER)


def test_masked_labels_are_refused():
    masked = np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])
    with pytest.raises(ValueError, match="y_true has a masked entry"):
        mean_rank_loss(masked, [1, 2, 3])
    with pytest.raises(ValueError, match="y_pred has a masked entry"):
        mean_rank_loss([1, 2, 3], masked)
    with pytest.raises(ValueError, match="labels has a masked entry"):
        mean_rank_loss([1, 3], [1, 3], labels=masked)


def test_the_scorer_needs_classes():
    model = LinearRegression().fit([[1.0], [2.0]], [1, 2])
    with pytest.raises(ValueError, match="LinearRegression has no classes_"):
        neg_mean_rank_loss_scorer(model, [[1.0]], [1])

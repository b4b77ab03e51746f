import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise._core.inputs import check_pairs, check_weighted_pairs
from rankwise.boosting import RankBoost
from rankwise.pairwise import RankSVM
from rankwise.preference import PreferenceRanker


@pytest.mark.parametrize(
    "pairs",
    [[[0, 1], {}], [[0, 1], [2]], [0, 1], [], [[0.0, 1.0]], "ab", np.ma.masked_equal([[0, 1]], 1)],
)
def test_odd_pairs_are_named(pairs):
    with pytest.raises(ValueError, match=r"^others "):
        check_pairs(pairs, 3, "others")


@pytest.mark.parametrize("weight", ["a", {"a": 1}, iter([1]), [1j], [[1], [1, 2]], [-1.0], [1, 2]])
def test_odd_weights_are_named(weight):
    with pytest.raises(ValueError, match=r"^pair_weight\b"):
        check_weighted_pairs([[0, 1]], weight, 3)


def test_pairs_that_weigh_nothing_are_counted():
    pairs, weight, dropped = check_weighted_pairs([[0, 1], [1, 1], [1, 2]], [2, 1, 0], 3)
    assert_array_equal(pairs, [[0, 1]])
    assert_array_equal(weight, [2.0])
    assert dropped == 2


def test_labels_say_which_row_is_better():
    pairs = [[0, 1], [2, 1], [0, 2], [1, 1]]
    found, weight, dropped = check_weighted_pairs(pairs, [1, 2, 3, 4], 3, [1, -1, 0, -1])
    assert found.tolist() == [[0, 1], [1, 2]]
    assert weight.tolist() == [1, 2]
    assert dropped == 2
    assert pairs[1] == [2, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], r"y\[1\] is 2: expected 1 if the second row"),
        ([1, np.nan], r"y\[1\] is nan"),
        ([1], r"y has the shape \(1,\) for 2 pairs"),
        (["a", "b"], "y must be numbers"),
        ([0, 0], "label other than 0"),
    ],
)
def test_labels_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        check_weighted_pairs([[0, 1], [1, 2]], None, 3, y)


@pytest.mark.parametrize("model", [RankSVM(), RankBoost(5), PreferenceRanker()])
def test_labelled_pairs_are_pairs_in_another_order(model):
    random = np.random.default_rng(0)
    X, pairs = random.normal(size=(30, 3)), random.integers(0, 30, size=(80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    y, weight = random.integers(-1, 2, size=len(pairs)), random.uniform(1, 2, size=len(pairs))
    turned = np.where(y[:, None] < 0, pairs[:, ::-1], pairs)[y != 0]
    expected = model.fit_pairs(X, turned, pair_weight=weight[y != 0]).predict(X)
    found = model.fit_pairs(X, pairs, y=y, pair_weight=weight)
    assert_array_equal(found.predict(X), expected)
    assert found.n_dropped_pairs_ == (y == 0).sum()
    with pytest.raises(ValueError, match=r"y\[0\] is 3"):
        model.fit_pairs(X, pairs, y=np.full(len(pairs), 3))
    assert_array_equal(model.predict(X), expected)

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.bounds import prank_mistake_bound, prank_regret_bound, ranking_margin
from rankwise.papers import prank
from rankwise.testing.strategies import streams


def separable(seed, k, m=400, d=3, gap=0.3):
    """Rows that a random ranker ranks rightly with a margin, and that ranker."""
    random = np.random.default_rng(seed)
    w = random.normal(size=d)
    b = np.sort(random.normal(0, 2, size=k - 1))
    X = random.normal(0, 2, size=(5000, d))
    score = X @ w
    X = X[np.abs(score[:, None] - b).min(axis=1) > gap][:m]
    return X, 1 + np.searchsorted(b, X @ w), w, b


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(5))
def test_mistake_bound_holds(k, seed):
    X, y, w, b = separable(seed, k)
    labels = np.arange(1, k + 1)
    bound = prank_mistake_bound(X, y, w, b, labels=labels)
    model = prank(label_order=labels).fit(X, y)
    assert model.rank_loss_ <= bound.value
    assert ranking_margin(X, y, w, b, labels=labels) == bound.pieces["margin"] > 0
    at_its_margin = prank_regret_bound(X, y, w, b, bound.pieces["margin"], labels=labels)
    assert at_its_margin.pieces["hinge"] == 0
    assert_allclose(float(at_its_margin), float(bound))


@given(streams(), st.floats(1e-3, 10), st.lists(st.integers(-3, 3), min_size=13, max_size=13))
def test_regret_bound_holds_for_every_ranker_and_margin(stream, margin, entries):
    X, ranks, k = stream
    w, b = np.array(entries[: X.shape[1]], float), np.sort(np.array(entries[4 : 3 + k], float))
    assume(w.any() or b.any())
    labels = np.arange(1, k + 1)
    bound = prank_regret_bound(X, ranks, w, b, margin, labels=labels)
    loss = prank(label_order=labels).fit(X, ranks).rank_loss_
    assert loss <= bound.value * (1 + 1e-12)
    assert bound.vacuous == (bound.value >= len(X) * (k - 1))
    scaled = prank_regret_bound(X, ranks, 7 * w, 7 * b, margin, labels=labels)
    assert_allclose(scaled.value, bound.value)


def test_literal_margin():
    X, y, w, b = separable(0, 4, m=30)
    norm = math.sqrt(w @ w + b @ b)
    literal = min(
        (1 if rank > r else -1) * (x @ w - b[r - 1]) / norm
        for x, rank in zip(X, y, strict=True)
        for r in range(1, 4)
    )
    assert_allclose(ranking_margin(X, y, w, b), literal)
    assert_allclose(ranking_margin(sparse.csr_array(X), y, w, b), literal)


def test_not_separated_is_vacuous_and_says_so():
    bound = prank_mistake_bound([[1.0], [-1.0]], [1, 2], [1.0], [0.0])
    assert bound.value == math.inf
    assert bound.vacuous
    assert bound.pieces["margin"] < 0


def test_margin_of_zero_is_vacuous():
    assert prank_mistake_bound([[0.0], [1.0]], [2, 2], [1.0], [0.0]).value == math.inf


def test_bounds_beyond_a_float_are_infinite():
    y = [1, 2]
    assert prank_mistake_bound([[-1e-200], [1.0]], y, [1.0], [0.0]).value == math.inf
    assert prank_mistake_bound([[-1e200], [1e200]], y, [1.0], [0.0]).value == 1.0
    assert prank_regret_bound([[-1.0], [1.0]], y, [1.0], [0.0], 1e-200).vacuous


def test_duplicate_entries_of_csr_are_summed():
    X = sparse.csr_matrix(([3.0, 3.0, 1.0], [0, 0, 0], [0, 2, 3]), (2, 1))
    dense = prank_mistake_bound(X.toarray(), [2, 1], [1.0], [2.0])
    assert prank_mistake_bound(X, [2, 1], [1.0], [2.0]).value == dense.value


def test_categories_give_the_order():
    y = pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True)
    assert ranking_margin([[-1.0], [1.0]], y, [1.0], [0.0]) == 1.0


def test_labels_are_found_or_asked_for():
    X, w, b = [[-2.0], [0.0], [2.0]], [1.0], [-1.0, 1.0]
    expected = ranking_margin(X, [1, 2, 3], w, b)
    assert ranking_margin(X, [0, 1, 2], w, b) == expected
    assert ranking_margin(X, [10, 20, 40], w, b) == expected
    assert ranking_margin(X[:2], [1, 2], w, b) >= expected
    assert ranking_margin(X, ["lo", "mid", "hi"], w, b, labels=["lo", "mid", "hi"]) == expected
    with pytest.raises(ValueError, match="labels"):
        ranking_margin(X[:2], [0, 1], w, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": [1.0, 2.0]}, "coef must be a list of 1"),
        ({"coef": [0.0], "thresholds": [0.0]}, "not all zero"),
        ({"thresholds": [1.0, 0.0]}, "rising order"),
        ({"thresholds": []}, "rising order"),
        ({"y": [1]}, "inconsistent"),
        ({"margin": 0.0}, "margin=0.0"),
        ({"margin": -1}, "margin=-1"),
        ({"margin": math.nan}, "margin=nan"),
        ({"margin": None}, "margin=None"),
        ({"coef": 1.0}, "coef must be"),
        ({"X": [[math.nan], [1.0]]}, "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"X": [[-1.0], [1.0]], "y": [1, 2], "coef": [1.0], "thresholds": [0.0], "margin": 0.1}
    with pytest.raises(ValueError, match=message):
        prank_regret_bound(**{**good, **change})


def test_a_huge_margin_asks_as_much_as_there_is():
    # With g beyond all margins, H is m (k - 1) g, and so is the bound over g.
    X, y = np.array([[-2.0], [0.0], [2.0]]), [1, 2, 3]
    for margin in (1e100, 1e308):
        bound = prank_regret_bound(X, y, [1.0], [-1.0, 1.0], margin)
        assert_allclose(bound.value, 6.0)
    assert prank_regret_bound(X, y, [1.0], [-1.0, 1.0], 5e-324).value == math.inf

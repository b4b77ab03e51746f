"""Strengths from rankings, and Elo's ratings."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone

from rankwise import load, save
from rankwise.contests import BradleyTerry, EloRating, PlackettLuce
from tests.reference import log_ranking_probability

RANKINGS = [
    ["a", "b", "c", "d"],
    ["b", ("a", "c"), "d"],
    ["d", "a"],
    [("c", "d"), "b", "a"],
    ["c", ("a", "b", "d")],
    ["a", "d", "b"],
    ["d", "c", "b", "a"],
]
WEIGHT = np.array([2.0, 1, 1, 1, 3, 1, 1])


def literal(rankings, weight, strengths, unlisted):
    number = {name: i for i, name in enumerate("abcd")}
    total = 0.0
    for ranking, w in zip(rankings, weight, strict=True):
        groups = [[number[x] for x in (p if isinstance(p, tuple) else (p,))] for p in ranking]
        rest = [i for i in range(4) if not any(i in group for group in groups)]
        if unlisted == "last" and rest:
            groups.append(rest)
        total += w * log_ranking_probability(groups, strengths)
    return total


@pytest.mark.parametrize("unlisted", ["ignored", "last"])
@pytest.mark.parametrize("prior", [5.0, 0.7, None])
def test_the_fit_is_that_of_a_general_optimiser(unlisted, prior):
    model = PlackettLuce(prior=prior, unlisted=unlisted).fit(RANKINGS, sample_weight=WEIGHT)

    def posterior(s, of=RANKINGS, weight=WEIGHT, share=1.0):
        penalty = 0.0 if prior is None else share * np.sum(s**2) / (2 * prior**2)
        return literal(of, weight, s, unlisted) - penalty

    best = minimize(lambda s: -posterior(s), np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    assert_allclose(model.strengths_, best - best.mean(), atol=1e-5)
    assert_allclose(model.objective_, posterior(model.strengths_), rtol=1e-10)
    steps = 1e-4 * np.eye(4)

    def slopes(at, **options):
        ends = [posterior(at + s, **options) - posterior(at - s, **options) for s in steps]
        return np.array(ends) / 2e-4

    s = model.strengths_
    curvature = [(slopes(s - step) - slopes(s + step)) / 2e-4 for step in steps]
    centre = np.eye(4) - 0.25
    inverse = centre @ np.linalg.pinv(curvature) @ centre
    assert_allclose(model.covariance("model"), inverse, rtol=1e-4, atol=1e-5)
    # as if each ranking had been left out: divided by one less its leverage, at most 0.9
    anchor = np.linalg.inv(np.array(curvature) + np.trace(curvature) / 16)
    squares = np.zeros((4, 4))
    for ranking, w in zip(RANKINGS, WEIGHT, strict=True):
        one = {"of": [ranking], "weight": [1.0], "share": 0.0}
        g = slopes(s, **one)
        bend = np.array([(slopes(s - t, **one) - slopes(s + t, **one)) / 2e-4 for t in steps])
        listed = np.flatnonzero(np.abs(bend).sum(axis=1) > 1e-5)
        part = np.ix_(listed, listed)
        kept = np.eye(len(listed)) - bend[part] @ anchor[part]
        assert np.linalg.eigvals(kept).real.min() > 0.1
        g[listed] = np.linalg.solve(kept, g[listed])
        squares += w * np.outer(g, g)
    if prior is not None:
        squares = squares + np.eye(4) / prior**2
    literal_sandwich = inverse @ squares @ inverse
    assert_allclose(model.covariance(), literal_sandwich, rtol=2e-3, atol=1e-3)


def test_efron_is_the_sum_over_orders_of_equal_items():
    strengths = np.array([0.4, 0.4, 0.4, -1.0, 0.3])
    tied = log_ranking_probability([[0, 1, 2], [3], [4]], strengths)
    orders = [
        log_ranking_probability([[i] for i in (*order, 3, 4)], strengths)
        for order in permutations(range(3))
    ]
    assert_allclose(tied + np.log(6), np.log(np.sum(np.exp(orders))))


def test_rankings_of_two_are_contests():
    first, second = list("abcabd"), list("bcacda")
    duel = BradleyTerry().fit_pairs(first, second)
    model = PlackettLuce().fit([list(pair) for pair in zip(first, second, strict=True)])
    assert_allclose(model.strengths_, duel.strengths_, atol=1e-8)
    assert_allclose(model.covariance("model"), duel.covariance("model"), atol=1e-4)
    assert model.prefer("a", "b") == pytest.approx(duel.prefer("a", "b"))


def test_order_of_rankings_names_and_repetition_change_nothing():
    model = PlackettLuce().fit(RANKINGS, sample_weight=WEIGHT)
    again = [r for r, w in zip(RANKINGS, WEIGHT, strict=True) for _ in range(int(w))][::-1]
    other = PlackettLuce().fit(again)
    assert_allclose(other.strengths_, model.strengths_, atol=1e-10)
    assert_allclose(other.covariance(), model.covariance(), atol=1e-10)
    assert other.n_rankings_ == model.n_rankings_ == 10


def test_rankings_that_nobody_can_compare():
    with pytest.warns(UserWarning, match="3 unconnected groups, 1 of them.*'e'"):
        model = PlackettLuce().fit([["a", "b"], ["b", "a"], ["c", "d"]], items=list("abcde"))
    assert np.isfinite(model.interval()).all()
    with pytest.raises(ValueError, match="'a' never lost"):
        PlackettLuce(prior=None).fit([["a", "b", "c"], ["a", "c", "b"]])
    with pytest.raises(ValueError, match="one item only"):
        model.fit([["a"]])
    with pytest.raises(ValueError, match="duplicated candidate 'a'"):
        model.fit([["a", "a"]])
    assert model.items_.tolist() == list("abcde")


def test_saved_and_loaded(tmp_path):
    for model in (
        PlackettLuce(unlisted="last").fit(RANKINGS),
        EloRating(k=10.0).fit(["a", "b"], ["b", "c"], [1, 0.5]),
        clone(PlackettLuce(prior=None)),
    ):
        save(model, tmp_path / "m")
        other = load(tmp_path / "m")
        assert other.get_params() == model.get_params()
        if hasattr(model, "items_"):
            assert other.prefer("a", "b") == model.prefer("a", "b")
            assert other.ranking().order.tolist() == model.ranking().order.tolist()


def test_elo_is_the_update_as_it_is_written():
    random = np.random.default_rng(0)
    first = random.integers(6, size=200)
    second = (first + random.integers(1, 6, size=200)) % 6
    outcome = random.integers(0, 3, 200) / 2
    model = EloRating(20.0).fit(first, second, outcome)
    ratings = {}
    for u, v, y in zip(first.tolist(), second.tolist(), outcome, strict=True):
        ru, rv = ratings.setdefault(u, 1500.0), ratings.setdefault(v, 1500.0)
        step = 20 * (y - 1 / (1 + 10 ** ((rv - ru) / 400)))
        ratings[u], ratings[v] = ru + step, rv - step
    assert model.items_.tolist() == list(ratings)
    assert_allclose(model.ratings_, list(ratings.values()))
    for cuts in ([50], [1, 2, 3], [100, 199]):
        other = EloRating(20.0)
        for rows in np.split(np.arange(200), cuts):
            other.partial_fit(first[rows], second[rows], outcome[rows])
        assert other.items_.tolist() == model.items_.tolist()
        assert_array_equal(other.ratings_, model.ratings_)
    before = model.ratings_
    for bad in (([1], [1], [1]), ([1], [2], [3.0]), ([1, 2], [2], [1])):
        with pytest.raises(ValueError, match=r"row 0|rows"):
            model.partial_fit(*bad)
        with pytest.raises(ValueError, match=r"row 0|rows"):
            model.fit(*bad)
        assert model.ratings_ is before
    assert model.n_contests_ == 200
    assert model.prefer(0, 1) + model.prefer(1, 0) == pytest.approx(1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_empty_ranking_tells_nothing(place):
    # The loops read outside of their arrays, which ended the process.
    rankings = [["a", "b", "c"], ["b", "c", "a"]]
    expected = PlackettLuce().fit(rankings)
    rankings.insert(place, [])
    model = PlackettLuce().fit(rankings)
    np.testing.assert_allclose(model.strengths_, expected.strengths_)
    np.testing.assert_allclose(model.interval(), expected.interval(), rtol=1e-6)

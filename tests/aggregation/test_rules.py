"""Scores, assignment, walk and sort, against their definitions."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.aggregation import (
    borda,
    copeland,
    footrule,
    kemeny,
    kemeny_cost,
    kwiksort,
    markov_chain,
    pairwise_wins,
)
from rankwise.testing import oracles
from rankwise.testing.strategies import draw_rankings

RULES = [borda, copeland, footrule, kemeny, kwiksort, markov_chain]
CASES = [(ties, partial) for ties in (False, True) for partial in (False, True)]


def sorted_by(scores):
    return sorted(range(len(scores)), key=lambda c: (-round(scores[c], 9), c))


@pytest.mark.parametrize(("ties", "partial"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_scores(ties, partial, seed):
    random = np.random.default_rng(seed)
    rankings = draw_rankings(random, 6, 7, ties=ties, partial=partial)
    weights = random.integers(1, 4, 7)
    share, beaten = np.zeros(6), np.zeros(6)
    for u in range(6):
        net, compared = 0, 0
        for v in set(range(6)) - {u}:
            votes = [
                (oracles.votes_for([r], u, v), w) for r, w in zip(rankings, weights, strict=True)
            ]
            margin = sum(w * (1 if vote[0] else -1) for vote, w in votes if vote)
            beaten[u] += np.sign(margin)
            net += margin
            ranked = [{*np.hstack([*r, []])} for r in rankings]
            compared += sum(w for r, w in zip(ranked, weights, strict=True) if {u, v} <= r)
        share[u] = net / compared if compared else 0
    options = {"weights": weights, "candidates": range(6)}
    assert borda(rankings, **options).order == sorted_by(share)
    assert copeland(rankings, **options).order == sorted_by(beaten)


def test_borda_of_complete_rankings_is_by_mean_rank():
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 9, 8, ties=True, partial=False)
    ranks = [oracles.stretched_ranks(ranking, 9) for ranking in rankings]
    means = [np.mean([r[c] for r in ranks]) for c in range(9)]
    assert borda(rankings).order == sorted_by(-np.array(means))


def test_borda_does_not_reward_long_rankings():
    # Both have won all of their comparisons, one or four.
    assert borda([["a", "x"], ["b", "x", "y", "z", "w"]]).order[:2] == ["a", "b"]


@pytest.mark.parametrize(("ties", "partial"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_footrule_is_the_best_of_all_orders(ties, partial, seed):
    random = np.random.default_rng(seed)
    rankings = draw_rankings(random, 5, 6, ties=ties, partial=partial)
    weights = random.random(6)
    best = min(oracles.footrule_cost(o, rankings, weights) for o in permutations(range(5)))
    found = footrule(rankings, weights=weights, candidates=range(5))
    assert_allclose(found.cost, best)
    assert_allclose(oracles.footrule_cost(found.order, rankings, weights), best)
    assert found.optimal


@pytest.mark.parametrize(("ties", "partial"), CASES)
@pytest.mark.parametrize("teleport", [0.05, 0.5])
def test_markov_chain_visits(ties, partial, teleport):
    random = np.random.default_rng(1)
    rankings = draw_rankings(random, 6, 7, ties=ties, partial=partial)
    _, wins = pairwise_wins(rankings, candidates=range(6))
    chance = np.full(6, 1 / 6)
    for _ in range(2_000):
        following = np.full(6, teleport / 6)
        for here in range(6):
            for drawn in range(6):
                end = drawn if wins[drawn, here] > wins[here, drawn] else here
                following[end] += (1 - teleport) * chance[here] / 6
        chance = following
    found = markov_chain(rankings, teleport=teleport, candidates=range(6))
    assert found.order == sorted_by(chance)


@pytest.mark.parametrize("rule", RULES)
def test_a_unanimous_vote_is_the_answer(rule):
    order = ["d", "a", "c", "b", "e"]
    assert rule([order] * 3).order == order
    if rule not in {borda, footrule}:
        assert rule([order, order[:3], order[2:], [order[0], order[4]]]).order == order


@pytest.mark.parametrize("rule", RULES)
def test_edges(rule):
    assert rule([["a"]]).order == ["a"]
    assert sorted(rule([["a", "b"], []], candidates=["a", "b", "z"]).order) == ["a", "b", "z"]
    assert rule([["b", "a"], ["a", "b"]], weights=[1, 0]).order == ["b", "a"]
    assert rule([["b"], ["b", "a"]], unlisted="last").order == ["b", "a"]
    assert rule([["c", "a"]], unlisted="last", candidates=["a", "b", "c"]).order[0] == "c"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("unlisted", ["ignored", "last"])
def test_a_weight_is_a_number_of_voters(rule, unlisted):
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 8, 6, ties=True, partial=True)
    counts = random.integers(0, 4, 6)
    repeated = [r for r, count in zip(rankings, counts, strict=True) for _ in range(count)]
    options = {"candidates": range(8), "unlisted": unlisted}
    if rule is kwiksort:
        options["random_state"] = 0
    assert rule(rankings, weights=counts, **options).order == rule(repeated, **options).order


def test_kwiksort():
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 30, 5, ties=True, partial=True)
    once = kwiksort(rankings, random_state=0)
    often = kwiksort(rankings, repeats=20, random_state=0)
    assert often.cost <= once.cost == kemeny_cost(once, rankings)
    assert kwiksort(rankings, random_state=0).order == once.order
    # Nothing is known of these: a coin decides.
    starts = {tuple(kwiksort([["a"], ["b"]], random_state=s).order) for s in range(20)}
    assert starts == {("a", "b"), ("b", "a")}


def test_kwiksort_is_at_most_twice_the_best_on_average():
    random = np.random.default_rng(1)
    rankings = draw_rankings(random, 12, 5, ties=False, partial=False)
    costs = [kwiksort(rankings, random_state=s).cost for s in range(50)]
    assert np.mean(costs) <= 2 * kemeny(rankings).cost


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        (kwiksort, {"repeats": 0}, "repeats is 0"),
        (kwiksort, {"repeats": 1.5}, "repeats is 1.5"),
        (kwiksort, {"repeats": True}, "repeats is True"),
        (markov_chain, {"teleport": True}, "teleport is True"),
        (markov_chain, {"teleport": 0}, "teleport is 0"),
        (markov_chain, {"teleport": 1e-300}, "teleport is 1e-300"),
        (markov_chain, {"teleport": "a"}, "teleport is 'a'"),
        *((rule, {"unlisted": "x"}, "unlisted is 'x'") for rule in RULES),
        *((rule, {"weights": [1, 2]}, "weights has the shape") for rule in RULES),
        *((rule, {"candidates": [1]}, "not in candidates") for rule in RULES),
    ],
)
def test_bad_input_is_refused(rule, options, message):
    with pytest.raises(ValueError, match=message):
        rule([["a", "b"]], **options)


def test_a_sparse_matrix_is_no_ranking():
    with pytest.raises(ValueError, match="give a list of"):
        markov_chain([[0, 1], sparse.csr_array(np.eye(2))])

"""Scores, assignment, walk and sort, against their definitions."""

from decimal import Decimal, localcontext
from itertools import pairwise, permutations

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
    local_kemenisation,
    markov_chain,
    pairwise_wins,
)
from rankwise.aggregation._rules import _expected_visits
from rankwise.testing.strategies import draw_rankings
from tests import reference as oracles

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


def levels(ranking):
    """Return the place of every candidate that a voter has ranked."""
    return {
        c: place
        for place, tie in enumerate(ranking)
        for c in (tie if isinstance(tie, tuple) else (tie,))
    }


def steps(chain, here, n, rankings, weights):
    """Return (candidate, chance) of every step of the four chains, as they are described."""
    voters = [(levels(r), w) for r, w in zip(rankings, weights, strict=True)]
    if chain == "MC4":
        for drawn in range(n):
            margin = sum(
                w * np.sign(v[here] - v[drawn]) for v, w in voters if here in v and drawn in v
            )
            yield (drawn if margin > 0 else here), 1 / n
        return
    voters = [(v, w) for v, w in voters if here in v]
    if not voters:
        yield here, 1.0
    elif chain == "MC1":
        multiset = [(c, w) for v, w in voters for c in v if v[c] <= v[here]]
        for c, w in multiset:
            yield c, w / sum(w for _, w in multiset)
    for v, w in voters:
        chance = w / sum(w for _, w in voters)
        if chain == "MC2":
            better = [c for c in v if v[c] <= v[here]]
            yield from ((c, chance / len(better)) for c in better)
        elif chain == "MC3":
            yield from ((c if v[c] < v[here] else here, chance / len(v)) for c in v)


@pytest.mark.parametrize(("ties", "partial"), CASES)
@pytest.mark.parametrize("teleport", [0.05, 0.5])
@pytest.mark.parametrize("chain", ["MC1", "MC2", "MC3", "MC4"])
def test_markov_chain_visits(ties, partial, teleport, chain):
    random = np.random.default_rng(1)
    rankings = [*draw_rankings(random, 6, 7, ties=ties, partial=partial), []]
    weights = random.integers(1, 4, 8)
    # One more candidate than the voters know of.
    walk = np.zeros((7, 7))
    for here in range(7):
        for there, chance in steps(chain, here, 7, rankings, weights):
            walk[here, there] += chance
    assert_allclose(walk.sum(axis=1), 1)
    visits = np.full(7, 1 / 7)
    for _ in range(500):
        visits = teleport / 7 + (1 - teleport) * visits @ walk
    found = markov_chain(
        rankings, chain=chain, teleport=teleport, weights=weights, candidates=range(7)
    )
    assert found.order == sorted_by(visits)


@pytest.mark.parametrize("chain", ["MC1", "MC2", "MC3", "MC4"])
def test_rare_visits_are_told_apart(chain):
    backwards = range(1499, -1, -1)
    assert markov_chain([backwards], chain=chain, teleport=1e-6).order == list(backwards)
    tie = [0, tuple(range(1, 99)), 99]
    assert markov_chain([tie], chain=chain, teleport=1e-6).order == list(range(100))


@pytest.mark.parametrize("n", [1, 2, 9, 70])
def test_expected_visits(n):
    random = np.random.default_rng(n)
    teleport = 1e-6
    moves = random.random((n, n)) * 10.0 ** -random.integers(0, 12, size=(n, n)) / n
    with localcontext(prec=60):
        walk = np.vectorize(Decimal)(-moves)
        np.fill_diagonal(walk, 0)
        np.fill_diagonal(walk, Decimal(teleport) - walk.sum(axis=1))
        visits = np.full(n, 1 / Decimal(n))
        for k in range(n):
            for i in range(k + 1, n):
                visits[i] -= visits[k] * walk[k, i] / walk[k, k]
                walk[:, i] -= walk[:, k] * walk[k, i] / walk[k, k]
        for k in reversed(range(n)):
            visits[k] = (visits[k] - visits[k + 1 :] @ walk[k + 1 :, k]) / walk[k, k]
    assert_allclose(_expected_visits(moves, teleport), visits.astype(float), rtol=1e-13)


def bubbled(order, wins):
    """Move each candidate up while a majority prefers it to the one above."""
    found = []
    for candidate in order:
        found.append(candidate)
        place = len(found) - 1
        while place and wins[candidate, found[place - 1]] > wins[found[place - 1], candidate]:
            found[place - 1 : place + 1] = candidate, found[place - 1]
            place -= 1
    return found


@pytest.mark.parametrize(("ties", "partial"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_local_kemenisation(ties, partial, seed):
    random = np.random.default_rng(seed)
    rankings = draw_rankings(random, 9, 5, ties=ties, partial=partial)
    weights = random.integers(1, 3, 5)
    _, wins = pairwise_wins(rankings, weights=weights, candidates=range(9))
    order = random.permutation(9).tolist()
    found = local_kemenisation(order, rankings, weights=weights)
    assert found.order == bubbled(order, wins)
    assert [found.order[p - 1] for p in found.positions] == order
    assert found.cost == kemeny_cost(found, rankings, weights=weights)
    assert found.cost <= kemeny_cost(order, rankings, weights=weights)
    assert all(wins[u, v] >= wins[v, u] for u, v in pairwise(found.order))
    assert local_kemenisation(found, rankings, weights=weights).order == found.order


def test_local_kemenisation_keeps_winners_first():
    # Each of a, b beats each of c, d, e; a beats all.
    votes = [["a", "b", "c", "d", "e"], ["b", "a", "d", "e", "c"], ["a", "e", "b", "c", "d"]]
    for order in permutations("abcde"):
        assert local_kemenisation(order, votes).order[:2] == ["a", "b"]
    with pytest.raises(ValueError, match="not in order"):
        local_kemenisation(["a", "b", "c", "d"], votes)
    with pytest.raises(ValueError, match="order is 3"):
        local_kemenisation(3, votes)


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
        (kwiksort, {"repeats": 0}, "repeats=0 must be"),
        (kwiksort, {"repeats": 1.5}, "repeats=1.5 must be"),
        (kwiksort, {"repeats": True}, "repeats=True must be"),
        (markov_chain, {"chain": "MC5"}, "chain='MC5' must be 'MC1', 'MC2', 'MC3' or 'MC4'"),
        (markov_chain, {"teleport": True}, "teleport is True"),
        (markov_chain, {"teleport": 0}, "teleport is 0"),
        (markov_chain, {"teleport": 1e-300}, "teleport is 1e-300"),
        (markov_chain, {"teleport": "a"}, "teleport is 'a'"),
        *((rule, {"unlisted": "x"}, "unlisted='x' must be 'ignored' or 'last'") for rule in RULES),
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

"""Distances and concordance against their definitions."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, chi2, friedmanchisquare, kendalltau

from rankwise.aggregation import concordance, footrule_distance, kendall_distance
from rankwise.testing.strategies import draw_rankings
from tests import reference as oracles


@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans(), st.booleans())
def test_kendall_distance(seed, n, ties, partial):
    random = np.random.default_rng(seed)
    a, b = draw_rankings(random, n, 2, ties=ties, partial=partial)
    if a and b:
        assert kendall_distance(a, b) == oracles.discordant_pairs(a, b, range(n))
        assert kendall_distance(a, a) == 0
        assert kendall_distance(b, a) == kendall_distance(a, b)


def test_kendall_distance_of_many():
    random = np.random.default_rng(0)
    a, b = random.permutation(2_000), random.permutation(2_000)
    pairs = 2_000 * 1_999 / 2
    tau = kendalltau(np.argsort(a), np.argsort(b)).statistic
    assert_allclose(kendall_distance(a, b), pairs * (1 - tau) / 2)
    assert kendall_distance(a, a[::-1]) == pairs


@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans(), st.booleans())
def test_footrule_distance(seed, n, ties, partial):
    random = np.random.default_rng(seed)
    a, b = draw_rankings(random, n, 2, ties=ties, partial=partial)
    if not (a or b):
        return
    common = {*np.hstack([*a, []])} & {*np.hstack([*b, []])}
    ranks = []
    for ranking in (a, b):
        places = [p if isinstance(p, tuple) else (p,) for p in ranking]
        left = [kept for p in places if (kept := tuple(c for c in p if c in common))]
        ranks.append(oracles.stretched_ranks(left, len(common)))
    expected = sum(abs(ranks[0][c] - ranks[1][c]) for c in common)
    assert_allclose(footrule_distance(a, b), expected)
    if not (ties or partial):
        assert kendall_distance(a, b) <= expected <= 2 * kendall_distance(a, b)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_kendalls_w_is_friedmans_statistic_scaled(ties, seed):
    random = np.random.default_rng(seed)
    n, m = 6, 1_700  # too many ranks to permute
    rankings = draw_rankings(random, n, m, ties=ties, partial=False)
    ranks = [oracles.stretched_ranks(ranking, n) for ranking in rankings]
    statistic, pvalue = friedmanchisquare(*([r[c] for r in ranks] for c in range(n)))
    report = concordance(rankings)
    assert_allclose(report.w, statistic / (m * (n - 1)))
    assert_allclose(report.pvalue, pvalue)


@pytest.mark.parametrize(
    "rankings",
    [
        [["a", "b"]] * 4,
        [["a", "b", "c"], ["a", "c", "b"], ["a", ("b", "c")], ["b", "a", "c"]],
        [["a", "b", "c", "d"], ["a", "c", "b", "d"]],
        [["a", tuple("bcde")]] * 2 + [["b", tuple("acde")]],
    ],
)
def test_the_p_value_of_few_voters_is_that_of_all_permutations(rankings):
    report, n = concordance(rankings), len(np.hstack([*rankings[0]]))
    names = {name: i for i, name in enumerate("abcde"[:n])}
    ranks = [
        oracles.stretched_ranks([tuple(names[c] for c in place) for place in ranking], n)
        for ranking in rankings
    ]
    ranks = np.array([[voter[c] for c in range(n)] for voter in ranks])

    def agreement(columns):
        return np.square(np.sum(columns, axis=0) - len(ranks) * (n + 1) / 2).sum()

    every = product(*(list(permutations(voter)) for voter in ranks[1:]))
    share = np.mean([agreement([ranks[0], *others]) >= agreement(ranks) for others in every])
    approximate = chi2.sf(len(ranks) * (n - 1) * report.w, n - 1)
    # the standard error of 9,999 draws is .5 % at most
    assert_allclose(report.pvalue, max(share, approximate), atol=0.015)
    assert report.pvalue == concordance(rankings).pvalue


@pytest.mark.parametrize("m", [4, 5, 8, 9, 16, 30])
def test_few_voters_on_two_candidates_agree_by_chance(m):
    """The chi-squared approximation alone rejects in 12.5 % with four voters."""
    votes = [["a", "b"], ["b", "a"]]
    sure = [concordance(votes, weights=[k, m - k]).pvalue < 0.05 for k in range(m + 1)]
    assert binom.pmf(range(m + 1), m, 0.5)[sure].sum() <= 0.05


def test_two_voters_with_one_favourite_agree_by_chance():
    """One of ten is the same favourite by chance in 10 %; the approximation says 3.5 %."""
    report = concordance([[0, tuple(range(1, 10))]] * 2)
    assert_allclose(report.pvalue, 0.1, atol=0.015)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_tau_is_over_pairs_of_voters(ties, partial):
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 5, 6, ties=ties, partial=partial)
    counts = [1, 2, 1, 1, 3, 1]
    voters = [r for r, count in zip(rankings, counts, strict=True) for _ in range(count)]
    votes = [
        [oracles.votes_for([a, b], u, v) for u, v in combinations(range(5), 2)]
        for a, b in combinations(voters, 2)
    ]
    both = [pair for pairs in votes for pair in pairs if len(pair) == 2]
    share = np.mean([first == second for first, second in both])
    for report in (concordance(rankings, weights=counts), concordance(voters)):
        assert_allclose(report.tau, 2 * share - 1)
        assert report.n_voters == 9
        assert (report.w is None) == partial


def test_winners_and_cycles():
    circle = [["a", "b", "c", "d"], ["b", "c", "a", "d"], ["c", "a", "b", "d"]]
    report = concordance(circle)
    assert (report.condorcet_winner, report.largest_cycle) == (None, 3)
    report = concordance([*circle, ["a", "b", "c", "d"], ["a", "c", "b", "d"]])
    assert (report.condorcet_winner, report.largest_cycle) == ("a", 1)
    agreed = concordance([["x", "y"]] * 4)
    assert (agreed.w, agreed.tau, agreed.n_candidates) == (1, 1, 2)


def test_nothing_to_agree_on():
    report = concordance([[("a", "b")], [("a", "b")]])
    assert (report.w, report.pvalue, report.tau, report.condorcet_winner) == (None,) * 4
    assert concordance([["a"], ["a"]]).w is None


@pytest.mark.parametrize(
    ("rankings", "weights", "message"),
    [
        ([["a", "b"]], None, "one voter"),
        ([["a"], ["a"]], [0.5, 1], "integers"),
        ([["a", "b"], ["b", "a"]], [1e200, 1], r"weights add up to 1.0e\+200 voters"),
    ],
)
def test_bad_input_is_refused(rankings, weights, message):
    with pytest.raises(ValueError, match=message):
        concordance(rankings, weights=weights)

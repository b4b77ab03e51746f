"""The compiled levels against QuickSort of the textbook, for comparators of any kind."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import linprog

from rankwise.preference._loops import pair_draws, swap_pairs
from rankwise.preference.sorting import QuickSort, expected_calls
from tests import reference as oracles


def tournament(n, seed):
    """A random tournament, intransitive as a rule."""
    wins = np.triu(np.random.default_rng(seed).random((n, n)) < 0.5, 1)
    return wins | (~wins.T & np.tri(n, k=-1, dtype=bool))


def run(sort, wins, answered=None):
    asked = []
    while len((pairs := sort.plan())[0]):
        u, v = pairs
        asked += zip(u.tolist(), v.tolist(), strict=True)
        sort.take(wins[u, v], None if answered is None else answered[u, v])
    return asked


@given(st.integers(0, 12), st.integers(0, 2**32), st.none() | st.integers(0, 13))
def test_as_the_textbook(n, seed, k):
    wins = tournament(n, seed)
    priority = np.random.default_rng(seed + 1).permutation(n)
    sort = QuickSort(n, priority, k=k)
    asked = run(sort, wins)
    expected = oracles.quicksort(list(range(n)), lambda i, j: wins[i, j], priority, k=k)
    assert sort.order.tolist() == expected
    assert len({frozenset(pair) for pair in asked}) == len(asked)
    settled = n if k is None else min(k, n)
    assert sort.decided[:settled].all()


def literal_open(members, wins, answered, priority):
    """Return the order and what is settled when some answers are missing."""
    if len(members) < 2:
        return members, [True] * len(members)
    pivot = max(members, key=lambda item: priority[item])
    known = {i for i in members if i != pivot and answered[i, pivot]}
    before = [i for i in members if i in known and wins[i, pivot]]
    after = [i for i in members if i in known and not wins[i, pivot]]
    middle = [i for i in members if i not in known]
    if len(middle) > 1:
        return before + middle + after, [False] * len(members)
    (left, sure_left), (right, sure_right) = (
        literal_open(part, wins, answered, priority) for part in (before, after)
    )
    return [*left, pivot, *right], [*sure_left, True, *sure_right]


@given(st.integers(2, 12), st.integers(0, 2**32), st.floats(0, 1))
def test_missing_answers_leave_a_block_open_in_input_order(n, seed, share):
    random = np.random.default_rng(seed)
    wins, priority = tournament(n, seed), random.permutation(n)
    answered = np.triu(random.random((n, n)) < share, 1)
    answered |= answered.T
    sort = QuickSort(n, priority)
    run(sort, wins, answered)
    order, settled = literal_open(list(range(n)), wins, answered, priority)
    assert sort.order.tolist() == order
    assert sort.decided.tolist() == settled


@given(st.integers(2, 14), st.integers(0, 2**32), st.floats(0, 1), st.booleans())
def test_a_sort_broken_off_goes_on_where_it_was(n, seed, share, same_seed):
    random = np.random.default_rng(seed)
    wins, priority = tournament(n, seed), random.permutation(n)
    whole = QuickSort(n, priority)
    asked = run(whole, wins)
    known = asked[: int(share * len(asked))]
    again = QuickSort(
        n, priority if same_seed else random.permutation(n), known=np.reshape(known, (-1, 2))
    )
    pairs = {frozenset(pair) for pair in run(again, wins)}
    if same_seed:
        assert_array_equal(again.order, whole.order)
        assert pairs == {frozenset(pair) for pair in asked}
    elif share == 1:
        assert {frozenset(pair) for pair in known} >= pairs


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 2**32))
def test_lists_are_sorted_by_themselves(sizes, seed):
    n = sum(sizes)
    wins, priority = tournament(n, seed), np.random.default_rng(seed + 1).permutation(n)
    edges = np.cumsum([0, *sizes])
    sort = QuickSort(n, priority, lists=edges)
    run(sort, wins)
    for start, stop in pairwise(edges):
        members = list(range(start, stop))
        expected = oracles.quicksort(members, lambda i, j: wins[i, j], priority)
        assert sort.order[start:stop].tolist() == expected


def test_all_answers_at_hand_leave_the_pivots_to_chance():
    n = 6
    known = np.argwhere(np.triu(np.ones((n, n)), 1))
    priority = np.arange(n)[::-1]
    sort = QuickSort(n, priority, known=known)
    assert set(sort.plan()[1].tolist()) == {0}


@pytest.mark.parametrize(("n", "k"), [(1, None), (2, None), (30, None), (30, 1), (30, 7), (30, 30)])
def test_expected_calls(n, k):
    random = np.random.default_rng(0)
    wins = np.triu(np.ones((n, n), dtype=bool), 1)
    calls = [len(run(QuickSort(n, random.permutation(n), k=k), wins)) for _ in range(2_000)]
    error = np.std(calls) / np.sqrt(len(calls))
    assert abs(np.mean(calls) - expected_calls(n, k)) <= 4 * error


def most_calls(n):
    """Return bounds on the expected comparisons for the first k of n, over all tournaments.

    The pivot is drawn at random, so the members before it are as many as those before a random
    vertex: numbers whose mean is (m - 1) / 2 and that are spread no more than 0, ..., m - 1.
    """
    most = np.zeros((n + 1, n + 1))
    for m in range(2, n + 1):
        before = np.arange(m)
        spread = np.maximum(before - before[:, None], 0)
        for k in range(1, m + 1):
            rest = [
                most[b, min(b, k)] + most[m - 1 - b, min(max(k - 1 - b, 0), m - 1 - b)]
                for b in before
            ]
            found = linprog(
                np.negative(rest),
                A_ub=spread,
                b_ub=spread.mean(axis=1),
                A_eq=[np.ones(m), before],
                b_eq=[1, (m - 1) / 2],
            )
            most[m, k] = m - 1 - found.fun
    return most


def test_no_answers_need_more_comparisons_than_promised():
    n = 16
    most = most_calls(n)
    for m in range(2, n + 1):
        promised = expected_calls(m, np.arange(1, m + 1))
        assert (most[m, 1 : m + 1] <= 1.1 * promised).all()
        assert most[m, m] == pytest.approx(promised[-1])


@pytest.mark.parametrize(
    ("n", "k", "message"),
    [
        (-1, None, "n=-1 must be"),
        (2.5, None, "n=2.5 must be"),
        (True, None, "n=True must be"),
        (np.nan, None, "n=nan must be"),
        (np.inf, None, "n=inf must be"),
        ("9", None, "n='9' must be"),
        (None, None, "n=None must be"),
        ([3, -4], None, "n=-4 must be"),
        ([[1], [2, 3]], None, "n=.* must be"),
        (5, 0, "k=0 must be"),
        (5, -2, "k=-2 must be"),
        (5, True, "k=True must be"),
        (5, 1.5, "k=1.5 must be"),
        ([5, 6], [1, 2, 3], r"shape \(2,\) and k \(3,\)"),
    ],
)
def test_counts_that_are_none_are_refused(n, k, message):
    with pytest.raises(ValueError, match=message):
        expected_calls(n, k)


def test_counts_may_be_arrays_and_k_more_than_all():
    assert_array_equal(expected_calls([0, 1, 2]), [0, 0, 1])
    assert expected_calls(5, 9) == expected_calls(5.0) == expected_calls(5)
    assert expected_calls(np.array([5, 6]), 2).shape == (2,)
    assert expected_calls([], 2).shape == (0,)


def literal_draws(seed, i, j):
    """splitmix64 of a seed and an unordered pair, with Python's whole numbers."""
    low, high = min(i, j) + 1, max(i, j) + 1
    word = (seed + 0x9E3779B97F4A7C15 * low + 0xD1B54A32D192ED03 * high) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> shift)) * factor % 2**64
    return word ^ (word >> 31)


def test_coins_are_those_of_the_pair():
    i, j = np.random.default_rng(0).integers(0, 2**40, (2, 1_000))
    words = [literal_draws(7, int(a), int(b)) for a, b in zip(i, j, strict=True)]
    for first, second in ((i, j), (j, i)):
        assert_array_equal(
            pair_draws(7, first, second), [(word >> 11) * 2.0**-53 for word in words]
        )
        one, other, swapped = swap_pairs(7, first, second)
        assert_array_equal(one, np.where(swapped, second, first))
        assert_array_equal(other, np.where(swapped, first, second))
        assert_array_equal(one > other, [word >> 63 == 1 for word in words])
    assert 450 < (one > other).sum() < 550


def test_levels_grow_like_the_logarithm():
    random = np.random.default_rng(0)
    for n in (100, 10_000):
        sort, levels = QuickSort(n, random.permutation(n)), 0
        while len((pairs := sort.plan())[0]):
            sort.take(pairs[0] < pairs[1])
            levels += 1
        assert_array_equal(sort.order, np.arange(n))
        assert levels < 5 * np.log(n)


@pytest.mark.parametrize("k", [6, 2**63, 10**400])
def test_more_than_all_are_all(k):
    sort = QuickSort(6, np.arange(6), k=k)
    assert sort.expected() == QuickSort(6, np.arange(6)).expected()
    while len((pairs := sort.plan())[0]):
        sort.take(pairs[0] < pairs[1])
    assert sort.order.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("n", [0, 3, 5])
def test_answers_to_other_pairs(n):
    sort = QuickSort(5, [2, 0, 4, 1, 3])
    assert len(sort.plan()[0]) == 4
    with pytest.raises(ValueError, match=rf"before has the shape \({n},\): expected .* 4 pairs"):
        sort.take(np.ones(n, dtype=bool))


def test_priorities_and_lists_of_other_items():
    with pytest.raises(ValueError, match=r"priority has the shape \(2,\): .* each of 5 items"):
        QuickSort(5, [0, 1])
    for lists in ([0, 6], [1, 5], [0, 4, 2, 5]):
        with pytest.raises(ValueError, match="is invalid: expected edges from 0 to 5"):
            QuickSort(5, range(5), lists=lists)

"""Kemeny's order against all orders, and what is proven about it."""

import signal
import subprocess
import sys
import time
from fractions import Fraction
from re import escape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankwise._core import linear_ordering as ordering
from rankwise.aggregation import borda, kemeny, kemeny_cost, pairwise_wins
from rankwise.testing.strategies import draw_rankings
from tests import reference as oracles


def draw_votes(random, n, far=0.6, n_voters=10):
    """Orders close to 0..n-1, the last two farther off, and so some circular majorities."""
    noise = np.where(np.arange(n_voters) < n_voters - 2, far / 4, far)
    return [np.argsort(np.arange(n) + s * n * random.standard_normal(n)).tolist() for s in noise]


@pytest.mark.parametrize("few", [2, 10])
@pytest.mark.parametrize("weighted", [None, "whole", "real"])
@pytest.mark.parametrize("unlisted", ["ignored", "last"])
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_kemeny_is_the_best_of_all_orders(monkeypatch, ties, partial, unlisted, weighted, few):
    # With few = 2, what dynamic programming would solve goes through the linear program.
    monkeypatch.setattr(ordering, "_FEW", few)
    random = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 6):
        rankings = draw_rankings(random, n, 5, ties=ties, partial=partial)
        weights = {
            None: np.ones(5),
            "whole": random.integers(0, 4, 5) + (np.arange(5) == 0),
            "real": random.random(5),
        }[weighted]
        full = [
            [*r, tuple(rest)] if (rest := set(range(n)) - set(np.hstack([*r, []]))) else r
            for r in (rankings if unlisted == "last" else [])
        ] or rankings
        cost, best = oracles.kemeny_orders(full, weights, range(n))
        found = kemeny(
            rankings, weights=None if weighted is None else weights, candidates=range(n),
            unlisted=unlisted,
        )  # fmt: skip
        assert found.optimal
        assert found.order in best
        assert_allclose(found.cost, cost)
        assert found.lower_bound == found.cost
        assert_array_equal(np.argsort(found.positions), found.order)
        assert_allclose(kemeny_cost(found, rankings, weights=weights, unlisted=unlisted), cost)


@pytest.mark.parametrize("few", [2, 10])
@pytest.mark.parametrize("n", [7, 8])
def test_kemeny_is_the_best_of_all_orders_of_eight(monkeypatch, n, few):
    monkeypatch.setattr(ordering, "_FEW", few)
    random = np.random.default_rng(n)
    for ties, partial in [(False, False), (True, True)]:
        rankings = draw_rankings(random, n, 3, ties=ties, partial=partial)
        cost, best = oracles.kemeny_orders(rankings, np.ones(3), range(n))
        found = kemeny(rankings, candidates=range(n))
        assert (found.cost, found.optimal) == (cost, True)
        assert found.order in best


def margins_of(rankings):
    _, wins = pairwise_wins(rankings)
    return wins - wins.T


def test_votes_are_counted_pair_by_pair():
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 6, 20, ties=True, partial=True)
    weights = random.random(20)
    candidates, wins = pairwise_wins(rankings, weights=weights, candidates=range(6))
    assert candidates == list(range(6))
    for u in range(6):
        for v in range(6):
            answers = [
                (oracles.votes_for([r], u, v), w) for r, w in zip(rankings, weights, strict=True)
            ]
            assert_allclose(wins[u, v], sum(w for a, w in answers if a == [True]), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_local_is_close_and_exact_is_not_worse(seed):
    votes = draw_votes(np.random.default_rng(seed), 40, far=1.0)
    local, exact = kemeny(votes, method="local"), kemeny(votes, method="exact")
    assert exact.optimal
    assert exact.cost <= local.cost <= 1.01 * exact.cost
    assert local.lower_bound <= exact.cost
    assert local.cost == kemeny_cost(local, votes)


def test_the_bound_is_in_votes():
    votes = draw_votes(np.random.default_rng(3), 30, far=2.0)
    once, thrice = (kemeny(votes, method="local", weights=[w] * 10) for w in (1, 3))
    assert not once.optimal
    assert thrice.lower_bound == 3 * once.lower_bound
    assert once.lower_bound >= least_lost(votes)


def test_known_costs():
    random = np.random.default_rng(7)
    votes = [
        np.argsort(np.arange(100) + (0.15 if v < 8 else 0.6) * 100 * random.standard_normal(100))
        for v in range(10)
    ]
    found = kemeny(votes)
    assert (found.cost, found.lower_bound, found.optimal) == (8362, 8362, True)
    assert kemeny(votes, method="local").cost <= 8368


@pytest.mark.parametrize("limit", [0, 0.0, 1e-9, np.float64(0)])
def test_time_limit_leaves_the_best_order_and_a_true_bound(limit):
    votes = draw_votes(np.random.default_rng(0), 60, far=2.0)
    exact = kemeny(votes, method="exact")
    cut = kemeny(votes, time_limit=limit)
    assert sorted(cut.order) == sorted(exact.order)
    assert not cut.optimal
    assert cut.lower_bound == least_lost(votes)
    assert cut.lower_bound <= exact.cost <= cut.cost == kemeny_cost(cut, votes)
    assert kemeny(votes, time_limit=600).cost == exact.cost


def test_a_limit_while_pairs_are_counted(monkeypatch):
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 7, 20, ties=True, partial=True)
    weights = random.random(20)
    whole = kemeny(rankings, weights=weights, candidates=range(7))
    monkeypatch.setattr("rankwise._core.votes._SLICE", 1)
    monkeypatch.setattr("rankwise._core.votes._SURE", 1)
    again = kemeny(rankings, weights=weights, candidates=range(7))
    assert (again.order, again.cost) == (whole.order, whole.cost)
    cut = kemeny(rankings, weights=weights, candidates=range(7), time_limit=0)
    assert cut.order == borda(rankings, weights=weights, candidates=range(7)).order
    assert (cut.lower_bound, cut.optimal) == (0.0, False)
    assert_allclose(cut.cost, kemeny_cost(cut, rankings, weights=weights))


@pytest.mark.parametrize("most", [0, 50, 300, 10**6])
@pytest.mark.parametrize("batch", [20, 100])
def test_triangles_come_in_batches_and_are_never_too_many(monkeypatch, batch, most):
    votes = draw_votes(np.random.default_rng(0), 60, far=2.0)
    exact, sizes = kemeny(votes), []
    relax = ordering._Relaxation._relax

    def noted(self):
        sizes.append(len(self.rows))
        return relax(self)

    monkeypatch.setattr(ordering._Relaxation, "_relax", noted)
    monkeypatch.setattr(ordering, "_BATCH", batch)
    monkeypatch.setattr(ordering, "_MOST", most)
    found = kemeny(votes)
    assert max(sizes, default=0) <= most
    assert np.diff([0, *sizes]).max(initial=0) <= batch
    assert least_lost(votes) < found.lower_bound <= exact.cost <= found.cost
    assert found.optimal == (most == 10**6)


INTERRUPTED = """
import sys
import numpy as np
from rankwise.aggregation import kemeny
random = np.random.default_rng(0)
kemeny([random.permutation(30).tolist() for _ in range(3)])
votes = [random.permutation({n}).tolist() for _ in range(7)]
print("ready", flush=True)
kemeny(votes, method="exact")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
@pytest.mark.parametrize("wait", [0.3, 3.0])
@pytest.mark.parametrize("n", [200, 1200])
def test_ctrl_c_ends_a_hard_search(n, wait):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(n=n)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        # The search itself would take hours.
        _, errors = process.communicate(timeout=60)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert process.returncode in {130, -signal.SIGINT}


def least_lost(votes):
    _, wins = pairwise_wins(votes)
    return np.triu(np.minimum(wins, wins.T)).sum()


def test_auto_proves_what_is_small(monkeypatch):
    votes = draw_votes(np.random.default_rng(3), 30, far=2.0)
    assert kemeny(votes).optimal
    monkeypatch.setattr("rankwise.aggregation._kemeny._PROVEN", 5)
    assert not kemeny(votes).optimal
    assert kemeny(votes, time_limit=600).optimal
    assert kemeny(votes, method="exact").optimal


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_neither_the_order_of_voters_nor_names_matter(seed):
    random = np.random.default_rng(seed)
    rankings = draw_rankings(random, 7, 6, ties=True, partial=True)
    found = kemeny(rankings, candidates=range(7))
    assert kemeny(rankings[::-1], candidates=range(7)).order == found.order
    named = [
        [tuple(f"c{i}" for i in p) if isinstance(p, tuple) else f"c{p}" for p in r]
        for r in rankings
    ]
    assert kemeny(named, candidates=[f"c{i}" for i in range(7)]).order == [
        f"c{i}" for i in found.order
    ]
    doubled = kemeny(rankings + rankings, candidates=range(7))
    assert doubled.cost == 2 * found.cost == kemeny(rankings, weights=[2] * 6).cost


def test_no_majority_at_all():
    found = kemeny([["a", "b"], ["b", "a"], [("a", "b", "c")]])
    assert (found.order, found.cost, found.optimal) == (["a", "b", "c"], 1.0, True)


class Unknown:
    """As pandas' NA: whether it is equal to anything is unknown."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError("unknown")

    def __repr__(self):
        return "unknown"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "method='best' must be"),
        ({"method": ["auto"]}, r"method=\['auto'\] must be"),
        ({"unlisted": ["last"]}, r"unlisted=\['last'\] must be"),
        *(
            ({"weights": weights}, "weights is .*: give a number for each ranking")
            for weights in (
                {},
                object(),
                ["1", "2"],
                [1j, 1],
                [10**400, 1],
                [[1], [1, 2]],
                [None, 1j],
                "ab",
                np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
            )
        ),
        ({"weights": [1e308, 1e308]}, r"weights\[0\] is 1e\+308"),
        *(
            ({"time_limit": limit}, escape(f"time_limit is {limit!r}: give a number of seconds"))
            for limit in (-1, -1e-9, np.nan, np.inf, "1", True, [1.0], 1j)
        ),
        ({"unlisted": "first"}, "unlisted='first' must be"),
        ({"weights": [1]}, r"weights has the shape \(1,\) for 2 rankings"),
        ({"weights": [1, -1]}, r"weights\[1\] is -1"),
        ({"weights": [np.nan, 1]}, r"weights\[0\] is nan"),
        ({"weights": [0, 0]}, "weights is zero for every ranking"),
        ({"candidates": ["a"]}, "ranking 0 has 'b', which is not in candidates"),
        ({"candidates": ["a", "b", "a"]}, "candidates has the duplicated candidate 'a'"),
        ({"candidates": ["a", ("b", "c")]}, "candidates has a tie"),
        ({"rankings": []}, "rankings is empty"),
        ({"rankings": [[]]}, "no candidate"),
        ({"rankings": "ab"}, "rankings must be a list"),
        ({"rankings": 3}, "rankings must be a list"),
        ({"rankings": ["ab"]}, "ranking 0 is 'ab'"),
        ({"rankings": [{"a", "b"}]}, "ranking 0 is {"),
        ({"rankings": [["a"], ["b", "b"]]}, "ranking 1 has the duplicated candidate 'b'"),
        ({"rankings": [["a", ("b", "a")]]}, "ranking 0 has the duplicated candidate 'a'"),
        ({"rankings": [["a", ["b", "c"]]]}, "write ties as tuples"),
        ({"rankings": [["a", ()]]}, "empty tie"),
        ({"rankings": [["a", float("nan")]]}, "missing value, nan"),
        ({"rankings": [["a", None]]}, "missing value, None"),
        ({"rankings": [["a", Unknown()]]}, "missing value, unknown"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        kemeny(**{"rankings": [["a", "b"], ["b", "a"]], **options})


def test_an_order_must_name_all_once():
    with pytest.raises(ValueError, match="ranking 0 has 'c', which is not in order"):
        kemeny_cost(["a", "b"], [["c"]])
    with pytest.raises(ValueError, match="order has a tie"):
        kemeny_cost([("a", "b")], [["a"]])


def test_rankings_may_be_arrays_and_mixed_names():
    found = kemeny(np.array([[2, 0, 1], [2, 1, 0], [0, 2, 1]]))
    assert found.order == [2, 0, 1]
    mixed = kemeny([["x", 1], ["x", 1], [1, "x"]])
    assert mixed.order == ["x", 1]
    assert_array_equal(mixed.positions, [1, 2])


def test_weights_of_any_kind_of_number():
    votes = [["a", "b"], ["b", "a"]]
    for weights in ([2, 1], [True, False], [Fraction(1, 2), Fraction(1, 3)], np.float32([3, 2])):
        assert kemeny(votes, weights=weights).order == ["a", "b"]


def test_candidates_that_can_not_be_compared_stay_as_they_come():
    votes = [[np.float64(2.0), 10**400, "x"]]
    assert kemeny(votes).order == votes[0]


def test_a_time_limit_of_years_is_none():
    votes = [["a", "b"], ["b", "a"]]
    assert kemeny(votes, time_limit=10**400).optimal
    assert kemeny(votes, time_limit=Fraction(10**12)).optimal

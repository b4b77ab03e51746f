"""Kemeny's order against all orders, and what is proven about it."""

import signal
import subprocess
import sys
import time
from fractions import Fraction
from itertools import permutations
from re import escape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.aggregation import borda, kemeny, kemeny_cost, pairwise_wins
from rankwise.engine.loops.majority import common_divisor, order_cost
from rankwise.engine.loops.subsets import best_order
from rankwise.engine.loops.triangles import most_violated, pack, violated
from rankwise.engine.solvers import child, local_search, ordering
from rankwise.engine.solvers.child import ChildError
from rankwise.engine.solvers.local_search import improve
from rankwise.engine.solvers.ordering import components, solve
from rankwise.testing import oracles
from rankwise.testing.strategies import draw_rankings


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


@given(st.integers(0, 2**32), st.integers(2, 9), st.booleans())
def test_subsets_find_the_best_order(seed, n, whole):
    random = np.random.default_rng(seed)
    losses = random.integers(0, 5, (n, n)).astype(float) if whole else random.random((n, n))
    best = best_order(losses)
    assert sorted(best) == list(range(n))
    if n <= 6:
        least = min(order_cost(losses, np.array(o)) for o in permutations(range(n)))
        assert_allclose(order_cost(losses, best), least)
    margins = losses - losses.T
    settled = best.copy()
    assert improve(margins, settled, rounds=20, least=1e-6) < 1e-6


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_linear_program_and_the_subsets_agree(monkeypatch, seed, whole):
    # Random tournaments, far more circular than votes: fractional solutions and branching.
    random = np.random.default_rng(seed)
    margins = np.triu(random.integers(-5, 6, (13, 13)), 1).astype(float)
    margins = margins - margins.T
    if not whole:
        margins = margins / 5 + np.triu(random.random((13, 13)), 1) / 100
        margins = (margins - margins.T) / 4
    by_program = solve(margins, rounds=0, whole=whole)
    monkeypatch.setattr(ordering, "_FEW", 13)
    by_subsets = solve(margins, rounds=0, whole=whole)
    assert by_program.lower_bound == by_program.cost
    assert_allclose(by_program.cost, by_subsets.cost, atol=2e-6)


def test_branching_agrees_with_the_subsets(monkeypatch):
    calls = []
    branch = ordering._Relaxation._branch
    noted = lambda self: calls.append(1) or branch(self)  # noqa: E731
    monkeypatch.setattr(ordering._Relaxation, "_branch", noted)
    margins = np.triu(np.random.default_rng(1).choice([-1.0, 1.0], (20, 20)), 1)
    margins -= margins.T
    losses = np.maximum(margins, 0)
    found = solve(margins, rounds=0)
    assert found.lower_bound == found.cost == order_cost(losses, best_order(losses))
    assert calls


def test_components_follow_each_other_at_no_cost():
    random = np.random.default_rng(0)
    for n in (1, 2, 9, 30):
        margins = np.triu(random.integers(-1, 6, (n, n)), 1).astype(float)
        margins *= random.random((n, n)) < 0.2
        shuffled = random.permutation(n)
        margins = (margins - margins.T)[np.ix_(shuffled, shuffled)]
        groups = components(margins)
        assert sorted(np.concatenate(groups)) == list(range(n))
        for i, better in enumerate(groups):
            for worse in groups[i + 1 :]:
                assert (margins[np.ix_(better, worse)] >= 0).all()
        reach = np.linalg.matrix_power(np.eye(n) + (margins > 0), n) > 0
        for group in groups:
            assert reach[np.ix_(group, group)].all()


def draw_turned(n):
    return np.triu(np.random.default_rng(0).random((n, n)).round(1), 1)


def excesses(turned):
    """By how much each of the two inequalities of each triangle is violated."""
    n = len(turned)
    for p in range(n):
        for q in range(p + 1, n):
            for r in range(q + 1, n):
                slack = turned[p, q] + turned[q, r] - turned[p, r]
                yield (p, q, r, -1), -slack
                yield (p, q, r, 1), slack - 1


def test_violated_triangles():
    turned = draw_turned(30)
    rows, count = np.empty((5000, 4), dtype=np.int64), 0
    for first, stop in [(0, 1), (1, 10), (10, 28)]:
        count = violated(turned, 1e-6, first, stop, rows, count)
    expected = {row for row, excess in excesses(turned) if excess > 1e-6}
    assert {tuple(row) for row in rows[:count].tolist()} == expected
    assert len(expected) == count > 1000
    assert violated(turned, 1e-6, 0, 28, rows[:count], 0) == count
    assert violated(turned, 1e-6, 0, 28, rows[: count - 1], 0) == count


def test_the_most_violated_triangle_of_each_pair():
    n, turned = 20, draw_turned(20)
    third, excess = np.full((n, n), -1, dtype=np.int32), np.zeros((n, n))
    for first, stop in [(0, 3), (3, 18)]:
        most_violated(turned, 1e-6, first, stop, third, excess)
    worst = dict.fromkeys(zip(*np.triu_indices(n, 1), strict=True), 1e-6)
    for (p, q, _, _), value in excesses(turned):
        worst[p, q] = max(worst[p, q], value)
    for (p, q), value in worst.items():
        assert (third[p, q] >= 0) == (value > 1e-6)
        if value > 1e-6:
            assert_allclose(excess[p, q], value)
            assert_allclose(
                max(v for row, v in excesses(turned) if row[:3] == (p, q, third[p, q])), value
            )


@given(st.integers(0, 2**32), st.integers(3, 9), st.booleans())
def test_circles_bound_every_order_from_below(seed, n, whole):
    random = np.random.default_rng(seed)
    margins = random.integers(-4, 5, (n, n)).astype(float) if whole else random.normal(size=(n, n))
    margins = np.triu(margins, 1) - np.triu(margins, 1).T
    left, rows = np.triu(margins, 1), np.empty((4, 4), dtype=np.int64)
    lost, count = 0.0, 0
    for p in range(n - 2):
        more, count = pack(left, p, p + 1, rows, count)
        lost += more
    losses = np.maximum(margins, 0)
    assert lost <= order_cost(losses, best_order(losses)) + 1e-9
    assert (left * np.triu(margins) >= 0).all()
    # No circle is left.
    rest = np.where(np.abs(left) > 1e-9, left, 0.0)
    assert lost > 0 or not list(circles(margins))
    assert not list(circles(rest - rest.T))
    found = set(circles(margins))
    assert {tuple(row[:3]) for row in rows[:count].tolist()} <= found


def circles(margins):
    n = len(margins)
    for p in range(n):
        for q in range(p + 1, n):
            for r in range(q + 1, n):
                signs = np.sign([margins[p, q], margins[q, r], margins[r, p]])
                if abs(signs.sum()) == 3:
                    yield p, q, r


@given(st.lists(st.integers(-12, 12), min_size=1, max_size=10), st.sampled_from([1, 3, 6]))
def test_the_common_divisor_of_margins(values, factor):
    margins = np.zeros((5, 5))
    margins[np.triu_indices(5, 1)] = factor * np.resize([*values, 0], 10)
    if margins.any():
        assert common_divisor(margins) == np.gcd.reduce(margins.astype(int), axis=None)
    margins[3, 4] = 0.5
    assert common_divisor(margins) == 0


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 30))
def test_local_search_reports_its_gain_and_leaves_no_better_place(seed, n, rounds):
    random = np.random.default_rng(seed)
    margins = np.triu(random.integers(-4, 5, (n, n)), 1).astype(float)
    margins -= margins.T
    order = random.permutation(n)
    losses = np.maximum(margins, 0)
    before = order_cost(losses, order)
    gain = improve(margins, order, rounds=rounds, least=1e-6)
    assert sorted(order) == list(range(n))
    after = order_cost(losses, order)
    assert after == before - gain
    if rounds == 0:
        for i in range(n):
            rest = np.delete(order, i)
            for j in range(n):
                assert order_cost(losses, np.insert(rest, j, order[i])) >= after


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


def clock(ticks):
    """A clock that stands still for so many looks at it, and then is far ahead."""
    times = iter([0.0] * ticks)
    return lambda: next(times, 1e9)


@pytest.mark.parametrize("ticks", [*range(12), 15, 20, 30, 50])
def test_a_limit_that_strikes_anywhere(monkeypatch, ticks):
    votes = draw_votes(np.random.default_rng(0), 40, far=2.0)
    margins, best = margins_of(votes) / 2, kemeny(votes).cost - least_lost(votes)
    monkeypatch.setattr(local_search, "SLICE", 400)
    monkeypatch.setattr(ordering, "SLICE", 400)
    for module in (ordering, local_search):
        monkeypatch.setattr(module, "monotonic", clock(ticks))
    cut = solve(margins, rounds=3, deadline=1.0)
    assert sorted(cut.order) == list(range(40))
    assert cut.cost == order_cost(np.maximum(margins, 0), cut.order)
    assert 0 <= cut.lower_bound * 2 <= best <= cut.cost * 2


def test_a_limit_while_pairs_are_counted(monkeypatch):
    random = np.random.default_rng(0)
    rankings = draw_rankings(random, 7, 20, ties=True, partial=True)
    weights = random.random(20)
    whole = kemeny(rankings, weights=weights, candidates=range(7))
    monkeypatch.setattr("rankwise.aggregation._votes._SLICE", 1)
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


def test_what_takes_long_is_solved_in_a_process_of_its_own(monkeypatch):
    margins = np.triu(np.random.default_rng(1).choice([-1.0, 1.0], (20, 20)), 1)
    margins -= margins.T
    at_once, calls = solve(margins, rounds=0), []
    monkeypatch.setattr(ordering, "_SHORT", 0.0)
    monkeypatch.setattr(ordering, "call", lambda *a: calls.append(a) or child.call(*a))
    by_child = solve(margins, rounds=0)
    assert calls
    assert (by_child.cost, by_child.lower_bound) == (at_once.cost, at_once.lower_bound)
    for error in (TimeoutError, ChildError, OSError):
        monkeypatch.setattr(ordering, "call", raising(error))
        cut = solve(margins, rounds=0)
        assert 0 < cut.lower_bound <= at_once.cost <= cut.cost
        assert (cut.lower_bound == cut.cost) == (error is OSError)


def raising(error):
    def call(*_):
        raise error

    return call


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
        ({"method": "best"}, "method is 'best'"),
        ({"method": ["auto"]}, r"method is \['auto'\]"),
        ({"unlisted": ["last"]}, r"unlisted is \['last'\]"),
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
        ({"unlisted": "first"}, "unlisted is 'first'"),
        ({"weights": [1]}, r"weights has the shape \(1,\) for 2 rankings"),
        ({"weights": [1, -1]}, r"weights\[1\] is -1"),
        ({"weights": [np.nan, 1]}, r"weights\[0\] is nan"),
        ({"weights": [0, 0]}, "weights are all zero"),
        ({"candidates": ["a"]}, "ranking 0 has 'b', which is not in candidates"),
        ({"candidates": ["a", "b", "a"]}, "candidates has 'a' twice"),
        ({"candidates": ["a", ("b", "c")]}, "candidates has a tie"),
        ({"rankings": []}, "rankings is empty"),
        ({"rankings": [[]]}, "no candidate"),
        ({"rankings": "ab"}, "rankings must be a list"),
        ({"rankings": 3}, "rankings must be a list"),
        ({"rankings": ["ab"]}, "ranking 0 is 'ab'"),
        ({"rankings": [{"a", "b"}]}, "ranking 0 is {"),
        ({"rankings": [["a"], ["b", "b"]]}, "ranking 1 has 'b' twice"),
        ({"rankings": [["a", ("b", "a")]]}, "ranking 0 has 'a' twice"),
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

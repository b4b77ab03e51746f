"""The solver of linear orderings, and its loops, against their definitions."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise._core import child_process as child
from rankwise._core import linear_ordering as local_search
from rankwise._core import linear_ordering as ordering
from rankwise._core._loops.linear_ordering import (
    most_violated,
    order_by_subsets,
    order_cost,
    pack,
    violated,
)
from rankwise._core.child_process import ChildError
from rankwise._core.linear_ordering import components, improve, solve


def draw_margins(n, seed=0, largest=5):
    margins = np.triu(np.random.default_rng(seed).integers(-largest, largest + 1, (n, n)), 1)
    return (margins - margins.T).astype(float)


def cost_of(order, margins):
    return order_cost(np.maximum(margins, 0), np.asarray(order))


@pytest.mark.parametrize("few", [2, 10])
@given(st.integers(1, 6), st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([1, 7, 1 / 3]))
def test_no_order_is_cheaper(few, n, seed, largest, unit):
    margins = unit * draw_margins(n, seed, largest)
    given_ = margins.copy()
    with pytest.MonkeyPatch.context() as patch:
        # With few = 2, what dynamic programming would solve goes through the linear program.
        patch.setattr(ordering, "_FEW", few)
        found = solve(margins)
    assert (margins == given_).all()
    assert sorted(found.order) == list(range(n))
    least = min(cost_of(order, margins) for order in permutations(range(n)))
    assert_allclose([found.cost, found.lower_bound, cost_of(found.order, margins)], least)


def test_three_hundred_things_without_circles_and_nineteen_in_one():
    place = np.random.default_rng(0).permutation(300)
    margins = np.sign(np.subtract.outer(place, place)).T.astype(float)
    assert solve(margins).cost == 0
    # Each thing beats the nine that follow it.
    circle = np.where(np.subtract.outer(np.arange(19), np.arange(19)) % 19 > 9, 1.0, -1.0)
    np.fill_diagonal(circle, 0)
    found = solve(circle)
    assert (
        found.lower_bound == found.cost == cost_of(order_by_subsets(np.maximum(circle, 0)), circle)
    )


def test_a_component_that_is_too_large_is_not_proven():
    found = solve(draw_margins(30), max_proven=20)
    assert found.lower_bound == 0 < solve(draw_margins(30)).lower_bound <= found.cost


@given(st.integers(0, 2**32), st.integers(2, 9), st.booleans())
def test_subsets_find_the_best_order(seed, n, whole):
    random = np.random.default_rng(seed)
    losses = random.integers(0, 5, (n, n)).astype(float) if whole else random.random((n, n))
    best = order_by_subsets(losses)
    assert sorted(best) == list(range(n))
    if n <= 6:
        least = min(order_cost(losses, np.array(o)) for o in permutations(range(n)))
        assert_allclose(order_cost(losses, best), least)
    margins = losses - losses.T
    again = best.copy()
    assert improve(margins, again, rounds=20, min_gain=1e-6) < 1e-6


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_linear_program_and_the_subsets_agree(monkeypatch, seed, whole):
    monkeypatch.setattr(ordering, "_ROUNDS", 0)
    # Random tournaments, far more circular than votes: fractional solutions and branching.
    random = np.random.default_rng(seed)
    margins = np.triu(random.integers(-5, 6, (13, 13)), 1).astype(float)
    margins = margins - margins.T
    if not whole:
        margins = margins / 5 + np.triu(random.random((13, 13)), 1) / 100
        margins = (margins - margins.T) / 4
    by_program = solve(margins)
    monkeypatch.setattr(ordering, "_FEW", 13)
    by_subsets = solve(margins)
    assert by_program.lower_bound == by_program.cost
    assert_allclose(by_program.cost, by_subsets.cost, atol=2e-6)


def test_branching_agrees_with_the_subsets(monkeypatch):
    monkeypatch.setattr(ordering, "_ROUNDS", 0)
    calls = []
    branch = ordering._Relaxation._branch
    noted = lambda self: calls.append(1) or branch(self)  # noqa: E731
    monkeypatch.setattr(ordering._Relaxation, "_branch", noted)
    margins = np.triu(np.random.default_rng(1).choice([-1.0, 1.0], (20, 20)), 1)
    margins -= margins.T
    losses = np.maximum(margins, 0)
    found = solve(margins)
    assert found.lower_bound == found.cost == order_cost(losses, order_by_subsets(losses))
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
    assert lost <= order_cost(losses, order_by_subsets(losses)) + 1e-9
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
def test_margins_are_divided_by_their_common_divisor(values, factor):
    upper = factor * np.resize([*values, 0], 10)
    margins = np.zeros((5, 5))
    margins[np.triu_indices(5, 1)] = upper
    assert ordering._unit(margins - margins.T) == (math.gcd(*upper.tolist()) or 1.0, True)
    margins[3, 4] = 0.5
    assert ordering._unit(margins - margins.T) == (max(abs(upper[:9]).max(), 0.5), False)


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 30))
def test_local_search_reports_its_gain_and_leaves_no_better_place(seed, n, rounds):
    random = np.random.default_rng(seed)
    margins = np.triu(random.integers(-4, 5, (n, n)), 1).astype(float)
    margins -= margins.T
    order = random.permutation(n)
    losses = np.maximum(margins, 0)
    before = order_cost(losses, order)
    gain = improve(margins, order, rounds=rounds, min_gain=1e-6)
    assert sorted(order) == list(range(n))
    after = order_cost(losses, order)
    assert after == before - gain
    if rounds == 0:
        for i in range(n):
            rest = np.delete(order, i)
            for j in range(n):
                assert order_cost(losses, np.insert(rest, j, order[i])) >= after


def clock(ticks):
    """A clock that stands still for so many looks at it, and then is far ahead."""
    times = iter([0.0] * ticks)
    return lambda: next(times, 1e9)


@pytest.fixture(scope="module")
def solved():
    """Margins and the cost of their best order."""
    margins = draw_margins(25)
    return margins, solve(margins).cost


@pytest.mark.parametrize("ticks", [*range(12), 15, 20, 30, 50])
def test_a_limit_that_strikes_anywhere(monkeypatch, ticks, solved):
    margins, best = solved
    monkeypatch.setattr(ordering, "_ROUNDS", 3)
    monkeypatch.setattr(local_search, "SLICE", 400)
    monkeypatch.setattr(ordering, "SLICE", 400)
    for module in (ordering, local_search):
        monkeypatch.setattr(module, "monotonic", clock(ticks))
    cut = solve(margins, deadline=1.0)
    assert sorted(cut.order) == list(range(25))
    assert cut.cost == order_cost(np.maximum(margins, 0), cut.order)
    assert 0 <= cut.lower_bound <= best <= cut.cost


def test_what_takes_long_is_solved_in_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(ordering, "_ROUNDS", 0)
    margins = np.triu(np.random.default_rng(1).choice([-1.0, 1.0], (20, 20)), 1)
    margins -= margins.T
    at_once, calls = solve(margins), []
    monkeypatch.setattr(ordering, "_SHORT", 0.0)
    monkeypatch.setattr(ordering, "call", lambda *a: calls.append(a) or child.call(*a))
    by_child = solve(margins)
    assert calls
    assert (by_child.cost, by_child.lower_bound) == (at_once.cost, at_once.lower_bound)
    for error in (TimeoutError, ChildError, OSError):
        monkeypatch.setattr(ordering, "call", raising(error))
        cut = solve(margins)
        assert 0 < cut.lower_bound <= at_once.cost <= cut.cost
        assert (cut.lower_bound == cut.cost) == (error is OSError)


def raising(error):
    def call(*_):
        raise error

    return call

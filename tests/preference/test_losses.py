"""Losses and regrets against their definitions, and what the lecture proves of them."""

import re
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.aggregation import kemeny, kemeny_cost
from rankwise.base import Ranking
from rankwise.preference import (
    AlternativesGap,
    alternatives_gap,
    check_weight,
    order_loss,
    preference_loss,
    preference_regret,
    ranking_regret,
    sort_by_degree,
)
from rankwise.preference.sorting import QuickSort

WEIGHTS = {
    "kemeny": lambda *_: 1,
    ("top", 2): lambda i, j: i <= 2 or j <= 2,
    ("bipartite", 2): lambda i, j: i <= 2 < j or j <= 2 < i,
    ("partite", (1, 3)): lambda i, j: ((i > 1) + (i > 3)) != ((j > 1) + (j > 3)),
}


def literal_tau(target, weight):
    """tau*(u, v) by the definition; positions from 1."""
    place = {item: i for i, item in enumerate(target, start=1)}
    return lambda u, v: (place[u] < place[v]) * float(weight(place[u], place[v]))


def literal_loss(h, items, target, weight):
    tau, n = literal_tau(target, weight), len(items)
    total = sum(h(u, v) * tau(v, u) for u, v in product(items, items) if u != v)
    return 2 * total / (n * (n - 1))


def before(order):
    place = {item: i for i, item in enumerate(order)}
    return lambda u, v: place[u] < place[v]


def tournament(n, seed):
    wins = np.triu(np.random.default_rng(seed).random((n, n)) < 0.5, 1)
    return (wins | (~wins.T & np.tri(n, k=-1, dtype=bool))).astype(float)


@given(st.integers(2, 8), st.integers(0, 2**32), st.sampled_from(list(WEIGHTS)), st.booleans())
def test_losses_are_those_of_the_definition(n, seed, weight, own):
    random = np.random.default_rng(seed)
    P = random.random((n, n))
    target, order = random.permutation(n), random.permutation(n)
    omega = WEIGHTS[weight]
    used = omega if own else weight
    assert preference_loss(P, target, weight=used) == pytest.approx(
        literal_loss(lambda u, v: P[u, v], range(n), target.tolist(), omega)
    )
    expected = literal_loss(before(order.tolist()), range(n), target.tolist(), omega)
    assert order_loss(order, target, weight=used) == pytest.approx(expected)
    letters = [chr(97 + i) for i in order], "".join(chr(97 + i) for i in target)
    assert order_loss(*letters, weight=used) == pytest.approx(expected)


def test_an_unsymmetric_weight_is_taken_as_it_is():
    assert order_loss("ba", "ab", weight=lambda i, j: 10 * i + j) == 12


def test_rankings_and_many_items():
    n = 200_000
    order = Ranking.from_scores(np.random.default_rng(0).random(n))
    assert order_loss(order, order) == 0
    assert order_loss(order, order.order[::-1]) == pytest.approx(1)
    assert order_loss(order, np.arange(n)) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("weight", [*WEIGHTS, *WEIGHTS.values(), lambda i, j: abs(i - j)])
def test_the_weights_of_the_lecture_meet_its_conditions(weight):
    W = check_weight(weight, 6)
    assert W.shape == (6, 6)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda i, _: i, r"symmetry: omega\(1, 2\) = 1 but omega\(2, 1\) = 2"),
        (lambda i, j: i <= 2 < j, "symmetry"),
        (lambda i, j: 1 / abs(i - j), r"monotonicity: omega\(1, 2\) = 1 .* omega\(1, 3\) = 0.5"),
        (lambda i, j: 2 if {i, j} == {2, 3} else 1, r"monotonicity: omega\(2, 3\) = 2"),
        (lambda i, j: (i - j) ** 2, r"triangle inequality: omega\(1, 3\) = 4"),
        (lambda *_: -1, r"weight\(1, 2\) is -1"),
        (lambda *_: np.nan, r"weight\(1, 2\) is nan"),
        ("top", "must be"),
        (("top", 2, 3), "must be"),
        (("top", 0), "integers from 1"),
        (("bipartite", 1.5), "integers from 1"),
        (("bipartite", (1, 2)), "one position"),
        (("partite", (2, 2)), "increasing"),
    ],
)
def test_the_condition_that_fails_is_named(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weight(weight, 5)


def literal_check(weight, n):
    """The conditions by their definition, over all triples."""
    places = range(1, n + 1)
    symmetry = all(weight(i, j) == weight(j, i) for i, j in combinations(places, 2))
    monotonicity = all(
        max(weight(i, j), weight(j, k)) <= weight(i, k) for i, j, k in combinations(places, 3)
    )
    triangle = all(
        weight(i, j) <= weight(i, k) + weight(k, j) for i, j, k in permutations(places, 3)
    )
    return symmetry, monotonicity, triangle


@pytest.mark.parametrize("weight", [*WEIGHTS, ("top", 9), ("bipartite", 6), ("partite", (2, 3, 9))])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_named_weights_have_all_three_by_their_form(weight, n):
    W = check_weight(weight, n)
    assert literal_check(lambda i, j: W[i - 1, j - 1], n) == (True, True, True)


@given(st.integers(1, 6), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_conditions_are_those_of_the_definition(n, seed, symmetric, monotone):
    random = np.random.default_rng(seed)
    U = np.triu(random.integers(0, 4, (n, n)) + random.integers(0, 4), 1)
    if monotone:
        U = np.maximum.accumulate(U, axis=1)
        U = np.triu(np.maximum.accumulate(U[::-1], axis=0)[::-1], 1)
    W = U + (U.T if symmetric else np.triu(random.integers(0, 4, (n, n)), 1).T)

    def weight(i, j):
        return W[i - 1, j - 1]

    broken = [
        name
        for name, holds in zip(
            ("symmetry", "monotonicity", "triangle"), literal_check(weight, n), strict=True
        )
        if not holds
    ]
    if broken:
        with pytest.raises(ValueError, match=f"breaks (the )?{broken[0]}") as caught:
            check_weight(weight, n)
        places = re.findall(r"omega\((\d), (\d)\)", str(caught.value))
        assert all(1 <= int(i) <= n for pair in places for i in pair)
    else:
        assert (check_weight(weight, n) == W).all()


def test_many_positions():
    assert check_weight("kemeny", 2_000).sum() == 2_000 * 1_999
    W = check_weight(lambda i, j: abs(i - j), 300)
    assert W[0, -1] == 299
    with pytest.raises(ValueError, match=r"omega\(1, 300\) = 300 is more than"):
        check_weight(lambda i, j: abs(i - j) + (abs(i - j) == 299), 300)


def all_sorts(wins):
    """Every order of QuickSort, one for each order of priorities."""
    n = len(wins)
    for priority in permutations(range(n)):
        sort = QuickSort(n, priority)
        while len((pairs := sort.plan())[0]):
            sort.take(wins[pairs] > 0.5)
        yield sort.order


@settings(max_examples=30)
@given(st.integers(2, 5), st.integers(0, 2**32), st.data())
def test_the_guarantees_of_the_lecture_hold_exactly(n, seed, data):
    P = tournament(n, seed)
    target = np.random.default_rng(seed + 1).permutation(n)
    orders = list(all_sorts(P))

    def expected(weight):
        return np.mean([order_loss(order, target, weight=weight) for order in orders])

    bipartite = ("bipartite", data.draw(st.integers(1, n - 1)))
    assert expected(bipartite) == pytest.approx(preference_loss(P, target, weight=bipartite))
    for weight in ("kemeny", ("top", 1), ("partite", (1, 2)), lambda i, j: abs(i - j)):
        assert expected(weight) <= 2 * preference_loss(P, target, weight=weight) + 1e-12
    degree = sort_by_degree(range(n), lambda u, v: P[u, v])
    loss = order_loss(degree, target, weight=bipartite)
    assert loss <= 2 * preference_loss(P, target, weight=bipartite) + 1e-12
    best = min(permutations(range(n)), key=lambda order: preference_loss(P, order))
    near = preference_loss(P, best)
    assert np.mean([order_loss(order, best) for order in orders]) <= 2 * near + 1e-12
    assert np.mean([preference_loss(P, order) for order in orders]) <= 3 * near + 1e-12


def test_a_deterministic_sort_pays_twice_on_the_cycle():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    degree = sort_by_degree(range(3), lambda u, v: cycle[u, v])
    ratios = []
    for k, target in product((1, 2), permutations(range(3))):
        weight = ("bipartite", k)
        loss = preference_loss(cycle, target, weight=weight)
        assert loss == pytest.approx(1 / 3)
        losses = [order_loss(order, target, weight=weight) for order in all_sorts(cycle)]
        assert np.mean(losses) == pytest.approx(loss)
        ratios.append(order_loss(degree, target, weight=weight) / loss)
    assert max(ratios) == pytest.approx(2)


def literal_regrets(had, sets, targets, weight, candidates):
    """Weak and strong regrets by trying every candidate; ``had`` is a loss for each set, target."""
    total = sum(map(len, targets))
    mean = sum(had(s, t) for s in range(len(sets)) for t in targets[s]) / total
    weak = sum(
        min(sum(loss(c, sets[s], t, weight) for t in targets[s]) for c in candidates(sets[s]))
        for s, loss in ((s, candidates.loss) for s in range(len(sets)))
    )
    universe = sorted({item for items in sets for item in items})
    strong = min(
        sum(candidates.loss(c, sets[s], t, weight) for s in range(len(sets)) for t in targets[s])
        for c in candidates(universe)
    )
    return mean - weak / total, mean - strong / total


class Orders:
    def __call__(self, items):
        return permutations(items)

    def loss(self, order, items, target, weight):
        return literal_loss(before([i for i in order if i in items]), items, target, weight)


class Comparators:
    def __call__(self, items):
        pairs = list(combinations(items, 2))
        for wins in product((0, 1), repeat=len(pairs)):
            h = dict(zip(pairs, wins, strict=True))
            yield h | {(v, u): 1 - p for (u, v), p in h.items()}

    def loss(self, h, items, target, weight):
        return literal_loss(lambda u, v: h[u, v], items, target, weight)


@pytest.mark.parametrize("weight", list(WEIGHTS))
@pytest.mark.parametrize("seed", range(4))
def test_regrets_are_those_of_the_definition(weight, seed):
    random = np.random.default_rng(seed)
    sets = [[0, 1, 2], [1, 2, 3]]
    targets = [
        [random.permutation(s).tolist() for _ in range(n)]
        for s, n in zip(sets, (3, 2), strict=True)
    ]
    orders = [random.permutation(s).tolist() for s in sets]
    omega = WEIGHTS[weight]
    for kind, expected in zip(
        ("weak", "strong"),
        literal_regrets(
            lambda s, t: literal_loss(before(orders[s]), sets[s], t, omega),
            sets,
            targets,
            omega,
            Orders(),
        ),
        strict=True,
    ):
        assert ranking_regret(orders, targets, weight=weight, kind=kind) == pytest.approx(expected)
    P = random.random((2, 3, 3))
    rows = [
        [[s.index(i) for i in t] for t in group] for s, group in zip(sets, targets, strict=True)
    ]
    for kind, expected in zip(
        ("weak", "strong"),
        literal_regrets(
            lambda s, t: literal_loss(
                lambda u, v: P[s, sets[s].index(u), sets[s].index(v)], sets[s], t, omega
            ),
            sets,
            targets,
            omega,
            Comparators(),
        ),
        strict=True,
    ):
        got = preference_regret(list(P), rows, weight=weight, kind=kind, items=sets)
        assert got == pytest.approx(expected)


def test_one_set_has_one_regret():
    targets = [[0, 1, 2], [1, 0, 2], [0, 2, 1]]
    P = tournament(3, 0)
    assert preference_regret(P, targets) == preference_regret(P, targets, kind="strong")
    assert ranking_regret([0, 1, 2], targets) == ranking_regret([0, 1, 2], targets, kind="strong")
    assert ranking_regret([0, 1, 2], targets) == 0
    assert ranking_regret([2, 1, 0], targets, best=[0, 1, 2]) == ranking_regret([2, 1, 0], targets)
    words = [["pear", "fig"], ["fig", "pear"], ["fig", "pear"]]
    assert ranking_regret(["pear", "fig"], words) == pytest.approx(1 / 3)


def test_the_best_of_many_items_in_circles_is_proven():
    random = np.random.default_rng(0)
    targets = [random.permutation(24).tolist() for _ in range(3)]
    found = kemeny(targets)
    assert found.optimal
    assert ranking_regret(found, targets) == pytest.approx(0, abs=1e-12)
    pairs = 3 * 24 * 23 / 2
    worse = kemeny_cost(range(24), targets) - found.cost
    assert ranking_regret(range(24), targets) == pytest.approx(worse / pairs)
    # The circle of 24 items alone: each target is the one before, turned by one.
    turned = [np.roll(np.arange(24), shift).tolist() for shift in range(24)]
    assert ranking_regret(turned[5], turned) == pytest.approx(0, abs=1e-12)


def test_a_best_order_without_proof_is_told(monkeypatch):
    random = np.random.default_rng(0)
    targets = [random.permutation(24).tolist() for _ in range(3)]
    monkeypatch.setattr("rankwise._core.linear_ordering._MOST", 0)
    with pytest.warns(UserWarning, match="not proven, and the regret may be larger by up to 0.0"):
        ranking_regret(range(24), targets)


def test_one_order_for_all_sets_has_no_less_loss():
    targets = [[["a", "b"]], [["b", "a", "c"]]]
    orders = [["a", "b"], ["b", "a", "c"]]
    assert ranking_regret(orders, targets) == 0
    assert ranking_regret(orders, targets, kind="strong") == pytest.approx(-1 / 6)
    found = ranking_regret(orders, targets, kind="strong", best=["a", "b", "c"])
    assert found == pytest.approx(-1 / 6)


def test_alternatives():
    gap = alternatives_gap([[[0, 1, 2], [1, 0, 2]], [[0, 1], [0, 1]], [[3, 4]]])
    assert gap.value == 0.5
    assert set(gap.pair) == {0, 1}
    assert gap.sets == (0, 1)
    assert alternatives_gap([[[0, 1]], [[2, 3]]]) == AlternativesGap(0.0, None, None)
    # Positions change when others come between, so weights by position see the others.
    sets = [[[0, 1, 2]], [[0, 2]]]
    assert alternatives_gap(sets).value == 0
    assert alternatives_gap(sets, weight=lambda i, j: abs(i - j)).value == 1
    with pytest.raises(ValueError, match="several sets"):
        alternatives_gap([[0, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: preference_loss([[0, 1]], [0, 1]), "square"),
        (lambda: preference_loss([[0, 2], [0, 0]], [0, 1]), r"\[0, 1\] is 2"),
        (lambda: preference_loss(np.eye(2), [0, 2]), "each of 0..1 once"),
        (lambda: preference_loss([[0]], [0]), "two or more"),
        (lambda: order_loss("ab", "ac"), "same items"),
        (lambda: order_loss("ab", "abc"), "same items"),
        (lambda: order_loss("aa", "ab"), "order has a duplicated item"),
        (lambda: order_loss("a", "a"), "two or more"),
        (lambda: ranking_regret([0, 1], []), "targets is empty"),
        (lambda: ranking_regret([0, 1], [[0, 2]]), "same items"),
        (lambda: ranking_regret([0, 1], [[0, 1]], kind="middle"), "kind='middle'"),
        (lambda: ranking_regret([[0, 1]], [[[0, 1]], [[0, 1]]]), "2 sets"),
        (lambda: ranking_regret([0], [[0]]), "fewer than two"),
        (lambda: ranking_regret([0, 1], [[0, 1]], weight=[]), "for each of 1 sets, or for each"),
        (lambda: ranking_regret([[0, 1]], [[[0, 1]]], weight=["kemeny"] * 2), "each of 1 sets"),
        (lambda: ranking_regret([[0, 1]], [[[0, 1]]], weight=[["kemeny"] * 2]), "each of 1 sets"),
        (lambda: ranking_regret([0, 1], [[0, 1]], best=[0]), "every item"),
        (lambda: preference_regret(np.eye(2), [[0, 1]], items=[[0, 0]]), "has a duplicated item"),
        (
            lambda: preference_regret(np.eye(2), [[0, 1]], items=[[0]]),
            "must have a unique name",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

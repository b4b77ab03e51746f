"""M. Mohri, Foundations of machine learning, lecture on ranking."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.boosting import RankBoost
from rankwise.bounds import empirical_rademacher, margin_bound, margin_loss, margin_share
from rankwise.preference import (
    alternatives_gap,
    check_weight,
    order_loss,
    preference_loss,
    preference_regret,
    ranking_regret,
    sort_by_degree,
)
from rankwise.preference.sorting import QuickSort

CYCLES = [
    np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]),
]


def tournament(n, seed):
    """Return a pairwise consistent h with random answers."""
    wins = np.triu(np.random.default_rng(seed).random((n, n)) < 0.5, 1)
    return (wins | (~wins.T & np.tri(n, k=-1, dtype=bool))).astype(float)


def runs_of_quicksort(h):
    """Yield the order and the pairs (member, pivot) of QuickSort for every order of its pivots."""
    for priority in permutations(range(len(h))):
        sort, pairs = QuickSort(len(h), priority), []
        while len((level := sort.plan())[0]):
            pairs += zip(*(part.tolist() for part in level), strict=True)
            sort.take(h[level] > 0.5)
        yield sort.order, pairs


def rankboost_of_the_lecture(H, pairs, n_rounds):
    """CD RankBoost, lines 1 to 10: H are rows of 0 and 1, and in each pair the second is better."""
    D = np.full(len(pairs), 1 / len(pairs))
    scores = np.zeros(H.shape[1])
    worse, better = np.transpose(pairs)
    for _ in range(n_rounds):
        gaps = H[:, better] - H[:, worse]
        h = int(np.argmin(-(gaps @ D)))
        plus, minus = D[gaps[h] > 0].sum(), D[gaps[h] < 0].sum()
        alpha = np.log(plus / minus) / 2
        scores += alpha * H[h]
        D *= np.exp(-alpha * gaps[h]) / (1 - plus - minus + 2 * np.sqrt(plus * minus))
    return scores


@pytest.mark.parametrize("seed", range(2))
def test_columns_of_0_and_1_are_any_weak_rankers(seed):
    """CD RankBoost: a given H is a table of 0 and 1, with a column a base ranker.

    RankBoost also steps back along a column, which is a step along 1 - h but for a constant.
    """
    random = np.random.default_rng(seed)
    H = random.integers(0, 2, size=(12, 30)).astype(float)
    pairs = random.permuted(np.tile(np.arange(30), (200, 1)), axis=1)[:, :2]
    model = RankBoost(20, criterion="edge", max_bins=None).fit_pairs(H.T, pairs)
    expected = rankboost_of_the_lecture(np.vstack([H, 1 - H]), pairs, 20)
    found = model.predict(H.T)
    assert_allclose(found - found[0], expected - expected[0], atol=1e-12)


def test_margin_loss_and_the_share_above_it():
    """Confidence margin: the mean of Phi_rho(y (h(x') - h(x))), at most the share within rho."""
    random = np.random.default_rng(0)
    y, gaps, rho = random.choice([-1, 1], 200), random.normal(size=200), 0.7
    literal = np.mean([1 if u <= 0 else 0 if u >= rho else 1 - u / rho for u in y * gaps])
    share = np.mean([u <= rho for u in y * gaps])
    assert_allclose(margin_loss(y * gaps, rho=rho), literal)
    assert_allclose(margin_share(y * gaps, rho=rho), share)
    assert literal < share


def test_margin_bound_as_printed():
    """Ranking margin bound: 2 / rho (R_D1 + R_D2) + sqrt(log(1 / delta) / 2m), expected ones.

    For norms up to Lambda both complexities are at most Lambda kappa / sqrt(m), and so is what
    their mean over samples comes to.
    """
    random = np.random.default_rng(1)
    m, rho, delta, radius = 50, 0.5, 0.1, 2.0
    kernel = {"kind": "kernel", "kernel": "rbf", "gamma": 0.1, "radius": radius}
    X = random.normal(size=(2, m, 3))
    margins = random.normal(1, 1, m)
    complexity = [empirical_rademacher(rows, **kernel) for rows in X]
    bound = margin_bound(margins, complexity=complexity, rho=rho, delta=delta, expected=True)
    most = radius * 1.0 / np.sqrt(m)
    tail = np.sqrt(np.log(1 / delta) / (2 * m))
    assert_allclose(bound.value, margin_loss(margins, rho=rho) + 2 / rho * 2 * most + tail)
    assert_allclose(
        bound.value,
        float(margin_bound(margins, complexity=(most, most), rho=rho, delta=delta, expected=True)),
    )
    # of linear scores, that of the sample is less than what the longest row allows
    linear = [empirical_rademacher(rows, radius=radius) for rows in X]
    bound = margin_bound(margins, complexity=linear, rho=rho, delta=delta, expected=True)
    longest = sum(np.linalg.norm(rows, axis=1).max() for rows in X)
    assert_allclose(bound.pieces["complexity"], 2 / rho * radius * longest / np.sqrt(m))
    # the expectation, estimated: sup over the ball is Lambda sqrt(sigma' K sigma) / m
    fits = []
    for _ in range(300):
        rows, sigma = random.normal(size=(m, 3)), random.choice([-1, 1], m)
        K = np.exp(-0.1 * ((rows[:, None] - rows) ** 2).sum(axis=2))
        fits.append(radius * np.sqrt(sigma @ K @ sigma) / m)
    assert 0.8 * most < np.mean(fits) < 0.99 * most


@pytest.mark.parametrize(("n", "seed"), [(3, 0), (4, 1), (5, 2), (5, 3)])
def test_quicksort_decomposition(n, seed):
    """Proof ideas: p_uv + 1/3 sum_w p_uvw (h(u,w) h(w,v) + h(v,w) h(w,u)) = 1, over all pivots.

    p_uv: u and v are compared. p_uvw: one of the three is a pivot while the other two are there.
    """
    h = tournament(n, seed)
    runs = [set(pairs) for _, pairs in runs_of_quicksort(h)]

    def together(u, v, w):
        pivots = ((u, v, w), (v, u, w), (w, u, v))
        return np.mean([any({(b, a), (c, a)} <= run for a, b, c in pivots) for run in runs])

    for u, v in combinations(range(n), 2):
        compared = np.mean([(u, v) in run or (v, u) in run for run in runs])
        apart = sum(
            together(u, v, w) * (h[u, w] * h[w, v] + h[v, w] * h[w, u])
            for w in set(range(n)) - {u, v}
        )
        assert_allclose(compared + apart / 3, 1, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_bipartite_identity(n):
    """Proof ideas: tau* around three items is the same in both directions, if it is bipartite."""

    def around(weight, order):
        place = np.argsort(order)
        W = check_weight(weight, n)
        tau = (place[:, None] < place) * W[np.ix_(place, place)]
        return [
            (tau[u, v] + tau[v, w] + tau[w, u], tau[v, u] + tau[w, v] + tau[u, w])
            for u, v, w in permutations(range(n), 3)
        ]

    for order in permutations(range(n)):
        for k in range(1, n):
            assert all(one == other for one, other in around(("bipartite", k), order))
        assert all(one != other for one, other in around("kemeny", order))


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_lower_bound_for_every_deterministic_order(cycle, order):
    """Lower bound: on a cycle, whatever order comes out, a bipartite target makes it pay twice."""
    found = []
    for k, target in product((1, 2), permutations(range(3))):
        weight = ("bipartite", k)
        assert_allclose(preference_loss(cycle, target, weight=weight), 1 / 3)
        classes = preference_regret(cycle, [target], weight=weight)
        ranks = ranking_regret(order, [target], weight=weight)
        assert_allclose([classes, ranks], [1 / 3, order_loss(order, target, weight=weight)])
        found.append(ranks / classes)
    assert max(found) == pytest.approx(2)


def labelled(items, labels):
    """Return a target for every choice of each item's label, with its cut: positives first."""
    targets, cuts = [], []
    for chosen in product(*(labels[item] for item in items)):
        ordered = sorted(zip(chosen, items, strict=True), key=lambda pair: -pair[0])
        targets.append([item for _, item in ordered])
        # all in one class: a cut after the last, with which no pair counts
        cuts.append(("bipartite", sum(chosen) or len(items)))
    return targets, cuts


def regrets(h, sets, targets, cuts, kind):
    """Return the regrets of h, of sort by degree, and of QuickSort over all of its pivots."""
    matrices = [h[np.ix_(items, items)] for items in sets]
    rows = [
        [[items.index(item) for item in target] for target in group]
        for items, group in zip(sets, targets, strict=True)
    ]
    classes = preference_regret(matrices, rows, weight=cuts, kind=kind, items=sets)
    degree = [sort_by_degree(items, lambda u, v: h[u, v]).order for items in sets]
    # regrets are linear, so that each set may go through its own orders beside the others
    orders = []
    for items, matrix in zip(sets, matrices, strict=True):
        every = [[items[i] for i in order] for order, _ in runs_of_quicksort(matrix)]
        orders.append(every * (6 // len(every)))
    quick = [
        ranking_regret(list(chosen), targets, weight=cuts, kind=kind)
        for chosen in zip(*orders, strict=True)
    ]
    return classes, ranking_regret(degree, targets, weight=cuts, kind=kind), np.mean(quick)


@pytest.mark.parametrize("seed", range(12))
def test_weak_and_strong_regrets_if_alternatives_are_irrelevant(seed):
    """Bipartite regrets: rank <= 2 class for sort by degree, rank <= class for QuickSort.

    Three sets are pairs whose targets go in a circle, so that one order of all items loses where an
    order of each set need not; two sets share a pair whose labels don't depend on the third item.
    """
    sets = [[0, 1], [1, 2], [2, 0], [0, 3, 4], [1, 3, 4]]
    labels = {0: (1, 1, 0), 1: (1, 0, 0), 3: (1, 1, 0), 4: (1, 0, 0)}
    groups = [([pair], [("bipartite", 1)]) for pair in sets[:3]]
    groups += [labelled(items, labels) for items in sets[3:]]
    targets, cuts = (list(part) for part in zip(*groups, strict=True))
    assert alternatives_gap(targets, weight=cuts).value < 1e-12
    h = tournament(5, seed)
    weak, strong = (regrets(h, sets, targets, cuts, kind) for kind in ("weak", "strong"))
    for classes, degree, quick in (weak, strong):
        assert degree <= 2 * classes + 1e-12
        assert quick <= classes + 1e-12
    assert_allclose(strong[0], weak[0], atol=1e-12)
    assert strong[1] < weak[1] - 1e-3


def test_strong_regrets_need_irrelevant_alternatives():
    """Strong regrets: where a pair's target depends on the third item, rank <= 2 class fails."""
    h = CYCLES[0]
    sets, targets = [[0, 2], [2, 0, 1]], [[[2, 0]], [[0, 1, 2]]]
    cuts = [("bipartite", 1), ("bipartite", 2)]
    assert alternatives_gap(targets, weight=cuts).value == 1
    classes, degree, quick = regrets(h, sets, targets, cuts, "strong")
    assert_allclose([classes, degree], [0, 1 / 6], atol=1e-12)
    assert quick <= classes + 1e-12
    classes, degree, quick = regrets(h, sets, targets, cuts, "weak")
    assert 0 < degree <= 2 * classes + 1e-12
    assert quick <= classes + 1e-12


def test_regrets_with_a_cut_for_each_target():
    """Bipartite targets: V = V+ and V-, of which V+ may have another size in each target."""
    items = [0, 1, 2, 3]
    targets, cuts = labelled(items, {0: (1, 0, 0), 1: (1, 1, 0), 2: (0, 1), 3: (0, 0, 1)})
    costs = np.zeros((4, 4))
    for target, (_, k) in zip(targets, cuts, strict=True):
        for better, worse in product(target[:k], target[k:]):
            costs[worse, better] += 2 / (4 * 3) / len(targets)
    had = sum(costs[u, v] for u, v in combinations(items, 2))
    least = min(
        sum(costs[u, v] for u, v in combinations(order, 2)) for order in permutations(items)
    )
    assert_allclose(ranking_regret(items, targets, weight=cuts), had - least)
    assert_allclose(ranking_regret([items], [targets], weight=[cuts]), had - least)
    least = sum(min(costs[u, v], costs[v, u]) for u, v in combinations(items, 2))
    before = np.triu(np.ones((4, 4)), 1)
    assert_allclose(preference_regret(before, targets, weight=cuts), had - least)
    assert_allclose(preference_regret(before, targets[:1], weight=cuts[:1]),
                    preference_regret(before, targets[:1], weight=cuts[0]))  # fmt: skip

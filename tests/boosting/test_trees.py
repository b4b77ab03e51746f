"""Trees round by round against gradients over listed pairs and a search of every split."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime

from rankwise._core.threads import Pool
from rankwise.boosting import losses
from rankwise.boosting._loops.losses import (
    MAGNITUDE,
    NDCG,
    UNIFORM,
    Lists,
    fill_gradients,
)
from rankwise.boosting.grower import Limits, TreeRounds
from rankwise.boosting.losses import (
    ExponentialLoss,
    GivenPairsLoss,
    ListLoss,
    MagnitudeLoss,
)
from rankwise.boosting.stumps import GivenPairs
from tests.boosting.blocks import one_block, set_scores

LIMITS = Limits(max_leaf_nodes=6, max_depth=3, min_samples_leaf=3, l2=2.0, learning_rate=0.3)


def discount_differences(s):
    """Return the mean of |discount_i - discount_j| over the orders of rows with equal scores."""
    order = np.argsort(-s, kind="stable")
    worth = 1 / np.log2(np.arange(len(s)) + 2)
    places = {v: worth[np.flatnonzero(s[order] == v)] for v in np.unique(s)}
    out = np.zeros((len(s), len(s)))
    for i, j in product(range(len(s)), repeat=2):
        a, b = places[s[i]], places[s[j]]
        out[i, j] = abs(a.mean() - b.mean())
        if s[i] == s[j] and len(a) > 1:
            out[i, j] = np.abs(a[:, None] - a).sum() / (len(a) * (len(a) - 1))
    return out


def literal_gradient(s, y, qid, a, loss, pair_weight):
    """Return gradient and Hessian, query by query, from a matrix of pairs (worse, better)."""
    g, h = np.zeros((2, len(s)))
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        t, grades = s[rows], y[rows]
        if loss == "magnitude":
            r = t - grades
            g[rows], h[rows] = a[rows] * (r - np.average(r, weights=a[rows])), a[rows]
            continue
        weight = np.outer(a[rows], a[rows]) * (grades[None, :] > grades[:, None])
        if pair_weight == "magnitude":
            weight = weight * (grades[None, :] - grades[:, None]) / max(np.abs(y).max(), 1)
        if pair_weight == "ndcg" and weight.any():
            gains = 2**grades - 1
            best = np.sort(gains)[::-1] @ (1 / np.log2(np.arange(len(t)) + 2))
            change = np.abs(gains[None, :] - gains[:, None]) * discount_differences(t) / best
            weight = weight * change
        e = np.exp(t[:, None] - t[None, :])
        slope = weight * (e / (1 + e) if loss == "logistic" else e)
        bent = slope / (1 + e) if loss == "logistic" else slope
        size = 2 * slope.sum()
        scale = np.log2(1 + size) / size if size > 0 else 0.0
        g[rows] = scale * (slope.sum(axis=1) - slope.sum(axis=0))
        h[rows] = scale * (bent.sum(axis=1) + bent.sum(axis=0))
    return g, h


def repeated_gradient(s, y, qid, counts, loss, pair_weight):
    """Return the same for rows that are repeated, as the sums over the copies of each."""
    rows = np.repeat(np.arange(len(s)), counts)
    copies = literal_gradient(s[rows], y[rows], qid[rows], np.ones(len(rows)), loss, pair_weight)
    return [np.bincount(rows, each) for each in copies]


def every_split(X, rows, counts):
    """Return the rows below, for each allowed split of some rows."""
    for x in X[rows].T:
        missing = np.isnan(x)
        for cut in [-np.inf, *np.unique(x[~missing])[:-1]]:
            for below in (~missing & (x <= cut), missing | (x <= cut)):
                n = counts[rows][below].sum(), counts[rows][~below].sum()
                if min(n) >= LIMITS.min_samples_leaf:
                    yield rows[below]


def assert_grows_as_literally(tree, X, edges, s, g, h, counts):
    """Assert that nodes are the best splits, and leaves have the best values; step s."""
    l2 = LIMITS.l2 * h.sum() / counts.sum()

    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + l2)

    def gain(rows, below):
        return score(below) + score(np.setdiff1d(rows, below)) - score(rows)

    leaves = {0: (np.arange(len(s)), 0)}
    for k, (f, cut) in enumerate(zip(tree.features, tree.cuts, strict=True)):
        best = max(
            gain(rows, below)
            for rows, depth in leaves.values()
            if depth < LIMITS.max_depth
            for below in every_split(X, rows, counts)
        )
        leaf = ~_first_leaf(tree, k)
        rows, depth = leaves[leaf]
        value = edges[f][cut - 1] if cut else -np.inf
        x = X[rows, f]
        above = np.where(np.isnan(x), tree.missing_above[k], x > value)
        assert_allclose(gain(rows, rows[~above]), best, rtol=1e-6)
        assert_allclose(tree.gains[k], best, rtol=1e-6)
        leaves[leaf], leaves[k + 1] = (rows[~above], depth + 1), (rows[above], depth + 1)
    for leaf, (rows, _) in leaves.items():
        value = -LIMITS.learning_rate * g[rows].sum() / (h[rows].sum() + l2)
        assert_allclose(tree.values[leaf], value, rtol=1e-7, atol=1e-12)
        s[rows] += tree.values[leaf]


def _first_leaf(tree, node):
    while node >= 0:
        node = tree.children[node, 0]
    return node


def loss_of(groups, loss, pair_weight):
    if loss == "magnitude":
        return MagnitudeLoss(groups)
    if loss == "exponential" and pair_weight != "ndcg":
        return ExponentialLoss(groups, magnitude=pair_weight == "magnitude")
    return ListLoss(np.abs(groups.y).max(), loss, pair_weight)


def tree_rounds(blocks, loss, n_rows):
    return TreeRounds(blocks, loss, loss(blocks), blocks.blocks[0].bins, LIMITS, n_rows)


def gradients_at(blocks, loss, s=None):
    """Return gradient, Hessian and loss at scores."""
    if s is not None:
        set_scores(blocks, s)
    value = loss(blocks)[2]
    return blocks.states[0].gradients, blocks.states[0].hessians, value


@pytest.mark.parametrize(
    ("loss", "pair_weight"),
    [
        *product(["exponential", "logistic"], ["uniform", "magnitude", "ndcg"]),
        ("magnitude", "uniform"),
    ],
)
@pytest.mark.parametrize(("queries", "weighted", "missing"), list(product([False, True], repeat=3)))
def test_rounds_of_the_literal_trees(queries, weighted, missing, pair_weight, loss, graded_rows):
    X, y, qid, _ = graded_rows(3, m=60, missing=missing)
    qid = qid if queries else np.zeros(60, dtype=int)
    counts = np.random.default_rng(1).integers(1, 4, size=60) if weighted else np.ones(60, int)
    a = counts.astype(float)
    s = np.zeros(60)
    with Pool(1) as pool:
        blocks, groups, order, edges = one_block(X, y, pool, qid=qid, weight=a, counts=counts)
        loss_ = loss_of(groups, loss, pair_weight)
        loss_.unit = 1.0  # gradients in the units of the targets
        trees = tree_rounds(blocks, loss_, counts.sum())
        for _ in range(4):
            g, h = repeated_gradient(s, y, qid, counts, loss, pair_weight)
            state = blocks.states[0]
            assert_allclose(state.gradients, g[order], rtol=1e-9, atol=1e-12)
            assert_allclose(state.hessians, h[order], rtol=1e-9, atol=1e-12)
            tree = trees.grow()
            assert_grows_as_literally(tree, X, edges, s, g, h, counts)
            assert_allclose(blocks.states[0].scores, s[order], atol=1e-9)
            # ties of scores decide the weights of NDCG: both go on from the same numbers
            s[order] = blocks.states[0].scores
            assert_allclose(tree.counts.sum(), counts.sum())


def test_the_magnitude_loss_is_the_sum_over_all_pairs(graded_rows):
    X, y, qid, a = graded_rows(None, m=50)
    s = np.random.default_rng(0).normal(size=50)

    def literal(s):
        total = 0.0
        for q in np.unique(qid):
            rows = np.flatnonzero(qid == q)
            for i, j in product(rows, rows):
                total += a[i] * a[j] * (s[j] - s[i] - (y[j] - y[i])) ** 2 / (2 * a[rows].sum())
        return total

    with Pool(1) as pool:
        blocks, groups, order, _ = one_block(X, y, pool, qid=qid, weight=a)
        loss = MagnitudeLoss(groups)
        loss.unit = 1.0
        loss(blocks)
        g, h, value = gradients_at(blocks, loss, s[order])
    assert_allclose(value, literal(s) / literal(np.zeros(50)), rtol=1e-12)
    slope = approx_fprime(s, literal, 1e-6)
    assert_allclose(2 * g, slope[order], atol=1e-4)
    assert_allclose(h, a[order])


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_given_pairs_that_are_all_have_the_gradient_of_all(loss, graded_rows):
    X, y, _, _ = graded_rows(4)
    pairs = np.argwhere(y[:, None] < y[None, :])
    worse, better = np.ascontiguousarray(pairs.T)
    with Pool(1) as pool:
        blocks, groups, order, _ = one_block(X, y, pool)
        others, _, _, _ = one_block(X, np.zeros(len(y)), pool)
        m = len(y)
        given = GivenPairsLoss(GivenPairs(worse, better, np.zeros(len(worse))), loss)
        one = tree_rounds(blocks, loss_of(groups, loss, "uniform"), m)
        two = tree_rounds(others, given, m)
        for _ in range(5):
            # one query: only the unit of the gradient differs
            mine, its = blocks.states[0].gradients, others.states[0].gradients[order]
            ratio = its @ mine / (mine @ mine)
            assert_allclose(its, ratio * mine, rtol=1e-7, atol=1e-9)
            assert_array_equal(one.grow().features, two.grow().features)
            assert_allclose(others.states[0].scores[order], blocks.states[0].scores, atol=1e-9)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_row_that_counts_twice_has_two_places(loss, graded_rows):
    _, y, qid, _ = graded_rows(3, m=60)
    random = np.random.default_rng(0)
    counts, s = random.integers(1, 4, size=60), np.round(random.normal(size=60), 1)
    rows = np.repeat(np.arange(60), counts)
    found = []
    for chosen, copies in ((np.arange(60), counts), (rows, np.ones(len(rows), dtype=np.int64))):
        with Pool(1) as pool:
            blocks, groups, order, _ = one_block(
                np.zeros((len(chosen), 1)), y[chosen], pool, qid=qid[chosen],
                weight=copies.astype(float), counts=copies,
            )  # fmt: skip
            pair_loss = loss_of(groups, loss, "ndcg")
            g, h, slope = gradients_at(blocks, pair_loss, s[chosen][order])
        sums = np.zeros((2, 60))
        np.add.at(sums, (slice(None), chosen[order]), np.stack([g, h]))
        found.append((sums, slope))
    assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-12)
    assert_allclose(found[0][1], found[1][1], rtol=1e-9)


def test_csr_grows_the_trees_of_dense_rows(graded_rows):
    X, y, qid, _ = graded_rows(4, m=300, missing=True)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.5] = 0
    found = []
    for rows in (X, sparse.csr_array(X)):
        with Pool(1) as pool:
            blocks, groups, _, _ = one_block(rows, y, pool, qid=qid)
            loss = ExponentialLoss(groups)
            trees = tree_rounds(blocks, loss, len(y))
            found.append([trees.grow() for _ in range(5)])
    for dense, entries in zip(*found, strict=True):
        for one, two in zip(dense, entries, strict=True):
            assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pair_weight", ["uniform", "ndcg"])
@pytest.mark.parametrize("levels", [2, 5])
def test_the_grid_of_a_long_query_is_close_to_its_pairs(levels, pair_weight, monkeypatch):
    random = np.random.default_rng(0)
    m = 3_000
    y = random.integers(0, levels, size=m).astype(float)
    start = 1.5 * y + random.normal(size=m)
    results = []
    for long in (m, 0):
        monkeypatch.setattr(losses, "LONG", long)
        with Pool(1) as pool:
            blocks, groups, order, _ = one_block(np.zeros((m, 1)), y, pool)
            loss = loss_of(groups, "logistic", pair_weight)
            results.append(gradients_at(blocks, loss, start[order]))
    (g, h, loss), (near_g, near_h, near_loss) = results
    # of NDCG's weights the first places, a few rows, are the coarsest
    most, typical = (1e-4, 1e-4) if pair_weight == "uniform" else (0.3, 0.01)
    for exact, near in ((g, near_g), (h, near_h)):
        assert np.abs(near - exact).max() <= most * np.abs(exact).max()
        assert np.abs(near - exact).sum() <= typical * np.abs(exact).sum()
    assert_allclose(near_loss, loss, rtol=typical)


def test_scores_of_any_size_have_gradients(graded_rows):
    _, y, qid, _ = graded_rows(3)
    for loss, size in product(["exponential", "logistic"], [1e3, 1e5]):
        for way in (1, -1):
            with Pool(1) as pool:
                blocks, groups, order, _ = one_block(np.zeros((len(y), 1)), y, pool, qid=qid)
                pair_loss = loss_of(groups, loss, "uniform")
                g, h, _ = gradients_at(blocks, pair_loss, way * size * y[order])
            assert np.isfinite(g).all()
            assert np.isfinite(h).all()


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("kind", [UNIFORM, MAGNITUDE, NDCG])
def test_gradients_do_not_depend_on_where_arrays_lie(kind, logistic):
    random, m = np.random.default_rng(0), 57
    y, starts = np.sort(random.integers(0, 4, size=m)), np.array([0, m])
    arrays = {
        "starts": starts,
        "higher": np.searchsorted(y, y, side="right"),
        "a": random.random(m),
        "gains": 2.0**y - 1,
        "counts": np.ones(m, dtype=np.int64),
        "best": np.array([3.3]),
        "discounts": random.random(m),
        "spreads": np.zeros(m),
        "s": random.normal(size=m),
        "out": np.zeros((2, m)),
        "sums": np.zeros((1, 2)),
        "room": np.zeros((3, m)),
    }

    def gradients(names, gaps):
        memory, begin, placed = np.zeros(8 * m * 40), 0, {}
        for name, gap in zip(names, gaps, strict=True):
            value = arrays[name]
            view = memory[begin + gap :][: value.size].view(value.dtype).reshape(value.shape)
            view[:], placed[name] = value, view
            begin += gap + value.size
        lists = Lists(*(placed[name] for name in Lists._fields))
        out, sums = placed["out"], placed["sums"]
        fill_gradients(lists, placed["s"], kind, logistic, out, sums, placed["room"], 0, 1)
        return np.append(out, sums)

    expected = gradients(list(arrays), [500] * len(arrays))
    for _ in range(500):
        names = random.permutation(list(arrays)).tolist()
        assert_array_equal(gradients(names, random.integers(0, 3, len(names))), expected)

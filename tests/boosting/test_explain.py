"""What features add to scores, against Shapley values by their definition."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.boosting import RankBoost

TREES = {"max_leaf_nodes": 6, "min_samples_leaf": 2, "learning_rate": 0.5}
KINDS = [
    {},
    {"criterion": "edge"},
    {"learning_rate": 0.3},
    {**TREES, "loss": "magnitude"},
    {**TREES, "loss": "exponential"},
    {**TREES, "max_leaf_nodes": 20},
]


def as_trees(model):
    """Return each tree as nested tuples: (feature, cut, missing, low, high) or (value, count)."""
    counts, trees = model.leaf_counts_, []
    if hasattr(model, "alphas_"):
        for k, alpha in enumerate(model.alphas_):
            leaves = [(0.0, counts[2 * k]), (alpha, counts[2 * k + 1])]
            node = model.features_[k], model.cutpoints_[k], model.missing_above_[k]
            trees.append((*node, *leaves))
        return trees
    for t, first in enumerate(model.tree_starts_[:-1]):

        def node(k, first=first, t=t):
            if k < 0:
                leaf = first + t + ~k
                return model.leaf_values_[leaf], counts[leaf]
            at = first + k
            parts = model.features_[at], model.cutpoints_[at], model.missing_above_[at]
            return (*parts, node(model.children_[at, 0]), node(model.children_[at, 1]))

        trees.append(node(0))
    return trees


def cover(node):
    return node[1] if len(node) == 2 else cover(node[3]) + cover(node[4])


def expectation(node, x, known):
    """Return the mean leaf if features are known or else averaged over branches."""
    if len(node) == 2:
        return node[0]
    f, cut, missing, low, high = node
    if f in known:
        above = missing if np.isnan(x[f]) else x[f] > cut
        return expectation(high if above else low, x, known)
    parts = [cover(child) * expectation(child, x, known) for child in (low, high)]
    return sum(parts) / cover(node)


def shapley_values(trees, x):
    d, out = len(x), np.zeros(len(x))
    for tree in trees:
        for f in range(d):
            others = [g for g in range(d) if g != f]
            for size in range(d):
                for known in combinations(others, size):
                    gain = expectation(tree, x, {*known, f}) - expectation(tree, x, known)
                    out[f] += gain / (d * comb(d - 1, size))
    return out


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_contributions_are_shapley_values(kind, missing, graded_rows):
    X, y, qid, weight = graded_rows(4, m=60, missing=missing)
    weight = np.round(3 * weight) + 1
    model = RankBoost(5, **kind).fit(X, y, qid=qid, sample_weight=weight)
    trees = as_trees(model)
    found = model.explain(X)
    for i in range(8):
        assert_allclose(found.contributions[i], shapley_values(trees, X[i]), atol=1e-10)
    assert_allclose(found.base, sum(expectation(tree, X[0], ()) for tree in trees), atol=1e-10)
    assert_allclose(found.contributions.sum(axis=1) + found.base, model.predict(X), atol=1e-9)
    mean = np.average(model.predict(X), weights=weight)
    assert_allclose(found.base, mean, atol=1e-9)
    entries = model.explain(sparse.csr_array(X))
    assert_allclose(entries.contributions, found.contributions, atol=1e-12)
    gap = found.contributions[0] - found.contributions[1]  # why row 0 is before row 1
    assert_allclose(gap.sum(), np.subtract(*model.predict(X[:2])), atol=1e-9)


def test_they_are_those_of_lightgbm_on_the_same_tree():
    lightgbm = pytest.importorskip("lightgbm")
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 4))
    y = X[:, 0] * (X[:, 1] > 0) + 0.1 * X[:, 2]
    peer = lightgbm.LGBMRegressor(
        n_estimators=1, num_leaves=8, min_child_samples=20, verbose=-1, n_jobs=1
    ).fit(X, y)
    tree = peer.booster_.dump_model()["tree_info"][0]["tree_structure"]
    model, nodes, leaves = RankBoost(1, max_leaf_nodes=8).fit(X, y), [], []

    def walk(node):
        if "leaf_index" in node:
            leaves.append((node["leaf_value"], node["leaf_count"]))
            return ~(len(leaves) - 1)
        k = len(nodes)
        nodes.append([node["split_feature"], node["threshold"], None])
        nodes[k][2] = [walk(node["left_child"]), walk(node["right_child"])]
        return k

    walk(tree)
    model.features_ = np.array([node[0] for node in nodes])
    model.cutpoints_ = np.array([node[1] for node in nodes])
    model.children_ = np.array([node[2] for node in nodes])
    model.missing_above_ = np.zeros(len(nodes), dtype=bool)
    model.leaf_values_, model.leaf_counts_ = (
        np.array(each, float) for each in zip(*leaves, strict=True)
    )
    model.tree_starts_ = np.array([0, len(nodes)])
    expected = peer.predict(X, pred_contrib=True)
    found = model.explain(X)
    assert_allclose(found.contributions, expected[:, :-1], atol=1e-9)
    assert_allclose(found.base, expected[0, -1], atol=1e-9)


def test_given_pairs_and_no_round_at_all(graded_rows):
    X, _, _, _ = graded_rows(2)
    for options in ({}, TREES):
        model = RankBoost(3, **options).fit_pairs(X, [[0, 1], [2, 3], [4, 5], [6, 7]])
        found = model.explain(X)
        assert_allclose(found.contributions.sum(axis=1) + found.base, model.predict(X), atol=1e-9)
        none = RankBoost(3, **options).fit(np.zeros((40, 2)), np.arange(40) % 2)
        assert none.explain(np.ones((2, 2))).base == 0
        assert not none.explain(np.ones((2, 2))).contributions.any()


def test_a_model_without_counts_can_not_be_explained(graded_rows):
    X, y, _, _ = graded_rows(2)
    model = RankBoost(3).fit(X, y)
    del model.leaf_counts_
    with pytest.raises(ValueError, match=r"leaf_counts_ is missing: .* fit it again"):
        model.explain(X)

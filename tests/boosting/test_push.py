"""The p-norm push and the smooth margin against their definitions, and what they promise."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from rankwise import load, save
from rankwise._core.threads import Pool
from rankwise.boosting import RankBoost
from rankwise.boosting.stumps import PairWeights
from tests.boosting.blocks import one_block, set_scores
from tests.reference import pair_weights, pnorm_push, rankboost


def base_rankers(model, X):
    x = X[:, model.features_].T
    return list(np.where(np.isnan(x), model.missing_above_[:, None], x > model.cutpoints_[:, None]))


def assert_same_rounds(model, X, hs, rounds):
    for t, expected in enumerate(rounds):
        # Missing values apart from others may be told by either side.
        same = np.array_equal(hs[t], expected.h)
        assert same or np.array_equal(hs[t], ~expected.h)
        alpha = expected.alpha if same else -expected.alpha
        assert_allclose(model.alphas_[t], alpha, atol=3e-6)
        assert_allclose(model.train_loss_[t], expected.loss, rtol=1e-6)
    assert len(hs) == len(X[0]) * 2


@pytest.mark.parametrize("push", [1.0, 1.5, 4.0, 16.0])
@pytest.mark.parametrize(("missing", "queries", "weighted"), list(product([False, True], repeat=3)))
def test_rounds_of_the_literal_push(missing, queries, weighted, push, graded_rows):
    X, y, qid, weight = graded_rows(2, missing=missing)
    qid, weight = qid if queries else None, weight if weighted else None
    model = RankBoost(8, push=push, criterion="edge").fit(X, y, qid=qid, sample_weight=weight)
    hs = base_rankers(model, X)
    rounds = pnorm_push(X, y, 8, push=push, qid=qid, sample_weight=weight, ties=hs, tol=1e-6)
    assert_same_rounds(model, X, hs, rounds)
    assert model.criterion_ == "edge"
    if push > 1:
        again = RankBoost(8, push=push).fit(sparse.csr_array(X), y, qid=qid, sample_weight=weight)
        assert_allclose(again.predict(X), model.predict(X), atol=1e-9)
        assert not hasattr(model, "smooth_margin_")


@pytest.mark.parametrize("push", [1.0, 2.5])
def test_weights_of_the_pairs_are_the_gradient_of_the_push(push, graded_rows):
    X, y, qid, a = graded_rows(2)
    with Pool(1) as pool:
        blocks, groups, order, _ = one_block(X, y, pool, qid=qid, weight=a)
    weights = PairWeights(groups, push=push)

    def log_total(s):
        set_scores(blocks, s)
        weights.compute(blocks)
        return weights.log_total

    s = np.random.default_rng(0).normal(size=len(y))
    slope = approx_fprime(s, log_total, 1e-7)
    log_total(s)
    down, up = a[order] * np.exp(
        np.array([push * s, -s]) + np.repeat(weights.log_shares(), blocks.blocks[0].sizes, axis=1)
    )
    assert_allclose(push * (down - up), slope, atol=1e-5)


def test_a_push_counts_weights_as_repetitions(graded_rows):
    X, y, qid, _ = graded_rows(2, m=80)
    X = np.round(X, 1)
    copies = np.random.default_rng(0).integers(1, 4, size=80)
    rows = np.repeat(np.arange(80), copies)
    for push, queries in product((3.0, 8.0), (qid, np.zeros(80, dtype=int))):
        model = RankBoost(15, push=push).fit(X, y, qid=queries, sample_weight=0.5 * copies)
        again = RankBoost(15, push=push).fit(X[rows], y[rows], qid=queries[rows])
        assert_allclose(again.predict(X), model.predict(X), atol=1e-9)
        assert_allclose(again.train_loss_, model.train_loss_)


def test_each_power_has_the_least_of_its_own_objective():
    # Decoys outscore the positives by one feature, which orders most pairs.
    random = np.random.default_rng(0)
    y = np.arange(2000) % 5 == 0
    X = random.normal(size=(2000, 2))
    X[:, 0] += 1.5 * y
    X[~y & (random.random(2000) < 0.05), 0] += 4.0
    X[:, 1] += np.where(y & (random.random(2000) < 0.5), 3.0, 0.0)
    powers, reached = (1.0, 8.0), np.empty((2, 2))
    for k, push in enumerate(powers):
        s = RankBoost(30, push=push, criterion="edge").fit(X, y).predict(X)
        costs = np.exp(s[~y]) * np.exp(-s[y]).sum()
        reached[k] = [np.mean(costs**p) ** (1 / p) for p in powers]
    assert reached[0, 0] < reached[1, 0]
    assert reached[1, 1] < reached[0, 1]


def test_a_push_of_many_rounds_stays_finite(graded_rows):
    X, y, _, _ = graded_rows(2, m=30)
    X[:, 2] = y
    model = RankBoost(3_000, push=16.0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.train_loss_).all()
    assert (np.diff(model.train_loss_) <= 0).all()


@pytest.mark.parametrize("levels", [2, 4, None])
@pytest.mark.parametrize(("queries", "weighted"), list(product([False, True], repeat=2)))
def test_rounds_of_the_literal_smooth_margin(levels, queries, weighted, graded_rows):
    m = 24 if levels else 10
    X, y, qid, _ = graded_rows(levels, m=m)
    X[:, 3] = y + (0.3 * X[:, 1] if levels else 0.0)  # so that all pairs can be ordered
    qid = qid if queries else None
    weight = np.random.default_rng(0).integers(1, 3, size=m).astype(float) if weighted else None
    model = RankBoost(60, step="smooth-margin", max_bins=None)
    model.fit(X, y, qid=qid, sample_weight=weight)
    weights = pair_weights(y, one_sided=True, qid=qid, sample_weight=weight)
    hs = base_rankers(model, X)
    rounds = list(
        rankboost(
            X, weights, len(hs), criterion="edge", step="smooth-margin", n_pairs=model.n_pairs_,
            ties=hs, tol=1e-5,
        )
    )  # fmt: skip
    n_plain = int(np.sum(model.n_pairs_ * model.train_loss_ >= 1))
    assert 0 < n_plain < len(hs) - 5
    for t, expected in enumerate(rounds):
        same = np.array_equal(hs[t], expected.h)
        assert same or np.array_equal(hs[t], ~expected.h)
        alpha = expected.alpha if same else -expected.alpha
        assert_allclose(model.alphas_[t], alpha, atol=1e-4)
    length = np.cumsum(np.abs(model.alphas_))
    margin = -np.log(model.n_pairs_ * model.train_loss_) / length
    assert_allclose(model.smooth_margin_, margin, rtol=1e-9)


@pytest.mark.parametrize("levels", [2, 5])
def test_the_smooth_margin_never_falls_and_bounds_the_margin(levels, graded_rows):
    X, y, qid, _ = graded_rows(levels, m=60)
    X[:, 3] = y + 0.5 * X[:, 1]
    kinds = {"qid": None}, {"qid": qid}
    for kind in kinds:
        model = RankBoost(400, step="smooth-margin").fit(X, y, **kind)
        inside = model.smooth_margin_[model.n_pairs_ * model.train_loss_ < 1]
        assert len(inside) > 20
        assert (inside > 0).all()
        assert (np.diff(inside) >= -1e-12).all()
        assert inside[-1] > inside[0]
        s = model.predict(X)
        pairs = pair_weights(y, one_sided=True, **kind) > 0
        least = (s[None, :] - s[:, None])[pairs].min() / np.abs(model.alphas_).sum()
        assert inside[-1] <= least


def test_given_pairs_have_a_smooth_margin_too(graded_rows):
    X, y, qid, _ = graded_rows(3, m=40)
    X[:, 3] = y + 0.3 * X[:, 1]
    pairs = np.argwhere(pair_weights(y, one_sided=True, qid=qid))
    model = RankBoost(50, step="smooth-margin").fit_pairs(X, pairs)
    expected = RankBoost(50, step="smooth-margin").fit(X, y, qid=qid)
    assert_allclose(model.smooth_margin_, expected.smooth_margin_, atol=1e-7)
    assert (np.diff(model.smooth_margin_[model.smooth_margin_ > 0]) >= -1e-12).all()


def test_where_pairs_can_not_all_be_ordered_the_steps_are_those_of_rankboost(graded_rows):
    X, y, _, _ = graded_rows(3, m=200)
    model = RankBoost(50, step="smooth-margin").fit(X[:, :2], y)
    plain = RankBoost(50, criterion="edge").fit(X[:, :2], y)
    assert (model.smooth_margin_ < 0).all()
    assert_array_equal(model.alphas_, plain.alphas_)
    assert_array_equal(model.smooth_margin_, plain.smooth_margin_)


@pytest.mark.parametrize("options", [{"push": 4.0}, {"step": "smooth-margin"}])
def test_saved_models_and_stopping_early(options, tmp_path, graded_rows):
    X, y, qid, _ = graded_rows(2, m=200, missing=True)
    model = RankBoost(60, n_iter_no_change=5, random_state=0, **options).fit(X, y, qid=qid)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert len(getattr(model, "smooth_margin_", model.alphas_)) == len(model.alphas_)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"push": 0.5}, [0, 1, 1, 0], "push"),
        ({"step": "long"}, [0, 1, 1, 0], "step"),
        ({"push": 2.0}, [0, 1, 2, 0], "push=2.0 is for two classes, but there are 3"),
        ({"push": 2.0, "max_leaf_nodes": 4}, [0, 1, 1, 0], "push=2.0 is for base rankers"),
        ({"push": 2.0, "loss": "logistic"}, [0, 1, 1, 0], "push=2.0 is for base rankers"),
        ({"push": 2.0, "criterion": "loss"}, [0, 1, 1, 0], "use criterion='edge' or 'auto'"),
        ({"push": 2.0, "step": "smooth-margin"}, [0, 1, 1, 0], "push=2.0 has no margin"),
        ({"push": 2.0, "pair_weight": "magnitude"}, [0, 1, 1, 0], "push=2.0 does not support pair"),
        ({"step": "smooth-margin", "learning_rate": 0.5}, [0, 1, 1, 0], "is for base rankers"),
        ({"step": "smooth-margin", "criterion": "loss"}, [0, 1, 1, 0], "step='smooth-margin' ch"),
    ],
)
def test_what_does_not_go_together_is_named(options, y, message):
    with pytest.raises(ValueError, match=message):
        RankBoost(**options).fit([[0.0], [1.0], [2.0], [3.0]], y)


def test_a_push_names_the_query_and_refuses_pairs():
    X, y, qid = np.arange(7.0)[:, None], [0, 1, 0, 1, 2, 0, 1], [0, 0, 1, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="query number 2 has 3 different targets"):
        RankBoost(push=3.0).fit(X, y, qid=qid)
    # two classes in each query, whatever they are called there
    model = RankBoost(push=3.0).fit(X, [0, 1, 5, 7, 7, 2, 2], qid=qid)
    assert model.score(X, [0, 1, 5, 7, 7, 2, 2], qid=qid) == 1.0
    with pytest.raises(ValueError, match="does not support given pairs"):
        RankBoost(push=3.0).fit_pairs(X, [[0, 1]])


def log_push(s, y, qid, a, push):
    """Return the logarithm of the p-norm push, from the logarithms of all pairs."""
    terms = []
    for q in np.unique(qid):
        better = (qid == q) & (y == 1)
        for i in np.flatnonzero((qid == q) & (y == 0)):
            if better.any():
                pairs = np.log(a[better]) + s[i] - s[better]
                terms.append(np.log(a[i]) + push * logsumexp(pairs))
    return logsumexp(terms)


@pytest.mark.parametrize("push", [1.0, 2.0, 16.0, 64.0, 1e3])
@pytest.mark.parametrize("span", [3, 30, 150])
def test_push_with_very_unequal_weights(push, span):
    random = np.random.default_rng(0)
    for _ in range(20):
        m = int(random.integers(8, 40))
        X, y = random.normal(size=(m, 2)).round(1), random.permutation(np.arange(m) % 2)
        qid, a = random.integers(0, 3, size=m), 10 ** random.uniform(-span, 0, size=m)
        model = RankBoost(20, push=push).fit(X, y, qid=qid, sample_weight=a)
        assert np.isfinite(model.train_loss_).all()
        scores = np.array([np.zeros(m), *model.staged_predict(X)])
        logs = np.array([log_push(s, y, qid, a, push) for s in scores])
        assert_allclose(np.log(np.maximum(model.train_loss_, 1e-300)), (logs - logs[0])[1:],
                        rtol=1e-6, atol=1e-6)  # fmt: skip

"""Trees of RankBoost, weights, many queries, and stopping early."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise.boosting import RankBoost, stumps
from rankwise.boosting.binning import proportions
from rankwise.metrics import exponential_pair_loss, ndcg_score

TREES = {"max_leaf_nodes": 8, "learning_rate": 0.3, "min_samples_leaf": 5}
KINDS = [
    {"pair_weight": "uniform"},
    {"loss": "logistic"},
    {"pair_weight": "ndcg"},
    {"pair_weight": "magnitude", "loss": "logistic", "max_depth": 2},
    {"loss": "magnitude"},
]


def products(n_queries, n, seed=0, noise=0.3):
    """Rows whose features matter only together: no single step tells anything."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_queries * n, 6))
    score = np.sign(X[:, 0]) * X[:, 1] + noise * random.normal(size=len(X))
    y = np.searchsorted(np.quantile(score, [0.5, 0.8, 0.95]), score)
    return X, y, np.repeat(np.arange(n_queries), n)


def test_trees_learn_what_steps_can_not():
    X, y, qid = products(60, 30)
    Xt, yt, qt = products(60, 30, seed=1)
    steps = RankBoost().fit(X, y, qid=qid)
    for kind in KINDS:
        model = RankBoost(40, **TREES, **kind).fit(X, y, qid=qid)
        assert model.score(Xt, yt, qid=qt) > steps.score(Xt, yt, qid=qt) + 0.2
        assert ndcg_score(yt, model.predict(Xt), qid=qt) > 0.8
        assert model.feature_importances_[:2].sum() > 0.9
        assert_allclose(model.feature_importances_.sum(), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_stages_lead_to_the_score(kind, graded_rows):
    X, y, qid, _ = graded_rows(3, m=200, missing=True)
    model = RankBoost(7, **TREES, **kind).fit(X, y, qid=qid)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.tree_starts_) - 1 == 7
    assert_array_equal(stages[-1], model.predict(X))
    assert_allclose(
        model.predict(sparse.csr_array(np.nan_to_num(X))), model.predict(np.nan_to_num(X))
    )
    if kind == KINDS[0]:
        for scores, loss in zip(stages, model.train_loss_, strict=True):
            assert_allclose(exponential_pair_loss(y, scores, qid=qid), loss, rtol=1e-9)
    with pytest.raises(ValueError, match="trees mix features"):
        model.feature_score(0)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_the_order_of_the_rows_make_no_difference(kind, monkeypatch, graded_rows):
    from rankwise._core import threads as pool

    monkeypatch.setattr(pool, "WORTH_SHARING", 0)
    X, y, qid, _ = graded_rows(3, m=400, missing=True)
    X = np.hstack([X] * 5) + np.arange(20)
    expected = RankBoost(5, **TREES, **kind).fit(X, y, qid=qid).predict(X)
    found = RankBoost(5, n_jobs=3, **TREES, **kind).fit(X, y, qid=qid).predict(X)
    assert_array_equal(found, expected)
    order = np.random.default_rng(0).permutation(400)
    model = RankBoost(5, **TREES, **kind).fit(X[order], y[order], qid=qid[order])
    assert_allclose(model.predict(X), expected, atol=1e-9)


def test_two_leaves_with_a_small_rate_are_steps_too(graded_rows):
    X, y, _, _ = graded_rows(4, m=200, missing=True)
    model = RankBoost(30, learning_rate=0.3, min_samples_leaf=3).fit(X, y)
    assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), atol=1e-12)
    parts = [model.feature_score(f)(X[:, f]) for f in range(4)]
    assert_allclose(np.sum(parts, axis=0), model.predict(X), atol=1e-12)
    assert (np.diff(model.train_loss_) <= 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {**TREES, "pair_weight": "uniform"},
        {**TREES, "pair_weight": "ndcg"},
        {**TREES, "pair_weight": "ndcg", "loss": "logistic"},
        {**TREES, "loss": "magnitude"},
    ],
)
def test_weights_count_by_their_proportions_and_as_repetitions(options, graded_rows):
    X, y, qid, _ = graded_rows(3, m=80)
    X = np.round(X, 1)
    copies = np.random.default_rng(0).integers(1, 4, size=80)
    expected = RankBoost(10, **options).fit(X, y, qid=qid, sample_weight=copies)
    for scale in (0.5, 7.3, 1e-3, 1e6):
        model = RankBoost(10, **options).fit(X, y, qid=qid, sample_weight=scale * copies)
        assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)
        assert model.n_pairs_ == expected.n_pairs_
    rows = np.repeat(np.arange(80), copies)
    repeated = RankBoost(10, **options).fit(X[rows], y[rows], qid=qid[rows])
    assert repeated.n_pairs_ == expected.n_pairs_
    assert_allclose(repeated.predict(X), expected.predict(X), atol=1e-9)
    assert_allclose(repeated.train_loss_, expected.train_loss_)
    real = np.random.default_rng(1).uniform(0.5, 2, size=80)
    one, two = (
        RankBoost(10, **options).fit(X, y, qid=qid, sample_weight=c * real) for c in (1, 1e-3)
    )
    assert_allclose(one.predict(X), two.predict(X), atol=1e-9)


def test_proportions_of_weights():
    for weight, copies in (
        ([1.0, 3.0, 2.0], [1, 3, 2]), ([0.2, 0.3], [2, 3]), ([5.0, 5.0], [1, 1]),
    ):  # fmt: skip
        found = proportions(np.array(weight))
        assert_array_equal(found[0], copies)
        assert_array_equal(found[1], copies)
    weight, copies = proportions(np.array([1.0, np.pi]))
    assert_array_equal(copies, [1, 1])
    assert_allclose(weight, [2 / (1 + np.pi), 2 * np.pi / (1 + np.pi)])
    assert_array_equal(proportions(np.array([1e-300, 1e60]))[0], [0, 2])
    assert_array_equal(proportions(1.0 + 1.0 / np.array([1, 2, 3]))[1], [12, 9, 8])
    # the least common denominator of these has hundreds of digits
    assert_array_equal(proportions(1.0 + 1.0 / np.arange(1, 900))[1], np.ones(899))


def test_many_queries_take_the_edge_by_themselves(graded_rows):
    X, y, _, _ = graded_rows(3, m=400)
    for qid, criterion in ((None, "loss"), (np.arange(400) // 10, "edge")):
        found = RankBoost(10).fit(X, y, qid=qid)
        expected = RankBoost(10, criterion=criterion).fit(X, y, qid=qid)
        assert found.criterion_ == criterion
        assert_array_equal(found.predict(X), expected.predict(X))
    assert stumps.FEW_GROUPS == 32


@pytest.mark.parametrize("options", [{}, TREES])
def test_stopping_early_can_be_trusted_on_noisy_small_data(options):
    # What is kept is nearly as good as the best number of rounds, which nobody knows beforehand.
    lost = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        X = random.normal(size=(1300, 10))
        score = X[:, :5].sum(axis=1) + random.normal(0, 3, size=1300)
        y, qid = (score > 0).astype(int), np.arange(1300) // 10
        model = RankBoost(150, n_iter_no_change=20, validation_fraction=0.25, random_state=0)
        model.set_params(**options).fit(X[:300], y[:300], qid=qid[:300])
        full = RankBoost(150).set_params(**options).fit(X[:300], y[:300], qid=qid[:300])
        test, labels, queries = X[300:], y[300:], qid[300:]
        share = model.score(test, labels, qid=queries)
        lost.append(full.score(test, labels, qid=queries) - share)
        assert len(model.train_loss_) >= 5
    assert np.mean(lost) < 0.02
    assert np.max(lost) < 0.08


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"pair_weight": "ndcg"}, [-1.0, 2.0], "y runs from -1.0"),
        ({"pair_weight": "ndcg"}, [0.0, 90.0], "to 90.0"),
        ({"max_leaf_nodes": 1}, [0.0, 1.0], "max_leaf_nodes"),
        ({"max_depth": 0}, [0.0, 1.0], "max_depth"),
        ({"min_samples_leaf": 0}, [0.0, 1.0], "min_samples_leaf"),
        ({"l2": -1.0}, [0.0, 1.0], "l2"),
        ({"learning_rate": 0.0}, [0.0, 1.0], "learning_rate"),
        ({"loss": "hinge"}, [0.0, 1.0], "loss"),
    ],
)
def test_bad_options_are_named(options, y, message):
    with pytest.raises(ValueError, match=message):
        RankBoost(**options).fit([[0.0], [1.0]], y)


def test_given_pairs_grow_trees_and_have_no_lists(graded_rows):
    X, y, _, _ = graded_rows(3, m=100, missing=True)
    pairs = np.argwhere(y[:, None] < y[None, :])
    for loss in ("exponential", "logistic"):
        model = RankBoost(20, **TREES, loss=loss)
        expected = model.fit(X, y).predict(X)
        assert_allclose(model.fit_pairs(X, pairs).predict(X), expected, atol=1e-6)
    with pytest.raises(ValueError, match="fit_pairs has no lists"):
        RankBoost(pair_weight="ndcg").fit_pairs(X, pairs)


@pytest.mark.parametrize("size", [1e308, 1e-320])
@pytest.mark.parametrize("options", [{"loss": "logistic"}, {"n_iter_no_change": 2}])
def test_weights_of_given_pairs_of_any_size(options, size):
    X = np.random.default_rng(0).normal(size=(60, 3))
    pairs = np.column_stack([np.arange(30), np.arange(30, 60)])
    model = RankBoost(5, max_leaf_nodes=4, random_state=0, **options)
    expected = model.fit_pairs(X, pairs).predict(X)
    assert_array_equal(model.fit_pairs(X, pairs, pair_weight=[size] * 30).predict(X), expected)


def test_a_missing_value_goes_to_a_learned_side():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    X[y == 2, 0] = np.nan
    model = RankBoost(20, **TREES).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.predict([[np.nan, 1.0]]) > model.predict([[1.0, -1.0]])
    # Nothing was missing in feature 1: the larger part of the rows decides.
    assert np.isfinite(model.predict([[0.0, np.nan]])).all()


def test_what_auto_stands_for(graded_rows):
    X, y, qid, _ = graded_rows(3, m=120)
    rare = (np.arange(120) % 12 == 0).astype(float)
    trees = {"max_leaf_nodes": 8}
    fits = [
        (trees, y, qid, "magnitude", "uniform"),
        (trees, y, None, "magnitude", "uniform"),
        (trees, 3 * y - 0.5, qid, "magnitude", "uniform"),
        (trees, np.sinh(3 * X[:, 0]), None, "exponential", "uniform"),
        (trees, rare, None, "exponential", "uniform"),
        ({**trees, "pair_weight": "ndcg"}, y, qid, "exponential", "ndcg"),
        ({**trees, "loss": "logistic"}, y, qid, "logistic", "uniform"),
        ({}, y, qid, "exponential", "uniform"),
        ({"learning_rate": 0.1}, y, qid, "exponential", "uniform"),
    ]
    for options, targets, queries, loss, weight in fits:
        model = RankBoost(6, **options).fit(X, targets, qid=queries)
        assert (model.loss_, model.pair_weight_) == (loss, weight)
        rate = options.get("learning_rate", 0.1 if "max_leaf_nodes" in options else 1.0)
        given = {"loss": loss, "pair_weight": weight, "learning_rate": rate}
        same = RankBoost(6, **{**options, **given})
        assert_array_equal(same.fit(X, targets, qid=queries).predict(X), model.predict(X))
    pairs = np.argwhere(y[:, None] < y[None, :])
    assert RankBoost(3, **trees).fit_pairs(X, pairs).loss_ == "exponential"
    with pytest.raises(ValueError, match="loss='magnitude' is for fit: given pairs have no"):
        RankBoost(loss="magnitude").fit_pairs(X, pairs)
    with pytest.raises(ValueError, match="pair_weight='ndcg' is for the exponential and the log"):
        RankBoost(loss="magnitude", pair_weight="ndcg").fit(X, y, qid=qid)


def test_the_magnitude_loss_keeps_the_size_of_differences():
    X, _, qid = products(40, 30, noise=0.1)
    target = np.sign(X[:, 0]) * X[:, 1] + 5.0 * np.sin(qid)  # a level of each query
    model = RankBoost(200, loss="magnitude", **TREES).fit(X, target, qid=qid)
    Xt, _, qt = products(40, 30, seed=1)
    true, found = np.sign(Xt[:, 0]) * Xt[:, 1], model.predict(Xt)
    for q in range(3):
        centred = [each[qt == q] - each[qt == q].mean() for each in (true, found)]
        assert np.abs(centred[1] - centred[0]).mean() < 0.15
    assert (np.diff(model.train_loss_) <= 0).all()
    two = RankBoost(20, loss="magnitude").fit(X, target, qid=qid)  # two leaves
    assert_allclose(list(two.staged_predict(X))[-1], two.predict(X), atol=1e-12)


def test_rows_without_a_split_leave_nothing_to_grow():
    model = RankBoost(5, **TREES).fit([[0.0]] * 20, np.arange(20))
    assert len(model.train_loss_) == 0
    assert_array_equal(model.predict([[0.0], [3.0]]), [0.0, 0.0])
    assert_array_equal(model.feature_importances_, [0.0])

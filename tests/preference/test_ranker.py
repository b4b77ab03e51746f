"""The two stages: a classifier of pairs, and the sort by it."""

import pickle
import tracemalloc
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rankwise.metrics import auc_scorer, ndcg_scorer, pairwise_misranking_loss
from rankwise.preference import PreferenceRanker, quicksort, sort_by_degree
from rankwise.preference._ranker import pair_features, sample_pairs


def graded(n=80, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = np.digitize(X @ [2.0, -1.0, 0.0, 0.5] + random.normal(0, 0.3, n), [-1.5, 0, 1.5])
    return X, y, random.integers(0, 5, n)


class Sign(ClassifierMixin, BaseEstimator):
    """A classifier with nothing but predict."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.w_ = X.T @ (2 * y - 1)
        return self

    def predict(self, X):
        return (X @ self.w_ > 0).astype(int)


CLASSIFIERS = [
    None,
    DecisionTreeClassifier(max_depth=4, random_state=0),
    LinearSVC(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    Sign(),
]


MARKS = graded()[0][:5]


def nearness(U, V):
    return rbf_kernel(U - V, MARKS)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("features", ["difference", "concat", nearness])
def test_consistent_whatever_the_classifier(estimator, features):
    X, y, _ = graded()
    model = PreferenceRanker(estimator, features=features, random_state=0).fit(X, y)
    U, V = X[:-1], X[1:]
    there, back = model.prefer(U, V), model.prefer(V, U)
    assert (there + back == 1).all()
    assert ((there >= 0) & (there <= 1)).all()
    assert_array_equal(model.prefer(U, U), 0.5)
    assert model.prefer(U[0], V[0]) == pytest.approx(there[0], rel=1e-12)
    assert model.score(X, y) > 0.65


def literal_pairs(y, codes):
    pairs = combinations(range(len(y)), 2)
    return {
        (i, j) if y[i] < y[j] else (j, i) for i, j in pairs if codes[i] == codes[j] and y[i] != y[j]
    }


@pytest.mark.parametrize("seed", range(5))
def test_comparable_pairs(seed):
    random = np.random.RandomState(seed)
    y, codes = random.randint(0, 4, 30).astype(float), random.randint(0, 4, 30)
    expected = literal_pairs(y, codes)
    worse, better, total = sample_pairs(y, codes, None, random)
    found = list(zip(worse.tolist(), better.tolist(), strict=True))
    assert total == len(found) == len(expected)
    assert set(found) == expected
    times = dict.fromkeys(expected, 0)
    for _ in range(400):
        sample = list(zip(*sample_pairs(y, codes, 10, random)[:2], strict=True))
        assert len(set(sample)) == 10
        for pair in sample:
            times[pair] += 1
    counts = np.array(list(times.values()))
    chance = 10 / total
    assert abs(counts - 400 * chance).max() < 5 * np.sqrt(400 * chance)


def test_pairs_and_grades_teach_the_same():
    X, y, qid = graded()
    model = PreferenceRanker().fit(X, y, qid=qid)
    pairs = sorted(literal_pairs(y, qid))
    assert (model.n_pairs_, model.n_dropped_pairs_, model.n_queries_) == (len(pairs), 0, 5)
    given = PreferenceRanker().fit_pairs(X, [*pairs, (3, 3)])
    assert (given.n_pairs_, given.n_dropped_pairs_, given.n_queries_) == (len(pairs), 1, 1)
    assert_allclose(given.prefer(X[:-1], X[1:]), model.prefer(X[:-1], X[1:]), atol=1e-4)


def test_a_weight_is_a_repetition():
    X, y, qid = graded(40)
    pairs = np.array(sorted(literal_pairs(y, qid)))
    weight = np.random.default_rng(0).integers(0, 4, len(pairs))
    options = {"estimator": LogisticRegression(tol=1e-10, max_iter=10_000)}
    weighted = PreferenceRanker(**options).fit_pairs(X, pairs, pair_weight=weight)
    repeated = PreferenceRanker(**options).fit_pairs(X, np.repeat(pairs, weight, axis=0))
    assert weighted.n_dropped_pairs_ == (weight == 0).sum()
    assert_allclose(weighted.prefer(X[:-1], X[1:]), repeated.prefer(X[:-1], X[1:]), atol=1e-6)


def test_contradictions_are_learned_as_doubt():
    X = np.eye(3)
    model = PreferenceRanker(LogisticRegression(C=1e6), features="concat")
    model.fit_pairs(X, [(0, 1), (0, 1), (0, 1), (1, 0)])
    assert model.prefer(X[1], X[0]) == pytest.approx(0.75, abs=0.01)


def test_a_forest_of_both_sides_learns_a_cycle():
    X = np.repeat(np.eye(3), 10, axis=0) + np.random.default_rng(0).normal(0, 0.05, (30, 3))
    rows = np.arange(30)
    pairs = [(i, j) for j in rows for i in rows if (i // 10 - j // 10) % 3 == 1]
    forest = RandomForestClassifier(20, random_state=0)
    model = PreferenceRanker(forest, features="concat").fit_pairs(X, pairs)
    cycle = np.eye(3), np.roll(np.eye(3), -1, axis=0)
    assert (model.prefer(*cycle) > 0.9).all()
    linear = PreferenceRanker().fit_pairs(X, pairs)
    assert not (linear.prefer(*cycle) > 0.5).all()


def test_order_is_the_sort_of_row_numbers():
    X, y, _ = graded(25)
    model = PreferenceRanker(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)

    def prefer(u, v):
        return model.prefer(X[u], X[v])

    for seed in range(3):
        ranking = model.order(X, random_state=seed)
        expected = quicksort(range(len(X)), prefer, random_state=seed)
        assert ranking.order.tolist() == expected.order
        assert ranking.n_calls == expected.n_calls
    top = model.order(X, k=4, random_state=0)
    assert top.n_calls < ranking.n_calls
    assert top.certain[:4].all()
    degree = model.order(X, method="degree")
    assert degree.order.tolist() == sort_by_degree(range(len(X)), prefer).order


def test_rows_of_weight_0_are_not_sorted():
    # A tree of both sides contradicts itself, so that each row may move the others.
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 2)), random.integers(0, 3, size=40)
    tree = DecisionTreeClassifier(random_state=0)
    model = PreferenceRanker(tree, features="concat", random_state=0).fit(X[:20], y[:20])
    weight = random.integers(0, 2, size=40)
    kept = weight > 0
    assert model.score(X, y, sample_weight=weight) == model.score(X[kept], y[kept])


def test_rank_and_score_within_queries():
    X, y, qid = graded()
    model = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    positions = model.rank(X, qid=qid)
    for q in np.unique(qid):
        assert sorted(positions[qid == q]) == list(range(1, (qid == q).sum() + 1))
    expected = 1 - pairwise_misranking_loss(y, -positions, qid=qid)
    assert model.score(X, y, qid=qid) == pytest.approx(expected)
    with pytest.warns(UserWarning, match="scored without it"):
        model.score(X, y)


@pytest.mark.parametrize("features", ["difference", "concat"])
def test_any_container(features):
    X, y, _ = graded()
    X = np.round(X, 1)
    expected = PreferenceRanker(features=features).fit(X, y)
    wanted = expected.prefer(X[:-1], X[1:])
    frame = pd.DataFrame(X, columns=list("abcd"))
    for rows in (
        np.asfortranarray(X),
        X.tolist(),
        frame,
        sparse.csr_array(X),
        sparse.csr_matrix(X),
    ):
        model = PreferenceRanker(features=features).fit(rows, pd.Series(y))
        assert_allclose(model.prefer(rows[:-1], rows[1:]), wanted, atol=1e-3)
        assert len(model.order(rows, random_state=0)) == len(X)
    single = PreferenceRanker(features=features).fit(X.astype(np.float32), y)
    assert_allclose(single.prefer(X[:-1], X[1:]), wanted, atol=1e-3)
    again = pickle.loads(pickle.dumps(expected))
    assert_array_equal(again.prefer(X[:-1], X[1:]), wanted)


def test_queries_flow_through_a_grid_search():
    X, y, qid = graded(120)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PreferenceRanker(LogisticRegression())
        model.set_fit_request(qid=True).set_score_request(qid=True, sample_weight=False)
        search = GridSearchCV(
            model,
            {"estimator__C": [0.01, 1.0]},
            cv=GroupKFold(3).set_split_request(groups="qid"),
        ).fit(X, y, qid=qid)
    assert search.best_score_ > 0.8


def test_many_pairs_are_sampled_and_counted():
    X, y, _ = graded(2_000)
    model = PreferenceRanker(max_pairs=500, random_state=0).fit(X, y)
    assert model.n_pairs_ == 500
    assert model.n_dropped_pairs_ > 10**6
    assert model.score(X, y) > 0.9
    same = PreferenceRanker(max_pairs=500, random_state=0).fit(X, y)
    assert_array_equal(same.prefer(X[:-1], X[1:]), model.prefer(X[:-1], X[1:]))


X, Y, QID = graded(20)
FITTED = PreferenceRanker().fit(X, Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PreferenceRanker().fit(X, np.ones(20)), "one grade only"),
        (lambda: PreferenceRanker().fit(X, Y, qid=np.arange(20)), "one grade only"),
        (lambda: PreferenceRanker().fit(X[:3], [1, 2, "a"]), "y holds words, 'a' in row 2"),
        (lambda: PreferenceRanker(features="both").fit(X, Y), "features"),
        (lambda: PreferenceRanker(max_pairs=0).fit(X, Y), "max_pairs"),
        (lambda: PreferenceRanker(features=lambda U, _: U[:1]).fit(X, Y), r"shape \(1, 4\)"),
        (lambda: PreferenceRanker().fit_pairs(X, [(0, 20)]), r"pairs\[0\] is \[0, 20\]"),
        (lambda: PreferenceRanker().fit_pairs(X, [0, 1]), r"shape \(n_pairs, 2\)"),
        (lambda: PreferenceRanker().fit_pairs(X, [(0.5, 1)]), "integers"),
        (lambda: PreferenceRanker().fit_pairs(X, [(1, 1)]), "nothing to learn from"),
        (lambda: PreferenceRanker().fit_pairs(X, [(0, 1)], pair_weight=[0]), "nothing to learn"),
        (
            lambda: PreferenceRanker().fit_pairs(X, [(0, 1)], pair_weight=[-1]),
            r"pair_weight\[0\] is -1",
        ),
        (lambda: PreferenceRanker().fit_pairs(X, [(0, 1)], pair_weight=[1, 2]), "pair_weight has"),
        (lambda: PreferenceRanker(Sign()).fit_pairs(X, [(0, 1)], pair_weight=[1]), "sample_weight"),
        (lambda: FITTED.prefer(X, X[:3]), "inconsistent"),
        (lambda: FITTED.prefer(X[:, :2], X[:, :2]), "4 features"),
        (lambda: FITTED.order(X, method="bubble"), "method='bubble'"),
        (lambda: FITTED.order(X, method="degree", k=2), "k=2"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_difference_and_regression_make_a_score():
    X, y, _ = graded()
    model = PreferenceRanker().fit(X, y)
    margin = (X[:-1] - X[1:]) @ model.estimator_.coef_[0]
    assert_array_equal(model.prefer(X[:-1], X[1:]) > 0.5, margin > 0)
    score = X @ model.estimator_.coef_[0]
    assert_array_equal(model.order(X).order, np.argsort(-score))


@pytest.mark.parametrize("made", [None, 2.0, [0.5], {}, np.ones(3), np.ones((2, 2, 2))])
def test_features_must_be_a_matrix(made):
    with pytest.raises(ValueError, match="features must return a matrix with a row for each of"):
        PreferenceRanker(features=lambda *_: made).fit(np.eye(4), [1, 2, 3, 4])


def test_ragged_rows_are_named():
    model = PreferenceRanker().fit(np.eye(2), [1, 2])
    with pytest.raises(ValueError, match="V can't be made an array"):
        model.prefer([[1, 2]], [[1, 2], [3]])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("features", ["difference", "concat"])
def test_predict_is_the_mean_of_comparisons(container, features, monkeypatch):
    X, y, qid = graded()
    model = PreferenceRanker(features=features, n_references=30, random_state=0)
    model.fit(container(X), y, qid=qid)
    assert model.references_.shape == (30, 4)
    references = model.references_
    references = references.toarray() if sparse.issparse(references) else references
    assert {tuple(row) for row in references} <= {tuple(row) for row in X}
    expected = [model.prefer(np.tile(x, (30, 1)), references).mean() for x in X]
    for given in (X, sparse.csr_array(X)):
        assert_allclose(model.predict(given), expected, rtol=1e-12)
    monkeypatch.setattr("rankwise.preference._ranker.BLOCK", 300)
    assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_few_rows_are_all_references():
    X, y, _ = graded(20)
    model = PreferenceRanker(random_state=0).fit(X, y)
    assert_array_equal(model.references_, X)
    # a linear comparator is a score, and its wins have the same order
    assert_array_equal(np.argsort(model.predict(X)), np.argsort(X @ model.estimator_.coef_[0]))
    pairs = PreferenceRanker(n_references=5, random_state=0).fit_pairs(X, [(0, 1), (2, 3)])
    assert pairs.predict(X).shape == (20,)


@pytest.mark.parametrize(
    ("container", "features"),
    [
        (np.asarray, nearness),
        *((c, f) for c in (np.asarray, sparse.csr_array) for f in ("difference", "concat")),
    ],
)
def test_features_in_blocks_are_the_same(container, features, monkeypatch):
    X, _, _ = graded()
    random = np.random.default_rng(0)
    first, second = random.integers(0, 80, size=(2, 500))
    whole = pair_features(features, container(X), first, second)
    monkeypatch.setattr("rankwise.preference._ranker.BLOCK", 4 * 77)
    blocks = pair_features(features, container(X), first, second)
    assert sparse.issparse(whole) == sparse.issparse(blocks)
    dense = [made.toarray() if sparse.issparse(made) else made for made in (whole, blocks)]
    assert_array_equal(*dense)


def test_scorers_and_pipelines():
    X, y, _ = graded(120)
    model = make_pipeline(StandardScaler(), PreferenceRanker(random_state=0))
    for scoring in (ndcg_scorer, auc_scorer, "neg_mean_squared_error"):
        found = cross_val_score(model, X, y > 1, cv=3, scoring=scoring, error_score="raise")
        assert np.isfinite(found).all()
    assert cross_val_score(model, X, y > 1, cv=3, scoring=auc_scorer).min() > 0.9


def test_features_of_many_pairs_need_no_copy_of_rows(monkeypatch):
    monkeypatch.setattr("rankwise.preference._ranker.BLOCK", 1 << 17)
    X = np.random.default_rng(0).normal(size=(100, 20))
    first, second = np.random.default_rng(1).integers(0, 100, size=(2, 100_000))
    tracemalloc.start()
    made = pair_features("difference", X, first, second)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * made.nbytes

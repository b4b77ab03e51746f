"""The choice model against its definition: one ridge for each item, one refit for each person."""

import numpy as np
import pytest
from scipy import sparse

from rankwise.recommend import _choice
from rankwise.recommend._choice import (
    count_together,
    invert,
    item_weights,
    learn,
    left_out_gain,
    weigh_by_rating,
    weigh_people,
)


def literal_weights(X, people, penalty):
    """Explain each item by the others that a person took, by ridge regression."""
    n = X.shape[1]
    B = np.zeros((n, n))
    for j in range(n):
        others = np.arange(n) != j
        A = X[:, others]
        left = A.T @ (people[:, None] * A) + penalty * np.eye(n - 1)
        B[others, j] = np.linalg.solve(left, A.T @ (people * X[:, j]))
    return B


def literal_gain(X, people, penalty, judged):
    """Learn without a person, and place each of the person's items without it."""
    gains = []
    for u in judged:
        rest = np.arange(len(X)) != u
        B = literal_weights(X[rest], people[rest], penalty)
        own = np.flatnonzero(X[u])
        mine = []
        for j in own:
            scores = X[u, own[own != j]] @ B[own[own != j]]
            place = 1 + sum(scores[k] > scores[j] for k in range(X.shape[1]) if not X[u, k])
            mine.append(1 / np.log2(1 + place))
        gains.append(np.mean(mine))
    return np.mean(gains)


@pytest.fixture(scope="module", params=[0, 1, 2])
def taken(request):
    random = np.random.default_rng(request.param)
    X = (random.random((40, 9)) < random.random(9)).astype(float)
    X[0] = 0
    return X


def csr(X):
    matrix = sparse.csr_array(X)
    matrix.data = np.random.default_rng(0).integers(0, 6, len(matrix.data)) / 1.0  # any ratings
    return matrix


def test_weights_of_people(taken):
    n = taken.sum(axis=1)
    weights = weigh_people(csr(taken))
    assert weights[n == 0].tolist() == [0] * int((n == 0).sum())
    np.testing.assert_allclose(weights[n > 0], np.sqrt(n[n > 0].mean() / n[n > 0]))


@pytest.mark.parametrize("penalty", [0.1, 3.0, 500.0])
@pytest.mark.parametrize("weighted", [True, False])
def test_item_weights_by_a_ridge_for_each_item(taken, penalty, weighted):
    matrix = csr(taken)
    people = weigh_people(matrix) if weighted else np.ones(len(taken))
    together = count_together(matrix, people)
    np.testing.assert_allclose(together, taken.T @ (people[:, None] * taken), atol=1e-12)
    P = invert(together, penalty)
    assert (P == P.T).all()
    B = literal_weights(taken, people, penalty)
    np.testing.assert_allclose(item_weights(P), B, atol=1e-6)


def test_counts_in_blocks(taken, monkeypatch):
    whole = count_together(csr(taken), np.ones(len(taken)))
    monkeypatch.setattr("rankwise.recommend._choice._ITEMS", 2)
    np.testing.assert_array_equal(count_together(csr(taken), np.ones(len(taken))), whole)


@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_left_out_gain_by_refits(taken, penalty):
    matrix = csr(taken)
    people = weigh_people(matrix)
    judged = np.flatnonzero(taken.sum(axis=1) > 1)
    P = invert(count_together(matrix, people), penalty)
    fast = left_out_gain(P, matrix, people, judged)
    assert fast == pytest.approx(literal_gain(taken, people, penalty, judged), abs=1e-12)


def test_scores_add_the_rows_of_what_was_taken(taken):
    model = learn(csr(taken), 3.0)
    n = taken.sum(axis=0)
    assert model.head.tolist() == np.flatnonzero(n >= 5).tolist()
    np.testing.assert_allclose(model.popularity, n / len(taken))
    head = taken[:, model.head]
    B = literal_weights(head, weigh_people(csr(taken)), 3.0)
    own = np.array([0, 3, 8])
    expected = model.popularity.copy()
    expected[model.head] = np.isin(model.head, own) @ B
    np.testing.assert_allclose(model.scores(own), expected, atol=1e-6)
    np.testing.assert_array_equal(model.scores([]), model.popularity)


def test_the_most_taken_are_learned_and_popularity_serves_the_rest(taken):
    model = learn(csr(taken), 3.0, max_items=4)
    n = taken.sum(axis=0)
    assert len(model.head) == 4
    assert n[model.head].min() >= np.delete(n, model.head).max()
    tail = np.setdiff1d(np.arange(9), model.head)
    scores = model.scores(model.head[:1])
    np.testing.assert_array_equal(scores[tail], model.popularity[tail])
    np.testing.assert_array_equal(model.scores(tail), model.popularity)


def test_the_chosen_penalty_is_the_best_of_its_neighbours(taken, monkeypatch):
    monkeypatch.setattr(_choice, "_JUDGING", 7)
    matrix = csr(taken[:, taken.sum(axis=0) >= 5])
    people = weigh_people(matrix)
    penalty = learn(matrix).penalty
    sizes = np.diff(matrix.indptr)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 1]
    judged = order[np.linspace(0, len(order) - 1, 7).astype(int)]
    gains = [
        left_out_gain(invert(count_together(matrix, people), p), matrix, people, judged)
        for p in (penalty / 2, penalty, penalty * 2)
    ]
    assert gains[1] >= max(gains) - 1e-12


def test_tables_with_hardly_anything():
    nobody = sparse.csr_array((3, 4))
    model = learn(nobody)
    assert model.scores([1]).tolist() == [0, 0, 0, 0]
    few = learn(sparse.csr_array(np.eye(4)))
    assert few.scores([1]).tolist() == [0.25] * 4
    one = learn(sparse.csr_array(np.ones((6, 1))))
    assert one.scores([0]).tolist() == [0]
    everything = learn(sparse.csr_array(np.ones((6, 3))))
    assert np.isfinite(everything.scores([0, 1])).all()


def test_order_of_people_and_items_does_not_matter(taken):
    random = np.random.default_rng(1)
    people, items = random.permutation(40), random.permutation(9)
    one, two = learn(csr(taken)), learn(csr(taken[people][:, items]))
    assert one.penalty == two.penalty
    own = np.array([2, 5])
    places = np.argsort(items)
    np.testing.assert_allclose(two.scores(places[own]), one.scores(own)[items], atol=1e-6)


def test_a_rating_weighs_a_choice():
    choice = np.array([0.2, 0.1, -0.3, 0.1])
    scores = weigh_by_rating(choice, np.array([0.0, 3.0, 0.5, -800.0]))
    assert np.isfinite(scores).all()
    assert np.argsort(-scores).tolist() == [1, 0, 2, 3]
    assert weigh_by_rating(np.zeros(0), np.zeros(0)).shape == (0,)
    low = np.array([-5_000.0, -5_001.0])
    np.testing.assert_allclose(weigh_by_rating(np.ones(2), low), np.exp([0.0, -0.6]))


def test_a_penalty_that_is_too_small_is_named():
    matrix = sparse.csr_array(np.ones((6, 3)))
    with pytest.raises(ValueError, match="penalty=1e-300 is too small"):
        learn(matrix, 1e-300)

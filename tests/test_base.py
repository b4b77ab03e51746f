import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from rankwise.base import RankerMixin, Ranking


class Identity(RankerMixin, BaseEstimator):
    """Scores a row by its first feature."""

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_ranking_from_scores():
    ranking = Ranking.from_scores([1.0, 3.0, 3.0, -1.0])
    assert_array_equal(ranking.order, [1, 2, 0, 3])
    assert_array_equal(ranking.positions, [3, 1, 2, 4])
    assert len(ranking) == 4
    assert list(ranking) == [1, 2, 0, 3]


def test_ranking_shows_what_it_knows():
    shown = repr(Ranking(order=["b", "a"], positions=np.array([2, 1]), n_calls=1, log=[1]))
    assert shown == "Ranking(order=['b', 'a'], positions=array([2, 1]), n_calls=1)"


@pytest.mark.parametrize("scores", [[1.0, np.nan], [[1.0]]])
def test_bad_scores_are_refused(scores):
    with pytest.raises(ValueError, match="scores"):
        Ranking.from_scores(scores)


def test_positions_inside_queries():
    random = np.random.default_rng(0)
    scores, qid = random.integers(0, 5, 40).astype(float), random.choice(["a", "b", "c"], 40)
    positions = Identity().rank(scores[:, None], qid=qid)
    for query in "abc":
        mine = qid == query
        assert_array_equal(positions[mine], Ranking.from_scores(scores[mine]).positions)
    assert_array_equal(Identity().rank(scores[:, None]), Ranking.from_scores(scores).positions)


def test_qid_of_another_length_is_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        Identity().rank([[1.0], [2.0]], qid=[1])

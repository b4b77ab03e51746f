import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rankwise.base import Ranking


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


@pytest.mark.parametrize("scores", [{1, 2}, ["a"], [1j], iter([1.0]), sparse.csr_array(np.eye(2))])
def test_scores_that_are_no_numbers_are_named(scores):
    with pytest.raises(ValueError, match=r"^scores must be numbers"):
        Ranking.from_scores(scores)

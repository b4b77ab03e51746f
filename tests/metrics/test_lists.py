"""List measures against all orders of tied rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics as sklearn_metrics

from rankwise.metrics import average_precision_score, ndcg_score
from rankwise.metrics.lists import LIST_MEASURES
from tests import reference as oracles

measures = pytest.mark.parametrize("measure", LIST_MEASURES.values(), ids=LIST_MEASURES)
named = pytest.mark.parametrize(("name", "measure"), LIST_MEASURES.items(), ids=LIST_MEASURES)

lists = st.lists(
    st.tuples(st.integers(0, 3).map(float), st.integers(0, 2).map(float)), min_size=2, max_size=6
).filter(lambda rows: 0 < sum(y > 0 for y, _ in rows) < len(rows))


@named
@given(queries=st.lists(lists, min_size=1, max_size=3), k=st.none() | st.integers(1, 7))
def test_mean_over_queries_of_the_mean_over_orders(name, measure, queries, k):
    expected = [
        oracles.list_measure(oracles.LIST_MEASURES[name], *np.transpose(rows), k=k)
        for rows in queries
    ]
    y, s = np.transpose([row for rows in queries for row in rows])
    qid = np.repeat([f"q{-i}" for i in range(len(queries))], [len(rows) for rows in queries])
    order = np.random.default_rng(0).permutation(len(y))
    found = measure(y[order], s[order], qid=qid[order], k=k)
    assert_allclose(found, np.mean(expected), rtol=1e-12)
    if len(queries) == 1:
        assert_allclose(measure(y, s, k=k), expected[0], rtol=1e-12)


@named
def test_queries_alike_are_left_out(name, measure):
    y, s, qid = [0, 1, 1, 1, 0], [1, 2, 1, 2, 1], [0, 0, 1, 1, 2]
    alone = oracles.list_measure(oracles.LIST_MEASURES[name], y[:2], s[:2])
    assert_allclose(measure(y, s, qid=qid), alone, rtol=1e-15)
    with pytest.raises(ValueError, match="no comparable pair"):
        measure(y[2:], s[2:], qid=qid[2:])


@pytest.mark.parametrize("k", [None, 10])
def test_peers_agree_without_ties(k):
    random = np.random.default_rng(0)
    y, s = random.integers(0, 5, (50, 100)), random.normal(size=(50, 100))
    qid = np.repeat(np.arange(50), 100)
    expected = sklearn_metrics.ndcg_score(2.0**y - 1, s, k=k)
    assert_allclose(ndcg_score(y.ravel(), s.ravel(), qid=qid, k=k), expected, rtol=1e-12)
    if k is None:
        pairs = zip(y > 2, s, strict=True)
        expected = np.mean([sklearn_metrics.average_precision_score(*pair) for pair in pairs])
        found = average_precision_score(y.ravel() > 2, s.ravel(), qid=qid)
        assert_allclose(found, expected, rtol=1e-12)


def test_ndcg_with_ties_agrees_with_scikit_learn():
    random = np.random.default_rng(0)
    y, s = random.integers(0, 5, (20, 30)), random.integers(0, 4, (20, 30))
    expected = sklearn_metrics.ndcg_score(2.0**y - 1, s)
    found = ndcg_score(y.ravel(), s.ravel(), qid=np.repeat(np.arange(20), 30))
    assert_allclose(found, expected, rtol=1e-12)


def test_gains_neither_overflow_nor_vanish():
    assert_allclose(ndcg_score([0, 2000], [2, 1]), 1 / np.log2(3))
    assert_allclose(ndcg_score([0, 1e-12], [2, 1]), 1 / np.log2(3))


@measures
@pytest.mark.parametrize("k", [0, 1.5, True, "3"])
def test_bad_k_is_named(measure, k):
    with pytest.raises(ValueError, match="k="):
        measure([0, 1], [0, 1], k=k)


def test_negative_gains_are_refused():
    with pytest.raises(ValueError, match=r"y_true holds -1.0"):
        ndcg_score([-1, 1], [0, 1])


def test_gains_of_one_query_do_not_hide_another():
    y, s = [0, 1, 2, 5000, 4999], [1, 3, 2, 1, 2]
    qid = [0, 0, 0, 1, 1]
    alone = ndcg_score(y[:3], s[:3]), ndcg_score(y[3:], s[3:])
    assert_allclose(ndcg_score(y, s, qid=qid), np.mean(alone), rtol=1e-14)
    few = ndcg_score([0, 1, 2, 5e-324, 0], s, qid=qid)
    assert_allclose(few, (alone[0] + 1) / 2 if s[3] > s[4] else (alone[0] + 1 / np.log2(3)) / 2)


@pytest.mark.parametrize("y", [[1.7e308, 0, 1e308], [5e-324, 0, 1e-323], [1e-320, 0, 3e-320]])
def test_gains_of_any_size(y):
    relevant = np.array(y) / max(y) if max(y) < 1 else np.array(y) == max(y)
    for s in ([1, 2, 3], [3, 2, 1], [2, 2, 1], [1.7e308, -1.7e308, 5e-324]):
        order = np.argsort(-np.array(s, dtype=float), kind="stable")
        discounts = 1 / np.log2([2, 3, 4])
        if s[0] != s[1]:
            expected = relevant[order] @ discounts / (np.sort(relevant)[::-1] @ discounts)
            assert_allclose(ndcg_score(y, s), expected, rtol=1e-12)
        for measure in LIST_MEASURES.values():
            assert 0 < measure(y, s) <= 1


@measures
def test_a_cut_beyond_any_list(measure):
    assert measure([0, 1, 1], [3, 2, 1], k=10**30) == measure([0, 1, 1], [3, 2, 1])

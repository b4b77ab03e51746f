"""Whatever is passed for an argument: a result, or a sentence that names the argument."""

import asyncio

import numpy as np
import pytest
from scipy import sparse

from rankwise.base import Ranking
from rankwise.preference import (
    alternatives_gap,
    aquicksort,
    asort_by_degree,
    check_weight,
    order_loss,
    preference_loss,
    preference_regret,
    quicksort,
    ranking_regret,
    sort_by_degree,
)

P = [[0, 1], [0, 0]]
TWO_SETS = [[[0, 1]], [[1, 0]]]
ODD = [
    None, 3, -1, 2.5, True, np.nan, "abc", "", b"ab", [], [[]], [[1]], [1, 2], [[1, 2]],
    ["a", "b"], [["a", "b"], ["c", "d"]], [None], [[None, 1], [0, 0]], object(), {}, {1: 2},
    {"a", "b"}, [[0, 1], [0]], [[0, np.nan], [1, 0]], [[0, 2], [0, 0]], [[0, -1], [0, 0]],
    np.eye(2, dtype=complex), np.array([["0", "1"], ["1", "0"]]), np.zeros((2, 2, 2)),
    [[1, 2], [2, 1]], [{}, {}], [[[], []], [[], []]], [[0, 1], [1, 0]], [(0, 1), (1, 0)],
    np.float64(1), [0, 0], [1.0, 0.0], [True, False], np.array([0, 1], dtype=object), [0, "a"],
    Ranking.from_scores([1, 2]), [Ranking.from_scores([1, 2])], np.array(3), [10**400, 1],
    sparse.eye_array(2),
]  # fmt: skip


def one(*_):
    return 1.0


async def later(*_):
    return 1.0


def returns(value):
    return lambda *_: value


# The name that a message must hold, and the call.
CALLS = {
    "preference_loss, P": ("prefer_matrix|target", lambda x: preference_loss(x, [0, 1])),
    "preference_loss, target": ("target", lambda x: preference_loss(P, x)),
    "preference_loss, weight": ("weight", lambda x: preference_loss(P, [0, 1], weight=x)),
    "preference_loss, k": ("weight", lambda x: preference_loss(P, [0, 1], weight=("top", x))),
    "preference_loss, cuts": (
        "weight",
        lambda x: preference_loss(P, [0, 1], weight=("partite", x)),
    ),
    "preference_loss, kind": ("weight", lambda x: preference_loss(P, [0, 1], weight=(x, 1))),
    "preference_loss, called": (
        r"weight\(1, 2\)",
        lambda x: preference_loss(P, [0, 1], weight=returns(x)),
    ),
    "order_loss, order": ("order", lambda x: order_loss(x, "ab")),
    "order_loss, target": ("target", lambda x: order_loss("ab", x)),
    "check_weight, weight": ("weight", lambda x: check_weight(x, 3)),
    "check_weight, n": ("n=", lambda x: check_weight("kemeny", x)),
    "preference_regret, P": ("prefer_matrix", lambda x: preference_regret(x, [[0, 1]])),
    "preference_regret, Ps": ("prefer_matrix", lambda x: preference_regret(x, TWO_SETS)),
    "preference_regret, one P": ("prefer_matrix", lambda x: preference_regret([P, x], TWO_SETS)),
    "preference_regret, targets": ("targets|prefer_matrix", lambda x: preference_regret(P, x)),
    "preference_regret, target": ("targets", lambda x: preference_regret(P, [[0, 1], x])),
    "preference_regret, kind": ("kind", lambda x: preference_regret(P, [[0, 1]], kind=x)),
    "preference_regret, items": ("items", lambda x: preference_regret(P, [[0, 1]], items=x)),
    "preference_regret, names": ("items", lambda x: preference_regret(P, [[0, 1]], items=[x])),
    "ranking_regret, order": ("order", lambda x: ranking_regret(x, [[0, 1]])),
    "ranking_regret, orders": ("order", lambda x: ranking_regret(x, TWO_SETS)),
    "ranking_regret, targets": ("targets|order", lambda x: ranking_regret([0, 1], x)),
    "ranking_regret, best": ("best", lambda x: ranking_regret([0, 1], [[0, 1]], best=x)),
    "ranking_regret, bests": (
        "best",
        lambda x: ranking_regret([[0, 1], [1, 0]], TWO_SETS, best=x),
    ),
    "ranking_regret, one best": (
        "best",
        lambda x: ranking_regret([[0, 1], [1, 0]], TWO_SETS, kind="strong", best=x),
    ),
    "alternatives_gap, targets": ("target", alternatives_gap),
    "alternatives_gap, set": ("target", lambda x: alternatives_gap([[[0, 1]], x])),
    "alternatives_gap, order": ("target", lambda x: alternatives_gap([[[0, 1], x]])),
    "max_concurrency": (
        "max_concurrency",
        lambda x: asyncio.run(aquicksort([0, 1], later, max_concurrency=x)),
    ),
    "by degree, max_concurrency": (
        "max_concurrency",
        lambda x: asyncio.run(asort_by_degree([0, 1], later, max_concurrency=x)),
    ),
    "k": ("k=", lambda x: quicksort([0, 1], one, k=x)),
    "random_state": ("random_state", lambda x: quicksort([0, 1], one, random_state=x)),
    "randomise": ("randomise", lambda x: quicksort([0, 1], one, randomise=x)),
} | {
    f"{sort.__name__}, {name}": (words, lambda x, call=call, sort=sort: call(sort, x))
    for sort in (quicksort, sort_by_degree)
    for name, (words, call) in {
        "items": ("items", lambda sort, x: sort(x, one)),
        "prefer": ("prefer", lambda sort, x: sort([0, 1], x)),
        "answer": ("prefer returned", lambda sort, x: sort([0, 1], returns(x))),
        "answers": ("prefer returned", lambda sort, x: sort([0, 1], returns(x), batch=True)),
        "one answer": ("prefer returned", lambda sort, x: sort([0, 1], returns([x]), batch=True)),
        "log": ("log", lambda sort, x: sort([0, 1], one, log=x)),
        "entry": ("log", lambda sort, x: sort([0, 1], one, log=[x])),
        "position": ("log", lambda sort, x: sort([0, 1], one, log=[(0, x, 1)])),
        "probability": ("log", lambda sort, x: sort([0, 1], one, log=[(0, 1, x)])),
        "progress": ("progress", lambda sort, x: sort([0, 1], one, progress=x)),
        "batch": ("batch", lambda sort, x: sort([0, 1], returns([1]), batch=x)),
        "max_calls": ("max_calls", lambda sort, x: sort([0, 1], one, max_calls=x)),
        "repeats": ("repeats", lambda sort, x: sort([0, 1], one, repeats=x)),
        "symmetrise": ("symmetrise", lambda sort, x: sort([0, 1], one, symmetrise=x)),
    }.items()
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments_are_taken_or_refused_by_name(name):
    words, call = CALLS[name]
    for value in ODD:
        given = list(value) if type(value) is list else value
        try:
            result = call(given)
        except (TypeError, ValueError) as error:
            with pytest.raises((TypeError, ValueError), match=words):
                raise error from None
        else:
            assert not (isinstance(result, float) and np.isnan(result)), value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: preference_loss(one, [0, 1]), "prefer_matrix must be .* not <function"),
        (lambda: preference_loss("ab", [0, 1]), "prefer_matrix must be .* dtype is <U2"),
        (lambda: preference_loss(None, [0, 1]), r"prefer_matrix must be .* shape is \(\)"),
        (lambda: preference_regret(one, [[0, 1]]), "prefer_matrix must be .* not <function"),
        (lambda: preference_regret(P, [[0, 1]], items=[[0, 0, 1]]), "items has a duplicated item"),
        (
            lambda: ranking_regret([[0, 1], [1, 0]], TWO_SETS, best=[[0, 1]]),
            "best has 1 orders for 2 sets",
        ),
        (lambda: ranking_regret([[0, 1], [0, 1]], [[[0, 1]], []]), "targets is empty"),
        (lambda: order_loss({0, 1}, [0, 1]), "order={0, 1} must be a list"),
        (lambda: order_loss([[0], [1]], [0, 1]), r"order holds \[0\], which can't be hashed"),
        (lambda: preference_loss(P, [0, 1], weight=("top", np.array([9, 2], "u1"))), "increasing"),
        (lambda: check_weight("kemeny", 0), "n=0 must be an integer from 1 on"),
        (lambda: check_weight(returns("1"), 2), r"weight\(1, 2\) is '1'"),
        (lambda: preference_loss(P, [0, 1], weight=returns(1e308)), r"weight\(1, 2\) is 1e\+308"),
        (lambda: quicksort([0, 1], one, repeats=10**400), r"repeats=1000.* below 2,147"),
        (lambda: quicksort([0, 1], one, repeats=2**62, symmetrise=True), "repeats=.* below"),
    ],
)
def test_refusals_say_what_is_wanted(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_diagonal_of_a_comparator_does_not_count():
    blank = np.array([[np.nan, 1.0], [0.0, np.nan]])
    assert preference_loss(blank, [1, 0]) == preference_loss(P, [1, 0]) == 1
    assert preference_regret(blank, [[1, 0]]) == preference_regret(P, [[1, 0]]) == 1
    assert np.isnan(blank[0, 0])


def test_sparse_items_of_any_format():
    rows = sparse.coo_array(np.arange(12).reshape(6, 2))
    ranking = quicksort(rows, lambda u, v: u.sum() > v.sum(), random_state=0)
    assert ranking.positions.tolist() == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_ask(n):
    for sort in (quicksort, sort_by_degree):
        ranking = sort(list("a"[:n]), returns(None), max_calls=0)
        assert (ranking.order, ranking.n_calls) == (list("a"[:n]), 0)
        assert sort([1, 0, 1][: 3 * n], one, max_calls=None).n_calls <= 3


def test_equal_items_are_items_of_their_own():
    ranking = quicksort(["b", "a", "b"], lambda u, v: u < v, k=9, random_state=0)
    assert ranking.order == ["a", "b", "b"]
    assert sorted(ranking.positions) == [1, 2, 3]


def test_sparse_items_whose_arrays_contradict_each_other():
    rows = sparse.csr_array(np.eye(3))
    rows.indptr = np.array([0, 1, 2, 10**9], np.int32)
    with pytest.raises(ValueError, match="items is a sparse matrix whose arrays contradict"):
        quicksort(rows, one)

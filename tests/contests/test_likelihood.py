"""Counts by pair, ids and groups of items."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise._core.ids import encode_ids, find_ids
from rankwise.contests import _counts as solver
from rankwise.contests import _loops
from rankwise.contests._counts import check_groups, count_pairs
from rankwise.contests._loops import largest_gaps

random = np.random.default_rng(0)


def literal(first, second, outcome, weight, ties, fold):
    counts = {}
    for a, b, got, w in zip(first, second, outcome, weight, strict=True):
        u, v, p = (b, a, 1 - got) if fold and a > b else (a, b, got)
        row = counts.setdefault((u, v), np.zeros(4))
        if ties and p == 0.5:
            row[2] += w
        else:
            row += w * np.array([p, 1 - p, 0, p * (1 - p)])
    return counts


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse ids", "weights", "soft", "texts", "many"])
def test_counts_are_those_of_the_rows(kind, fold, monkeypatch):
    m = 3000
    first = random.integers(100, 140, size=m)
    second = 100 + (first - 100 + random.integers(1, 40, size=m)) % 40
    outcome = random.integers(0, 3, size=m) / 2
    weight = random.integers(1, 5, size=m).astype(float) if kind == "weights" else None
    if kind == "sparse ids":
        first, second = first**3, second**3
    elif kind == "texts":
        first, second = (np.array([f"x{i}" for i in ids], object) for ids in (first, second))
    elif kind == "many":
        monkeypatch.setattr(solver, "_DENSE", 10)
    elif kind == "soft":
        outcome = random.random(m)
    columns = [c.tolist() if c.dtype == object else c for c in (first, second)]
    items, left, right, found = count_pairs(*columns, outcome, weight, fold=fold)
    heft = np.ones(m) if weight is None else weight
    expected = literal(first.tolist(), second.tolist(), outcome, heft, kind != "soft", fold)
    assert items.tolist() == sorted(set(first.tolist()) | set(second.tolist()))
    pairs = list(zip(items[left].tolist(), items[right].tolist(), strict=True))
    assert Counter(pairs) == Counter(expected.keys())
    assert_allclose(found, [expected[pair] for pair in pairs])


def test_a_pair_that_met_more_often_than_a_table_holds(monkeypatch):
    for module in (_loops, solver):
        monkeypatch.setattr(module, "BITS", 3)
    monkeypatch.setattr(solver, "count_dense", _loops.count_dense.py_func)
    first, second, outcome = np.zeros(40, np.int64), np.ones(40, np.int64), np.ones(40)
    first[30:], second[30:] = 1, 2
    *_, found = count_pairs(first, second, outcome, None, fold=True)
    assert_array_equal(found, [[30, 0, 0, 0], [10, 0, 0, 0]])


def test_ids_of_any_kind():
    ids, (a, b) = encode_ids([["b", 2, (1, 2)], ["b", "b", 2]], ["first", "second"])
    assert [ids[i] for i in a] == ["b", 2, (1, 2)]
    assert [ids[i] for i in b] == ["b", "b", 2]
    texts = ["pear", "fig", "pear"]
    for column in (
        texts,
        np.array(texts),
        np.array(texts, dtype=object),
        pd.Series(texts),
        pd.Series(texts, dtype="category"),
        pl.Series(texts),
    ):
        ids, (codes,) = encode_ids([column], ["first"])
        assert ids.tolist() == ["fig", "pear"]
        assert codes.tolist() == [1, 0, 1]
        assert find_ids(column, ids, "u").tolist() == [1, 0, 1]
    for column in (np.array([7, -3, 7], np.int8), [7, -3, 7], np.array([7.0, -3.0, 7.0])):
        ids, (codes,) = encode_ids([column], ["first"])
        assert ids.tolist() == [-3, 7]
        assert codes.tolist() == [1, 0, 1]
    big = [2**70, 1]
    assert encode_ids([big], ["first"])[0].tolist() == [1, 2**70]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([2**63 + 1, 2**63 + 2], np.uint64), np.array([2**62, 5])),
        (np.array([2**53, 2**53 + 1]), np.array([1.0, 2.5])),
        (np.array([-(2**53) - 1, 3]), np.array([-(2.0**53), 2.5])),
    ],
)
def test_ids_of_two_types_are_not_rounded(first, second):
    """One array of both would be of floats, in which the first two ids are one."""
    ids, codes = encode_ids([first, second], ["first", "second"])
    assert len(ids) == 4
    for column, code in zip((first, second), codes, strict=True):
        assert ids[code].tolist() == column.tolist()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["a", None], "missing in row 1"),
        ([1.0, np.nan], "missing in row 1"),
        (np.array([1.0, np.nan]), "missing in row 1"),
        ([["a"], ["b"]], "can't be an id"),
        (np.zeros((2, 2)), "must be 1-D"),
        ("ab", "expected a list of ids"),
        (5, "expected a list of ids"),
        (np.ma.array([1, 2], mask=[0, 1]), "masked"),
    ],
)
def test_bad_ids(column, words):
    with pytest.raises(ValueError, match=words):
        encode_ids([column], ["first"])


def test_groups():
    pairs = np.array([0, 1, 1, 3, 4, 5]), np.array([1, 0, 2, 4, 3, 0])
    items = np.arange(7)
    with pytest.warns(
        UserWarning,
        match="3 unconnected groups, 1 of them items without a contest, apart from the largest: "
        "3, 4.*6; 5 never lost; 2 never won",
    ):
        check_groups(*pairs, items, 5.0)
    with pytest.raises(ValueError, match=r"5 never lost.*set prior=5\.0"):
        check_groups(*pairs, items, None)
    check_groups(np.array([0, 1]), np.array([1, 0]), items[:2], None)
    # who has beaten everyone, directly or through others, but was never beaten by them
    circles = np.array([0, 1, 2, 3, 0]), np.array([1, 0, 3, 2, 2])
    with pytest.warns(UserWarning, match="won or lost every contest with the others"):
        check_groups(*circles, items[:4], 5.0)


def test_the_largest_gap_is_that_of_all_pairs():
    for n in (2, 3, 17):
        draws = random.normal(size=(50, n)) * random.exponential(size=n)
        per_error = random.exponential(size=(n, n)) ** 3
        per_error += per_error.T
        np.fill_diagonal(per_error, 1e9)
        expected = (np.abs(draws[:, :, None] - draws[:, None, :]) * per_error).max(axis=(1, 2))
        most, gaps = np.where(np.eye(n), 0, per_error).max(axis=1), np.empty(50)
        largest_gaps(draws, draws.argsort(axis=1), per_error, most, gaps)
        assert_array_equal(gaps, expected)

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rankwise._core.queries import encode_queries, group_rows

NAMES = [
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(["b", "a", "ü", ""]),
]


@pytest.mark.parametrize("names", NAMES)
@given(data=st.data())
def test_codes_are_the_places_among_the_sorted_names(names, data):
    qid = data.draw(st.lists(names, min_size=1))
    codes, n = encode_queries(qid, len(qid))
    assert codes.dtype == np.int64
    assert_array_equal(codes, [sorted(set(qid)).index(name) for name in qid])
    order, starts = group_rows(codes, n)
    assert_array_equal(order, np.argsort(codes, kind="stable"))
    assert_array_equal(np.diff(starts), np.bincount(codes))


def test_none_is_one_query():
    codes, n = encode_queries(None, 3)
    assert_array_equal(codes, [0, 0, 0])
    assert n == 1


@pytest.mark.parametrize(
    "qid",
    [
        np.array([7, 3, 7], dtype=np.uint8),
        np.array([7.0, 3.0, 7.0]),
        np.array([True, False, True]),
        pd.Series(["x", "a", "x"], dtype="string"),
        pd.Categorical(["x", "a", "x"]),
        pd.array([7, 3, 7], dtype="Int64"),
        pl.Series(["x", "a", "x"]),
        np.array(["x", "a", "x"], dtype=object),
    ],
)
def test_types(qid):
    codes, n = encode_queries(qid, 3)
    assert_array_equal(codes, [1, 0, 1])
    assert n == 2


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([1, 2], "2 entries for 3 rows"),
        ([[1], [2], [3]], "1-D"),
        (1, "1-D"),
        ([1, np.nan, 2], "NaN"),
        (["a", None, "b"], "NaN"),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), "masked entry"),
        (pd.array([1, None, 2], dtype="Int64"), "NaN"),
        ([1.0, 2.5, 1.0], "qid holds 2.5"),
        ([1.0, np.inf, 1.0], "qid holds inf"),
        ([1.0, 2.0**60, 1.0], "qid holds 1.15"),
        (np.array(["a", 1, "b"], dtype=object), "mixes"),
    ],
)
def test_bad_qid_is_named(qid, message):
    with pytest.raises(ValueError, match=message):
        encode_queries(qid, 3)


def test_short_floats():
    codes, n = encode_queries(np.array([2, 1, 2], dtype=np.float16), 3)
    assert codes.tolist() == [1, 0, 1]
    assert n == 2


@pytest.mark.parametrize("qid", [[1, "1"], ["1", 1.0], ["a", b"a"], ["a", True], ("1", 1)])
def test_texts_and_other_names_do_not_mix(qid):
    with pytest.raises(ValueError, match="qid mixes names"):
        encode_queries(qid, 2)


def test_a_ragged_qid_is_named():
    with pytest.raises(ValueError, match="qid can't be made an array"):
        encode_queries([[1, 2], [3]], 2)

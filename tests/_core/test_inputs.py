import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rankwise._core.inputs import (
    as_floats,
    as_weights,
    check_floats,
    check_weights,
    ratings_of,
    refuse_masked,
    rows_of,
)

LEVELS = ["poor", "fair", "good", "superb"]


def test_masked_entry_is_refused_by_name():
    values = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(ValueError, match=r"y_score has a masked entry \(row 1\)"):
        refuse_masked(values, "y_score")
    with pytest.raises(ValueError, match=r"X has a masked entry \(place \(1, 0\)\)"):
        refuse_masked(np.ma.masked_equal([[1, 2], [0, 3]], 0), "X")


@pytest.mark.parametrize(
    "values",
    [
        np.ma.masked_array([1.0, 2.0], mask=[False, False]),
        np.ma.array([1, 2]),
        [1, 2],
        None,
        "a",
        pd.array([1, None]),
    ],
)
def test_nothing_masked(values):
    assert refuse_masked(values, "y") is None


@pytest.mark.parametrize(
    "values", [[3, 1], np.array([1.5, 2]), None, "ab", pd.Series([1, 2]), pl.Series([1, 2]), 3]
)
def test_no_categorical_is_unchanged(values):
    assert ratings_of(values, "y") is values


def test_tables_without_categorical_are_unchanged():
    for table in (pd.DataFrame({"y": [1, 2]}), pl.DataFrame({"y": [1, 2]}), np.ones((3, 1))):
        assert ratings_of(table, "y") is table


def ordered(values):
    categorical = pd.Categorical(values, categories=LEVELS, ordered=True)
    column = pl.Series("y", values, dtype=pl.Enum(LEVELS))
    series = pd.Series(categorical, index=range(5, 5 + len(values)))
    return [
        categorical, series, pd.CategoricalIndex(categorical), column,
        series.to_frame(), column.to_frame(),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", range(6))
def test_ordered_means_its_order(kind):
    y = ordered(["good", "poor", "good", "superb"])[kind]
    assert_array_equal(ratings_of(y, "y"), [2, 0, 2, 3])


@pytest.mark.parametrize("kind", range(6))
def test_missing_value_is_refused(kind):
    y = ordered(["good", None, "poor"])[kind]
    with pytest.raises(ValueError, match=r"y_true has a missing value \(row 1\)"):
        ratings_of(y, "y_true")


def test_order_of_numbers_against_their_size():
    y = pd.Series(pd.Categorical([10, 5, 1], categories=[10, 5, 1], ordered=True))
    assert_array_equal(ratings_of(y, "y"), [0, 1, 2])


@pytest.mark.parametrize(
    "values", [[4, 1, 4], [2.5, 0.5, 2.5], [True, False, True], pd.array([4, 1, 4], dtype="Int64")]
)
def test_numbers_without_an_order_are_numbers(values):
    found = ratings_of(pd.Series(pd.Categorical(values)), "y")
    assert found.dtype.kind in "bif"
    assert_array_equal(found, np.asarray(values))
    with pytest.raises(ValueError, match="missing"):
        ratings_of(pd.Series(pd.Categorical([1, None])), "y")


@pytest.mark.parametrize("values", [["b", "a"], [1, "a"]])
def test_words_without_an_order_are_refused(values):
    with pytest.raises(ValueError, match=r"y is a categorical .* holds '.*set_categories"):
        ratings_of(pd.Series(pd.Categorical(values)), "y")


def test_polars_categorical_is_refused():
    with pytest.raises(ValueError, match=r"cast it to pl\.Enum"):
        ratings_of(pl.Series(["b", "a"], dtype=pl.Categorical), "y")


@pytest.mark.parametrize(
    "values",
    [
        1 + 2j,
        [1, 2j],
        [np.complex128(1)],
        np.array([np.complex128(1)], dtype=object),
        np.ones(2, dtype=complex),
        np.array(["2020-01-01"], dtype="M8[D]"),
        ["a"],
        [[1, 2], [3]],
        {1, 2},
        iter([1]),
        sparse.csr_array(np.eye(2)),
        np.ma.masked_equal([1, 2], 2),
        [None],
    ],
)
def test_what_is_no_number_is_named(values):
    with pytest.raises(ValueError, match=r"^weight "):
        check_floats(values, "weight")


def test_floats():
    assert_array_equal(check_floats([1, 2.5], "weight"), [1.0, 2.5])
    assert_array_equal(check_floats([], "weight"), [])
    assert as_floats([[1], [2]], "weight").shape == (2, 1)
    assert as_floats([10**200, 1], "weight")[0] == 1e200
    with pytest.raises(
        ValueError, match=r"weight must be finite numbers, but contains nan \(row 1"
    ):
        check_floats([1.0, np.nan], "weight")
    with pytest.raises(ValueError, match="weight must be 1-D"):
        check_floats([[1.0]], "weight")
    with pytest.raises(ValueError, match="weight must be 1-D"):
        check_floats(1.0, "weight")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("part", "value"), [("indptr", -1), ("indptr", 99), ("indices", 99)])
def test_broken_sparse_rows_are_refused_by_name(form, part, value):
    rows = sparse.csr_array(np.arange(1.0, 7.0).reshape(3, 2)).asformat(form)
    getattr(rows, part)[-1] = value
    with pytest.raises(ValueError, match="X is a sparse matrix whose arrays contradict each other"):
        rows_of(rows)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sparse_rows_whose_lengths_overflow(form, dtype):
    """Each difference of neighbours is at least 0, in the integers of the machine."""
    rows = sparse.csr_array(np.eye(4)).asformat(form)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    rows.indices = rows.indices.astype(dtype)
    rows.indptr = np.array([0, most, least, -1, 4], dtype=dtype)
    with pytest.raises(ValueError, match="X is a sparse matrix whose arrays contradict each other"):
        rows_of(rows)


def test_weights():
    given = np.array([0.0, 2.0, 0.5])
    for values in (given, given.tolist(), given[:, None], np.float32(given), given.astype(object)):
        assert_array_equal(check_weights(values, "weight", 3), given)
    assert_array_equal(check_weights(2, "weight", 3), [2.0, 2.0, 2.0])
    assert_array_equal(check_weights([True, False], "weight", 2), [1.0, 0.0])
    assert_array_equal(as_weights([0, 0], "weight", 2), [0.0, 0.0])
    assert_array_equal(as_weights([], "weight", 0), [])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, np.nan, -1],
            r"weight\[1\] is nan: expected a finite number of at least 0; drop",
        ),
        ([1, 2, -1], r"weight\[2\] is -1.0: expected .* or give it weight 0"),
        ([np.inf, 2, 1], r"weight\[0\] is inf: expected a finite"),
        (-1, r"weight\[0\] is -1.0: expected"),
        ([1, 2], r"weight has the shape \(2,\) for 3 pairs: give one number per pair"),
        (np.ones((3, 2)), r"weight has the shape \(3, 2\) for 3 pairs"),
        ([0, 0, 0], "weight is zero for every pair: give at least one a positive weight"),
        (["a", "b", "c"], "weight must be numbers"),
        (np.ma.masked_equal([1, 2, 3], 2), r"weight has a masked entry \(row 1\)"),
    ],
)
def test_bad_weights_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        check_weights(values, "weight", 3, "pair")

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from rankwise._core.labels import (
    found_labels,
    known_labels,
    named_labels,
    ordered_categories,
    sorted_labels,
    to_ranks,
)


@given(
    st.lists(st.integers(-(2**62), 2**62 - 1), min_size=1)
    | st.lists(st.integers(-20, 20), min_size=1)
)
def test_ranks_of_integers(values):
    y = np.array(values)
    labels = found_labels(y)
    assert_array_equal(labels, np.unique(y))
    assert labels.dtype == y.dtype
    assert_array_equal(labels[to_ranks(y, labels)], y)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint64, np.int32, float, object])
def test_dtypes(dtype):
    y = np.array([1, 0, 1, 1], dtype=dtype)
    labels = sorted_labels(y) if dtype is not object else np.array([0, 1])
    assert_array_equal(to_ranks(y, labels), [1, 0, 1, 1])


def test_any_order_of_labels():
    assert_array_equal(to_ranks(np.array([3, 1, 2]), np.array([2, 3, 1])), [1, 2, 0])
    assert_array_equal(to_ranks(np.array([3.0, 1.0]), np.array([2.0, 3.0, 1.0])), [1, 2])


@pytest.mark.parametrize("y", [[5, 9, 5], [5, -1], [5, 7], [5.5, 5.0], ["5", "x"]])
def test_unknown_label_is_named(y):
    labels = np.array(["5", "6", "8"]) if isinstance(y[0], str) else np.array([5, 6, 8])
    unknown = next(v for v in y if v not in labels.tolist())
    with pytest.raises(ValueError, match=f"label {unknown!r}"):
        to_ranks(np.array(y), labels)


@pytest.mark.parametrize("labels", [[1, 2**62, 2**63 - 1], [-(2**62) - 1, 0, 5], [0, 10**9]])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, float, object])
def test_wide_labels(labels, dtype):
    if dtype is np.uint64 and min(labels) < 0:
        labels = [label + 2**62 + 1 for label in labels]
    y = np.array(labels[::-1]).astype(dtype)
    assert_array_equal(to_ranks(y, np.array(labels)), np.arange(len(labels))[::-1])
    with pytest.raises(ValueError, match="label"):
        to_ranks(np.array([2 * 10**9 + 1]).astype(dtype), np.array(labels))


def test_unsigned_labels_do_not_wrap():
    with pytest.raises(ValueError, match="label"):
        to_ranks(np.array([2**64 - 5], dtype=np.uint64), np.array([-5, -4]))


def test_many_labels_are_shortened():
    with pytest.raises(ValueError, match=r"\.\.\."):
        to_ranks(np.array([1000]), np.arange(100))


@pytest.mark.parametrize("library", [pd, pl])
def test_an_ordered_table_of_one_column_has_its_order(library):
    names, values = ["low", "middle", "high"], ["high", "low", "high"]
    if library is pd:
        y = pd.DataFrame({"a": pd.Categorical(values, categories=names, ordered=True)})
    else:
        y = pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(names))})
    assert ordered_categories(y).tolist() == names
    with pytest.warns(DataConversionWarning):
        labels, _ = known_labels(y, None)
    assert labels.tolist() == names


def test_ragged_labels_are_named():
    with pytest.raises(ValueError, match="labels can't be made an array"):
        named_labels([[1, 2], [3]], "labels")

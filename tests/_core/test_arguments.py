import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from rankwise._core.arguments import (
    as_array,
    check_flag,
    check_level,
    check_text,
    check_whole,
    check_word,
    is_finite_number,
    only_column,
    shortened,
)

ODD = [None, pd.NA, np.ones((2, 2)), np.array([]), {}, 1 + 2j, object(), b"a", np.nan]


@pytest.mark.parametrize("value", [*ODD, "b", ["a"], 1, ""])
def test_what_is_no_word_is_named(value):
    with pytest.raises(ValueError, match=r"^kind=.* must be 'a', 'c' or 'd'$"):
        check_word(value, "kind", ("a", "c", "d"))


@pytest.mark.parametrize("value", [*ODD, 0, 1, "True"])
def test_what_is_no_flag_is_named(value):
    with pytest.raises(ValueError, match=r"^sparse=.* must be True or False$"):
        check_flag(value, "sparse")


@pytest.mark.parametrize("value", [*ODD, "", 1])
def test_what_is_no_text_is_named(value):
    with pytest.raises(ValueError, match=r"^url=.* must be a string"):
        check_text(value, "url")


@pytest.mark.parametrize("value", [*ODD, 0, -1, 2.0, 2**63, 10**400, np.inf, "1", True])
def test_what_is_no_whole_number_is_named(value):
    with pytest.raises(ValueError, match=r"^k=.* must be an integer from 1 on"):
        check_whole(value, "k")


@pytest.mark.parametrize("value", [*ODD, 0, 1, -0.5, 1.5, 10**400, np.inf, "0.5", True])
def test_what_is_no_level_is_named(value):
    with pytest.raises(ValueError, match=r"^level=.* must lie between 0 and 1"):
        check_level(value)


def test_what_is_good_is_returned():
    assert check_level(np.float32(0.5)) == 0.5
    assert check_word(np.str_("c"), "kind", ("a", "c")) == "c"
    assert check_flag(np.True_, "sparse") is True
    assert check_text("a", "url") == "a"
    assert check_whole(np.int8(3), "k") == 3
    assert check_whole(0, "k", 0) == 0


def test_numbers_that_a_float_can_hold():
    assert all(is_finite_number(value) for value in (0, -1.5, np.float32(2), 10**300))
    assert not any(is_finite_number(v) for v in (*ODD, np.inf, 10**400, "1", np.ones(1)))


def test_ragged_lists_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^qid can't be made an array"):
        as_array([[1, 2], [3]], "qid")
    assert_array_equal(as_array([1, 2], "qid"), [1, 2])


def test_the_column_of_a_table():
    for frame in (pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]})):
        assert only_column(frame).shape == (2,)
    for other in (np.ones((2, 1)), pd.DataFrame({"a": [1], "b": [2]}), [1], None):
        assert only_column(other) is other


def test_a_message_stays_on_a_line():
    assert len(shortened(np.zeros((50, 50)))) == 80
    assert shortened([1]) == "[1]"

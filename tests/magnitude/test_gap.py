import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.magnitude import cut_at_gap

SCORES = [9, 8, 8, 5, 4, 1]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, 3),
        ({"min_keep": 4}, 5),
        ({"max_keep": 2}, 1),
        ({"min_keep": 2, "max_keep": 2}, 2),
        ({"min_gap": 3}, 3),
        ({"min_gap": 3.1}, 6),
        ({"min_gap": 3.1, "max_keep": 4}, 4),
        ({"min_keep": 6}, 6),
        ({"min_keep": 10}, 6),
    ],
)
def test_cases(options, kept):
    assert cut_at_gap(np.random.default_rng(0).permutation(SCORES), **options) == kept


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.integers(1, 9), st.integers(0, 9))
def test_no_larger_gap_is_passed_over(scores, min_keep, more):
    kept = cut_at_gap(scores, min_keep=min_keep, max_keep=min_keep + more)
    ranked = sorted(scores, reverse=True)
    places = range(min_keep, min(min_keep + more, len(scores) - 1) + 1)
    gaps = {n: ranked[n - 1] - ranked[n] for n in places}
    if any(gaps.values()):
        assert gaps[kept] == max(gaps.values())
    else:
        assert kept == min(min_keep + more, len(scores))


def test_one_item_and_ties():
    assert cut_at_gap([2.0]) == 1
    assert cut_at_gap([2.0, 2.0, 2.0]) == 3


def test_a_gap_that_no_float_can_hold():
    assert cut_at_gap([1e308, 9e307, -1e308]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": []}, "scores"),
        ({"scores": [[1.0]]}, "scores"),
        ({"scores": [np.nan]}, "scores"),
        ({"scores": {1, 2}}, "scores must be numbers"),
        ({"scores": [1, 2j]}, "scores must be numbers"),
        ({"min_keep": 0}, "min_keep=0"),
        ({"min_keep": np.ones(3)}, "min_keep="),
        ({"max_keep": 2.5}, "max_keep=2.5"),
        ({"min_keep": 3, "max_keep": 2}, "max_keep=2"),
        ({"min_gap": -1}, "min_gap=-1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        cut_at_gap(**{"scores": SCORES, **arguments})

"""Rows of weight 0 count in no measure, present or future."""

from inspect import signature

import pytest

from rankwise import metrics
from rankwise.testing._weights import check_zero_weight_in_a_measure

MEASURES = [
    name
    for name in metrics.__all__
    if name.endswith(("_score", "_loss"))
    and "sample_weight" in signature(vars(metrics)[name]).parameters
]
OPTIONS = {"power": (1, 2), "pair_weight": ("uniform", "magnitude"), "ties": ("wrong", "half")}


def test_the_measures_are_known():
    assert len(MEASURES) >= 8


@pytest.mark.parametrize("name", MEASURES)
def test_rows_of_weight_0_are_absent(name):
    measure = vars(metrics)[name]
    check_zero_weight_in_a_measure(measure)
    for option, values in OPTIONS.items():
        for value in values if option in signature(measure).parameters else ():
            check_zero_weight_in_a_measure(measure, **{option: value})


def test_the_class_of_a_row_of_weight_0_is_not_counted():
    assert metrics.auc_score([0, 5, 1], [1, 9, 2], sample_weight=[1, 0, 1]) == 1.0
    with pytest.raises(ValueError, match="an AUC is for two classes"):
        metrics.auc_score([0, 5, 1], [1, 9, 2], sample_weight=[1, 1, 1])

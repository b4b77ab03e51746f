"""Rows of weight 0 count in no measure, present or future."""

from inspect import signature

import numpy as np
import pytest

from rankwise import metrics
from rankwise.testing._weights import weighted, with_absent_rows

MEASURES = [
    name
    for name in metrics.__all__
    if name.endswith(("_score", "_loss"))
    and "sample_weight" in signature(vars(metrics)[name]).parameters
]
OPTIONS = {"power": (1, 2), "pair_weight": ("uniform", "magnitude"), "ties": ("wrong", "half")}


def measured(measure, rows, options, with_queries):
    given = {"qid": rows.qid} if with_queries else {}
    return measure(rows.y, rows.X[:, 0], sample_weight=rows.weight, **given, **options)


def check_zero_weight(measure, **options):
    rows = weighted()
    for y in (rows.y, rows.y > 2):
        some = rows._replace(y=y.astype(np.int64))
        everything, _ = with_absent_rows(some)
        for with_queries in (False, True):
            try:
                expected = measured(measure, some, options, with_queries)
            except ValueError:
                continue  # a measure of two classes
            assert measured(measure, everything, options, with_queries) == expected


def test_the_measures_are_known():
    assert len(MEASURES) >= 8


@pytest.mark.parametrize("name", MEASURES)
def test_rows_of_weight_0_are_absent(name):
    measure = vars(metrics)[name]
    check_zero_weight(measure)
    for option, values in OPTIONS.items():
        for value in values if option in signature(measure).parameters else ():
            check_zero_weight(measure, **{option: value})


def test_the_class_of_a_row_of_weight_0_is_not_counted():
    assert metrics.auc_score([0, 5, 1], [1, 9, 2], sample_weight=[1, 0, 1]) == 1.0
    with pytest.raises(ValueError, match="an AUC is for two classes"):
        metrics.auc_score([0, 5, 1], [1, 9, 2], sample_weight=[1, 1, 1])

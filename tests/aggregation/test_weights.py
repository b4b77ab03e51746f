"""Rankings of weight 0 are as if they were not there."""

from inspect import signature

import numpy as np
import pytest

from rankwise import aggregation
from rankwise.testing.strategies import draw_rankings

FUNCTIONS = {name: value for name, value in vars(aggregation).items() if callable(value)}
WEIGHTED = [
    name
    for name in aggregation.__all__
    if name in FUNCTIONS and "weights" in signature(FUNCTIONS[name]).parameters
]
ABSENT = [[(2, 1), 0], [0, 99], [77], [5, 5], []]


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("unlisted", ["ignored", "last"])
def test_rankings_of_weight_0_are_absent(name, unlisted):
    function = FUNCTIONS[name]
    options = {"unlisted": unlisted}
    if "random_state" in signature(function).parameters:
        options["random_state"] = 0
    order = [list(range(4))] if "order" in signature(function).parameters else []
    random = np.random.default_rng(0)
    for _ in range(20):
        rankings = draw_rankings(random, 4, 3, ties=True, partial=False)
        others = [ABSENT[0], rankings[0], *ABSENT[1:3], *rankings[1:], *ABSENT[3:]]
        expected = function(*order, rankings, weights=[1, 2, 5], **options)
        found = function(*order, others, weights=[0, 1, 0, 0, 2, 5, 0, 0], **options)
        assert repr(found) == repr(expected)

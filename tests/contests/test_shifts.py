"""Ratings of contests: where they start and what a unit is makes no difference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.contests import BradleyTerry, EloRating, PlackettLuce

random = np.random.default_rng(0)
FIRST, SECOND = random.integers(0, 6, 60), random.integers(6, 12, 60)
WON = random.integers(0, 3, 60) / 2


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
def test_start(offset):
    expected = EloRating(start=0.0).fit(FIRST, SECOND, WON)
    found = EloRating(start=offset).fit(FIRST, SECOND, WON)
    assert_allclose(found.ratings_ - offset, expected.ratings_, atol=1e-14 * offset)


@pytest.mark.parametrize("scale", [2.0**-498, 2.0**-27, 2.0**27, 2.0**498])
def test_unit(scale):
    expected = EloRating(32.0, scale=400.0, start=0.0).fit(FIRST, SECOND, WON)
    found = EloRating(32.0 * scale, scale=400.0 * scale, start=0.0).fit(FIRST, SECOND, WON)
    assert_allclose(found.ratings_, scale * expected.ratings_, rtol=1e-12)


@pytest.mark.parametrize("weight", [1e-100, 1e-12, 7e-9, 2.0])
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
def test_weight(weight, ties):
    model = BradleyTerry(prior=None, ties=ties)
    first, second = FIRST[:40] % 3, 3 + SECOND[:40] % 3
    expected = model.fit(first, second, WON[:40]).strengths_
    found = model.fit(first, second, WON[:40], sample_weight=np.full(40, weight)).strengths_
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weight", [1e-100, 1e-12, 7e-9, 1e5])
def test_weight_of_rankings(weight):
    model, rankings = PlackettLuce(prior=None), [[0, 1, 2], [2, 1], [1, 0], [2, 0, 1]]
    expected = model.fit(rankings).strengths_
    found = model.fit(rankings, sample_weight=np.full(4, weight)).strengths_
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

"""Intervals on held-out rows, beside that of a mean, and a model compared with itself."""

import numpy as np
import pytest
from scipy.stats import t as student

from rankwise.comparison.held_out import _draw, measure_held_out
from rankwise.comparison.measures import ACCURACY, PAIRS, RANK_LOSS, Answers


@pytest.fixture
def guessed():
    random = np.random.default_rng(0)
    y = random.integers(1, 6, 2000).astype(float)
    noise = random.normal(size=(2, 2000)) * [[1.0], [1.5]]
    return y, [Answers(y + e, np.clip(np.rint(y + e), 1, 5)) for e in noise]


def test_the_interval_of_a_mean_is_the_usual_one(guessed):
    y, (one, _) = guessed
    (found,) = measure_held_out([RANK_LOSS], y, [one], None)
    assert found.values[0] == np.abs(y - one.ranks).mean()
    low, high = found.intervals[0]
    half = 1.96 * np.abs(y - one.ranks).std() / np.sqrt(len(y))
    assert (high - low) / 2 == pytest.approx(half, rel=0.15)
    assert (low + high) / 2 == pytest.approx(found.values[0], abs=half / 5)


def test_a_model_against_itself_and_against_a_worse_one(guessed):
    y, (one, worse) = guessed
    for same in measure_held_out([RANK_LOSS, ACCURACY, PAIRS], y, [one, one], None):
        assert (same.difference, same.interval, same.pvalue) == (0.0, (0.0, 0.0), 1.0)
    loss, right, pairs = measure_held_out([RANK_LOSS, ACCURACY, PAIRS], y, [one, worse], None)
    assert loss.interval[0] > 0
    assert right.interval[1] < 0
    assert pairs.interval[1] < 0
    assert max(loss.pvalue, right.pvalue, pairs.pvalue) < 0.01


def test_lists_are_drawn_whole():
    qid = np.array([2, 0, 2, 1, 0, 2])
    random = np.random.default_rng(0)
    for _ in range(20):
        index, lists = _draw(6, qid, random)
        for one in range(3):
            mine = index[lists == one]
            (q,) = np.unique(qid[mine])
            assert sorted(mine) == np.flatnonzero(qid == q).tolist()


def test_rows_that_can_not_be_compared_give_no_number():
    (found,) = measure_held_out([PAIRS], np.ones(5), [Answers(np.arange(5.0), None)], None)
    assert np.isnan(found.values[0])
    assert np.isnan(found.intervals[0]).all()


@pytest.mark.parametrize("n_lists", [1, 2])
def test_few_lists_are_no_evidence(n_lists):
    y = np.tile([1.0, 2.0, 3.0, 4.0], n_lists)
    good, bad = Answers(y, y), Answers(-y, 5 - y)
    found = measure_held_out([PAIRS], y, [bad, good], np.repeat(np.arange(n_lists), 4))[0]
    assert found.difference == 1.0
    assert found.pvalue == (1.0 if n_lists == 1 else pytest.approx(2 * student.sf(np.sqrt(2), 1)))
    assert found.interval[0] < 0 or n_lists == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_lists"), [(10, 0), (50, 0), (20, 2), (30, 3), (50, 5), (100, 10)]
)
def test_models_that_are_alike_are_rarely_told_apart(n_rows, n_lists, monkeypatch):
    monkeypatch.setattr("rankwise.comparison.held_out._MOST", 200)
    random, n = np.random.default_rng(0), 500
    qid = np.arange(n_rows) % n_lists if n_lists else None
    rejected = np.zeros(2)
    for _ in range(n):
        truth = random.normal(size=n_rows)
        y = 1.0 + np.searchsorted([-0.7, 0.0, 0.7], truth)
        answers = []
        for _ in range(2):
            scores = truth + random.normal(size=n_rows)
            answers.append(Answers(scores, 1.0 + np.searchsorted([-0.7, 0.0, 0.7], scores)))
        found = measure_held_out([RANK_LOSS, ACCURACY], y, answers, qid)
        rejected += [measure.pvalue < 0.05 for measure in found]
    assert rejected.max() / n <= 0.07

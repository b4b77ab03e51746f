"""Intervals on held-out rows, beside that of a mean, and a model compared with itself."""

import numpy as np
import pytest
from scipy.stats import t as student

from rankwise.comparison.held_out import _draw, measure_held_out
from rankwise.comparison.measures import ACCURACY, DIFFERENCE, MAE, NDCG, PAIRS, Answers


@pytest.fixture
def guessed():
    random = np.random.default_rng(0)
    y = random.integers(1, 6, 2000).astype(float)
    noise = random.normal(size=(2, 2000)) * [[1.0], [1.5]]
    return y, [Answers(y + e, np.clip(np.rint(y + e), 1, 5)) for e in noise]


def test_the_interval_of_a_mean_is_the_usual_one(guessed):
    y, (one, _) = guessed
    (found,) = measure_held_out([MAE], y, [one], None)
    assert found.values[0] == np.abs(y - one.ranks).mean()
    low, high = found.intervals[0]
    half = 1.96 * np.abs(y - one.ranks).std() / np.sqrt(len(y))
    assert (high - low) / 2 == pytest.approx(half, rel=0.15)
    assert (low + high) / 2 == pytest.approx(found.values[0], abs=half / 5)


def test_a_model_against_itself_and_against_a_worse_one(guessed):
    y, (one, worse) = guessed
    for same in measure_held_out([MAE, ACCURACY, PAIRS], y, [one, one], None):
        assert (same.difference, same.interval, same.pvalue) == (0.0, (0.0, 0.0), 1.0)
    loss, right, pairs = measure_held_out([MAE, ACCURACY, PAIRS], y, [one, worse], None)
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


@pytest.mark.parametrize("n_lists", [0, 1, 2])
def test_few_units_without_a_mistake_are_not_sure(n_lists):
    y = np.tile([1.0, 2.0, 3.0, 4.0], max(1, n_lists))
    qid = np.repeat(np.arange(n_lists), 4) if n_lists else None
    measures = [PAIRS, NDCG] if n_lists else [MAE, ACCURACY, PAIRS]
    for found in measure_held_out(measures, y, [Answers(y, y)], qid):
        low, high = found.intervals[0]
        assert low <= found.values[0] <= high
        assert high - low > 0.5


CUTS = [-0.7, 0.0, 0.7]


def draw(random, n_rows, n_lists, n_models=1):
    """Return grades, the guesses of equally good models, and lists of which some are harder."""
    truth, noise, qid = random.normal(size=n_rows), np.full(n_rows, 0.5), None
    if n_lists:
        qid = np.arange(n_rows) % n_lists
        noise *= np.exp(0.5 * random.normal(size=n_lists))[qid]
    scores = truth + noise * random.normal(size=(n_models, n_rows))
    answers = [Answers(one, 1.0 + np.searchsorted(CUTS, one)) for one in scores]
    return 1.0 + np.searchsorted(CUTS, truth), answers, qid


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_lists"), [(5, 0), (10, 0), (50, 0), (20, 2), (30, 3), (50, 5), (100, 10)]
)
def test_intervals_of_few_units_hold_the_truth(n_rows, n_lists, monkeypatch):
    """Simulate 400 samples, whose standard error at a coverage of 95 % is 1.1 %.

    A true coverage below 90.2 % is found with a probability of 97.5 %.
    """
    monkeypatch.setattr("rankwise.comparison.held_out._MOST", 100)
    random, n = np.random.default_rng(0), 400
    measures = [NDCG, PAIRS] if n_lists else [MAE, ACCURACY, PAIRS, DIFFERENCE]
    y, (one,), qid = draw(random, 4_000 * n_rows // max(1, n_lists), 4_000 * bool(n_lists))
    truth = np.array([measure.of(y, one, qid) for measure in measures])
    covered = np.zeros(len(measures))
    for _ in range(n):
        found = measure_held_out(measures, *draw(random, n_rows, n_lists))
        low, high = np.array([measure.intervals[0] for measure in found]).T
        covered += (low <= truth) & (truth <= high)
    assert covered.min() / n >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_lists"), [(10, 0), (20, 0), (50, 0), (20, 2), (30, 3), (50, 5), (100, 10)]
)
def test_models_that_are_alike_are_rarely_told_apart(n_rows, n_lists, monkeypatch):
    """Simulate 1,500 samples, whose standard error at a level of 5 % is .56 %.

    A true size above 8.3 % is found with a probability of 97.5 %.
    """
    monkeypatch.setattr("rankwise.comparison.held_out._MOST", 200)
    random, n = np.random.default_rng(0), 1_500
    rejected = np.zeros(2)
    for _ in range(n):
        y, answers, qid = draw(random, n_rows, n_lists, 2)
        found = measure_held_out([MAE, ACCURACY], y, answers, qid)
        rejected += [measure.pvalue < 0.05 for measure in found]
    assert rejected.max() / n <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_lists"), [(10, 0), (20, 0), (50, 0), (20, 2)])
def test_measures_of_pairs_rarely_tell_models_apart_that_are_alike(n_rows, n_lists, monkeypatch):
    """Simulate 2,000 samples of rows, or 800 of lists, whose standard errors are .5 % and .8 %."""
    monkeypatch.setattr("rankwise.comparison.held_out._MOST", 200)
    random, n = np.random.default_rng(7), 800 if n_lists else 2_000
    measures, rejected = [NDCG, PAIRS] if n_lists else [PAIRS, DIFFERENCE], np.zeros(2)
    for _ in range(n):
        found = measure_held_out(measures, *draw(random, n_rows, n_lists, 2))
        rejected += [measure.pvalue < 0.05 for measure in found]
    assert rejected.max() / n <= 0.07

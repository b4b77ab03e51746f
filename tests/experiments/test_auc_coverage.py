import numpy as np
import pytest

from experiments import auc_coverage
from experiments.auc_coverage import AUCS, METHODS, SCORES
from rankwise.metrics import auc_interval, auc_score


def of_all(report):
    """Return the least and the mean coverage of each method over all cells, in percent."""
    rows = report.tables[0].rows[-len(METHODS) :]
    return {row[1]: (float(row[2][:-1]), float(row[3][:-1])) for row in rows}


@pytest.fixture(scope="module")
def report():
    return auc_coverage(n_trials=400, sizes=((10, 10), (10, 60), (60, 10)), aucs=(0.6, 0.9, 0.98))


def test_default_keeps_its_promise(report):
    """Simulate 400 samples a cell, whose standard error at a coverage of 96 % is 1 %."""
    least, mean = of_all(report)["score"]
    assert least >= 93
    assert 94 <= mean <= 99  # exact intervals of few rows err on the safe side


def test_others_do_not(report):
    found = of_all(report)
    assert found["delong"][0] < 70
    assert found["newcombe"][0] < 92
    assert len(report.findings) == 3
    assert set(report.figures) == {"auc_coverage"}


@pytest.mark.slow
def test_default_keeps_its_promise_in_every_cell():
    """Simulate 4,000 samples a cell, whose standard error at a coverage of 95 % is .34 %."""
    least, mean = of_all(auc_coverage(n_trials=4_000))["score"]
    assert least >= 93
    assert 94 <= mean <= 98.5  # exact intervals of few rows err on the safe side


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("auc", [AUCS[0], AUCS[-1]])
def test_the_truth_is_the_truth(scores, auc):
    pos, neg = SCORES[scores](auc)(40_000, 40_000, np.random.default_rng(0))
    y = np.repeat([1, 0], 40_000)
    s = np.concatenate([pos, neg])
    low, high = auc_interval(y, s, level=0.999)
    assert low < auc < high
    assert abs(auc_score(y, s) - auc) < 0.01


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match="aucs="):
        auc_coverage(aucs=(0.4,))
    with pytest.raises(ValueError, match="n_trials=0"):
        auc_coverage(n_trials=0)

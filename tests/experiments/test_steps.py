import numpy as np
import pytest

from experiments import steps
from experiments._trials import linear_stream
from experiments.steps import MODELS, STREAMS, _mislabelled
from rankwise.bounds import ranking_margin
from rankwise.papers import prank
from rankwise.reports import FORMATS

SIZES = {"n_rounds": 1_000, "n_trials": 3, "n_test": 300}


@pytest.fixture(scope="module")
def report():
    return steps(**SIZES)


def test_report_has_every_step_and_stream(report):
    for table in report.tables:
        assert [row[0] for row in table.rows] == list(MODELS)
        assert table.columns[1:] == list(STREAMS)
    assert len(report.findings) == len(STREAMS) + 1
    assert set(report.figures) == {"steps"}


def test_losses_less_the_base_agree_with_the_losses(report):
    _, test, paired = report.tables
    base = next(row for row in test.rows if row[0] == "perceptron, averaged")
    for row, less in zip(test.rows, paired.rows, strict=True):
        for own, of_base, difference in zip(row[1:], base[1:], less[1:], strict=True):
            loss, base_loss, shown = (float(cell.split()[0]) for cell in (own, of_base, difference))
            assert shown == pytest.approx(loss - base_loss, abs=0.002)


def test_large_margins_pay_where_there_is_a_gap(report):
    online = {row[0]: float(row[1].split()[0]) for row in report.tables[0].rows}
    assert online["pa, last"] < online["romma, last"] < online["perceptron, last"]


def test_a_margin_keeps_ranks_and_leaves_a_gap():
    X, y = linear_stream(500, 0, n_features=5)
    moved, ranks = linear_stream(500, 0, n_features=5, margin=0.1)
    assert np.array_equal(y, ranks)
    assert np.allclose(np.linalg.norm(moved - X, axis=1), 0.1)
    model = prank(update="pa", epochs=500).fit(moved, ranks)
    assert ranking_margin(moved, ranks, model.coef_, model.thresholds_) > 0.02
    assert np.bincount(y, minlength=6)[1:].min() > 70


def test_some_labels_are_wrong():
    _, clean = linear_stream(5_000, 0, n_features=20, margin=0.1)
    _, wrong = _mislabelled(5_000, 0)
    assert 0.02 < np.mean(clean != wrong) < 0.06


def test_no_trials_are_refused():
    with pytest.raises(ValueError, match="n_trials=0"):
        steps(**{**SIZES, "n_trials": 0})


def test_same_seed_same_report(report):
    assert FORMATS["json"](steps(**SIZES)) == FORMATS["json"](report)

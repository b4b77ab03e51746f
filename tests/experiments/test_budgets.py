import numpy as np
import pytest

from experiments import budgets
from experiments.budgets import RULES, STREAMS, forgetful
from rankwise.papers import prank
from rankwise.reports import FORMATS

SIZES = {"n_rounds": 1_200, "n_trials": 2, "sizes": (5, 20)}


@pytest.fixture(scope="module")
def report():
    return budgets(**SIZES)


def test_report_has_every_rule_and_stream(report):
    assert len(report.tables) == len(report.findings) == len(STREAMS)
    for table in report.tables:
        assert [row[0] for row in table.rows] == list(RULES)
        assert table.columns == ["rule", "B = 5", "B = 20"]
    assert set(report.figures) == {"budgets"}


def test_taking_over_is_better_than_dropping(report):
    for table in report.tables:
        last = [float(row[-1].split()[0]) for row in table.rows]
        assert last[0] < min(last[1:])


@pytest.mark.parametrize("rule", RULES[1:])
def test_nothing_is_dropped_within_the_budget(rule):
    X, y = STREAMS["saddle"][0](300, 0)
    model = prank(kernel="rbf", gamma=5.0, label_order=range(1, 6))
    guesses = model.partial_fit_predict(X, y)
    loss = forgetful(X, y, gamma=5.0, size=300, rule=rule, seed=0)
    assert loss == pytest.approx(np.abs(guesses - y).mean())


@pytest.mark.parametrize("sizes", [{"n_trials": 0}, {"n_rounds": 0}, {"sizes": ()}])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match="must be 1 or more"):
        budgets(**{**SIZES, **sizes})


def test_same_seed_same_report(report):
    assert FORMATS["json"](budgets(**SIZES)) == FORMATS["json"](report)

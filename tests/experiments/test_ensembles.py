import pytest

from experiments import ensembles
from experiments.ensembles import MODELS, TAUS


@pytest.fixture(scope="module")
def report():
    return ensembles(n_rounds=2_000, n_trials=4, n_test=200)


def test_report_has_every_model(report):
    assert {row[0] for row in report.tables[0].rows} == set(MODELS)
    assert {f"BPM {tau}" for tau in TAUS} <= set(MODELS)
    assert len(report.findings) == 6
    assert set(report.figures) == {"ensembles"}


def test_members_are_better_than_one(report):
    order = [row[0] for row in report.tables[0].rows]
    assert all(order.index(f"BPM {tau}") < order.index("PRank") for tau in TAUS)


def test_several_lengths_have_a_table_each(report):
    both = ensembles(n_rounds=(300, 2_000), n_trials=4, n_test=200)
    assert both.tables[1] == report.tables[0]
    assert both.tables[0] == ensembles(n_rounds=300, n_trials=4, n_test=200).tables[0]
    assert both.findings[6:] == [f"2,000 rounds. {finding}" for finding in report.findings]
    assert set(both.figures) == {"ensembles", "ensembles-2000"}


@pytest.mark.slow
def test_what_the_paper_says_of_its_table():
    test = {row[0]: float(row[-2].split()[0]) for row in ensembles(n_trials=40).tables[0].rows}
    combinations = [f"{name} {tau}" for name in ("BPM", "bagging", "OAP voted") for tau in TAUS]
    assert max(test[name] for name in combinations) < test["PRank"]
    assert min(combinations, key=test.get) == "BPM 0.3"
    assert test["PRank, averaged"] < test["BPM 0.3"]


@pytest.mark.slow
def test_long_streams_bring_the_bayes_point_below_a_fifth():
    rows = ensembles(n_rounds=50_000, n_trials=5).tables[0].rows
    assert float(next(row[-2] for row in rows if row[0] == "BPM 0.3").split()[0]) < 0.2

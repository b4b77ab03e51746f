import pytest

from experiments import top
from experiments.top import LEARNERS, MEASURES, PRECISION, _learn, _split, decoys
from rankwise.metrics import auc_score, precision_at_top_score

SMALL = {"n_rows": 400, "n_trials": 2}


@pytest.fixture(scope="module")
def report():
    return top(**SMALL)


def named(report, title):
    (table,) = (table for table in report.tables if table.title == title)
    return {row[0]: dict(zip(LEARNERS, row[1:], strict=True)) for row in table.rows}


@pytest.mark.slow
def test_report_has_every_set_and_learner(report):
    assert [table.title for table in report.tables] == list(MEASURES)
    assert len(named(report, "AUC")) >= 5
    assert len(report.findings) == 4 * 3 + 1
    for finding in report.findings[:-1]:
        assert "better on" in finding
        assert "undecided on" in finding


@pytest.mark.slow
def test_precision_is_that_of_unseen_rows(report):
    found = []
    for seed in range(2):
        train, test = _split(*decoys(400, seed), 0.5, seed)
        scores = _learn("RankSVM", *train, seed)(test[0])
        found.append(precision_at_top_score(test[1], scores, tau=0.05))
    assert named(report, PRECISION)["decoys"]["RankSVM"].startswith(f"{sum(found) / 2:.3f} ±")


def test_decoys_set_the_auc_against_the_top():
    X, y = decoys(20_000, 0)
    assert auc_score(y, X[:, 0]) > auc_score(y, X[:, 1]) + 0.1
    first, second = (precision_at_top_score(y, X[:, f], tau=0.05) for f in (0, 1))
    assert second == 1
    assert first < 0.3
    assert X[y, 1].mean() > X[~y, 1].max()


@pytest.mark.parametrize(
    ("wrong", "message"), [({"n_trials": 0}, "n_trials=0"), ({"n_rows": 9}, "400")]
)
def test_wrong_sizes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        top(**{**SMALL, **wrong})


@pytest.mark.slow
def test_the_top_is_won_on_decoys():
    report = top(n_trials=3)
    assert top(n_trials=3) == report
    rows = named(report, PRECISION)["decoys"]
    precision = {learner: float(cell.split()[0]) for learner, cell in rows.items()}
    assert min(precision["TopPush"], precision["AccuracyAtTop"]) > precision["RankSVM"] + 0.05

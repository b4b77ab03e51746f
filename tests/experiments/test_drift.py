import numpy as np
import pytest

from experiments import drift
from experiments.drift import ANEW, MODELS, _online, _stream, jump, turn
from rankwise.model_selection import progressive_validation
from rankwise.reports import FORMATS

SIZES = {"n_rounds": 3_000, "n_trials": 3, "window": 300}


@pytest.fixture(scope="module")
def report():
    return drift(**SIZES)


def losses(table, column):
    place = table.columns.index(column)
    return {row[0]: float(row[place].split()[0]) for row in table.rows}


def test_report_has_every_model(report):
    for table in report.tables:
        assert {row[0] for row in table.rows} == set(MODELS)
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert [table.columns[2] for table in report.tables] == ["after", "half way"]
    assert len(report.findings) == 5
    assert set(report.figures) == {"drift"}


def test_the_average_does_not_follow_and_the_members_do(report):
    for table in report.tables:
        before, late = losses(table, "before"), losses(table, "late")
        assert late["PRank, averaged"] > before["PRank, averaged"] + 0.3
        for name in ("PRank", "BPM 0.3", "Widrow-Hoff 0.05"):
            assert late[name] < before[name] + 0.1
    assert "PRank, averaged (by" in report.findings[0]
    assert "BPM 0.3 (by" not in report.findings[0]


def test_losses_are_those_of_the_windows(report):
    trials = [
        progressive_validation(MODELS["PRank"], *_stream(jump(3_000), seed)).losses
        for seed in range(3)
    ]
    table = report.tables[0]
    for column, rounds in {
        "before": slice(1_200, 1_500),
        "after": slice(1_500, 1_800),
        "late": slice(2_700, 3_000),
        "all": slice(None),
    }.items():
        assert losses(table, column)["PRank"] == pytest.approx(
            np.mean([of[rounds].mean() for of in trials]), abs=6e-4
        )


def test_the_truth_jumps_or_turns():
    assert np.unique(jump(600), return_counts=True)[1].tolist() == [300, 300]
    angles = turn(600)
    assert np.all(angles[:200] == 0)
    assert np.all(np.diff(angles[200:]) > 0)
    assert angles[-1] == pytest.approx(np.pi, abs=0.01)


def test_anew_is_a_new_model_at_each_start():
    X, y = _stream(jump(500), 0)
    model = MODELS[ANEW]
    parts = [
        progressive_validation(model, X[s], y[s]).losses for s in (slice(200), slice(200, 500))
    ]
    assert np.array_equal(_online(model, X, y, [0, 200]), np.concatenate(parts))


@pytest.mark.parametrize(
    ("sizes", "message"), [({"n_trials": 0}, "n_trials=0"), ({"window": 501}, "a sixth")]
)
def test_wrong_sizes_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        drift(**{**SIZES, **sizes})


def test_same_seed_same_report(report):
    assert FORMATS["json"](drift(**SIZES)) == FORMATS["json"](report)

import numpy as np
import pytest

from experiments import sizes
from experiments.sizes import N_MEMBERS, NAMES, STREAMS, TAUS
from rankwise.metrics import mean_rank_loss
from rankwise.papers import oap_bpm

SMALL = {"rows": (50, 100), "member_rows": (50,), "n_trials": 2, "n_test": 200}


@pytest.fixture(scope="module")
def report():
    return sizes(**SMALL)


def named(report, part):
    (table,) = (table for table in report.tables if part in table.title)
    return {row[0]: row[1:] for row in table.rows}


def test_report_has_every_size(report):
    assert len(report.tables) == 3 + 2 + 3 + 1
    assert all(len(row) == len(table.columns) for table in report.tables for row in table.rows)
    for stream in STREAMS:
        title = f"Test rank loss, {stream}"
        (table,) = (table for table in report.tables if table.title == title)
        assert [row[0] for row in table.rows] == NAMES
    assert len(named(report, "50 rows, saddle")) == 2 * len(N_MEMBERS)
    assert len(report.findings) == 5
    assert set(report.figures) == {"sizes-rows", "sizes-members", "sizes-time"}


def test_the_grid_has_the_members_of_the_rows(report):
    by_rows, grid = named(report, "loss, saddle"), named(report, "50 rows, saddle")
    for way in ("BPM", "bagging"):
        for tau in (0.3, 0.6):
            assert grid[f"{way}, 100"][TAUS.index(tau)] == by_rows[f"{way} {tau}"][0]


def test_losses_are_those_of_unseen_rows(report):
    losses = []
    for seed in range(2):
        X, y = STREAMS["linear"](300, seed)
        model = oap_bpm(3, tau=0.6, combine="bagging", label_order=[1, 2, 3, 4, 5], random_state=0)
        model.fit(X[:50], y[:50])
        losses.append(mean_rank_loss(y[100:], model.predict(X[100:]), labels=[1, 2, 3, 4, 5]))
    shown = next(
        row[1 + TAUS.index(0.6)]
        for table in report.tables
        if table.title.endswith("50 rows, linear")
        for row in table.rows
        if row[0] == "bagging, 3"
    )
    assert shown.startswith(f"{np.mean(losses):.3f} ±")


@pytest.mark.slow
def test_same_seed_same_losses(report):
    again = sizes(**SMALL)
    for one, other in zip(report.tables, again.tables, strict=True):
        assert one == other or one.title.startswith("Time")


@pytest.mark.parametrize(
    ("wrong", "message"), [({"n_trials": 0}, "n_trials=0"), ({"member_rows": (70,)}, "among")]
)
def test_wrong_sizes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        sizes(**{**SMALL, **wrong})


@pytest.mark.slow
def test_members_win_with_few_rows_of_many_features_and_averaging_with_many():
    report = sizes(rows=(500, 10_000), member_rows=(500,))
    few, many = named(report, "positive where members win")["linear: BPM 0.3"]
    assert float(few.split()[0]) > float(few.split()[-1])
    assert -float(many.split()[0]) > float(many.split()[-1])

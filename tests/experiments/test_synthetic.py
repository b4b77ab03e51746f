import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone

from experiments import EXPERIMENTS, synthetic
from experiments.synthetic import CENTRED, MODELS
from rankwise.datasets import make_herbrich
from rankwise.metrics import mean_rank_loss
from rankwise.ordinal.online_kernel import polynomial_map
from rankwise.reports import FORMATS


@pytest.fixture(scope="module")
def report():
    return synthetic(n_rounds=1_500, n_centred=1_200, n_trials=3, n_test=200)


def test_report_has_every_model_and_claim(report):
    losses, per_rank, _ = report.tables
    assert {row[0] for row in losses.rows} == set(MODELS) == {row[0] for row in per_rank.rows}
    assert all(len(row) == len(losses.columns) for row in losses.rows)
    assert len(report.findings) == 5
    assert set(report.figures) == {"online-loss", "projection", "centred"}


def test_averaging_wins_and_the_perceptron_trails(report):
    order = [row[0] for row in report.tables[0].rows]
    assert order[0] == "PRank, averaged"
    assert order.index("PRank") < order.index("MCP, uniform")


def test_the_rate_1_does_not_diverge_if_points_are_centred(report):
    losses = {"PRank": [], "Widrow-Hoff 1.0": []}
    for seed in range(3):
        X, y = make_herbrich(1_400, random_state=seed)
        for found, model in zip(losses.values(), CENTRED.values(), strict=False):
            said = clone(model).partial_fit_predict(
                polynomial_map(X - 0.5, degree=2)[:1_200], y[:1_200]
            )
            found.append(np.abs(said - y[:1_200]))
    rows = {row[0]: row[1:] for row in report.tables[2].rows}
    for name, found in losses.items():
        for cell, n in zip(rows[name], (100, 1_000, 1_200), strict=True):
            assert cell.startswith(f"{np.mean(found, axis=0)[:n].mean():.3f} ±")
    early, late = ({name: float(row[k].split()[0]) for name, row in rows.items()} for k in (0, -1))
    assert min(early, key=early.get) == "Widrow-Hoff 1.0"
    assert min(late, key=late.get) == "PRank"
    (said,) = (finding for finding in report.findings if "points less 1/2" in finding)
    assert "Widrow-Hoff is first; PRank is best in the end" in said
    assert "from round" in said


def test_test_losses_are_those_of_unseen_rows(report):
    losses = []
    for seed in range(3):
        X, y = make_herbrich(1_700, random_state=seed)
        X = polynomial_map(X, degree=2)
        model = clone(MODELS["PRank"]).fit(X[:1_500], y[:1_500])
        losses.append(mean_rank_loss(y[1_500:], model.predict(X[1_500:]), labels=[1, 2, 3, 4, 5]))
    (shown,) = (row[-2] for row in report.tables[0].rows if row[0] == "PRank")
    assert shown.startswith(f"{np.mean(losses):.3f} ±")


def test_no_trials_are_refused():
    with pytest.raises(ValueError, match="n_trials=0"):
        synthetic(n_trials=0)


def test_same_seed_same_report(report):
    again = synthetic(n_rounds=1_500, n_centred=1_200, n_trials=3, n_test=200)
    assert FORMATS["json"](again) == FORMATS["json"](report)
    plt.close("all")


def test_saving_is_all_or_nothing(report, tmp_path, monkeypatch):
    paths = report.save(tmp_path / "new")
    assert sorted(p.name for p in paths) == [
        "centred.png",
        "online-loss.png",
        "projection.png",
        "report.csv",
        "report.html",
        "report.json",
        "report.md",
    ]
    assert all(p.stat().st_size > 500 for p in paths)
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(plt.Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save(tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_registry():
    assert EXPERIMENTS["synthetic"] is synthetic
    assert all(name == function.__name__ for name, function in EXPERIMENTS.items())

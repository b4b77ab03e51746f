import numpy as np
import pytest

from experiments import adaboost
from experiments.adaboost import NAMES, base_learners, boost, draw, optimum


def test_adaboost_by_its_definition():
    X, y = draw(60, np.random.default_rng(1))
    G = base_learners(X, constant=True)
    assert set(np.unique(G)) == {-1.0, 1.0}
    path = boost(G, y, 7)
    sign, weight, coef = np.where(y == 1, 1, -1), np.full(60, 1 / 60), np.zeros(G.shape[1])
    for t in range(7):
        wrong = np.array([weight[G[:, j] != sign].sum() for j in range(G.shape[1])])
        j = int(np.abs(0.5 - wrong).argmax())
        alpha = 0.5 * np.log((1 - wrong[j]) / wrong[j])
        coef[j] += alpha
        weight *= np.exp(-alpha * sign * G[:, j])
        weight /= weight.sum()
        np.testing.assert_allclose(path[:, t], coef)


def test_the_optimum_has_no_slope():
    X, y = draw(90, np.random.default_rng(2))
    best = optimum(X, y)
    G = base_learners(X, constant=False)
    random = np.random.default_rng(0)
    for _ in range(20):
        s = G @ (0.3 * random.standard_normal(G.shape[1]))
        pairs = np.exp(-(s[y == 1] - s[y == 0][:, None]))
        assert pairs.mean() > best


def test_report():
    report = adaboost(n_rows=120, n_test=200, n_rounds=400)
    rows = report.tables[0].rows
    last = {row[0]: row for row in rows if row[1] == "400"}
    assert list(last) == list(NAMES)
    above = {name: float(row[3].removeprefix("under ")) for name, row in last.items()}
    assert above[NAMES[0]] < 1e-3
    assert above[NAMES[1]] < 1e-2 < above[NAMES[2]]
    assert float(last[NAMES[1]][4]) == pytest.approx(1, abs=0.01)
    assert "AdaBoost achieves RankBoost's optimum" in report.findings[0]
    assert " So: agrees" in report.findings[0]
    early = adaboost(n_rows=120, n_test=200, n_rounds=5)
    assert early.findings[0].endswith(" So: not met in these rounds.")
    with pytest.raises(ValueError, match="n_rounds=0"):
        adaboost(n_rounds=0)
    with pytest.raises(ValueError, match="n_rows=29 must be 30 or more"):
        adaboost(n_rows=29)

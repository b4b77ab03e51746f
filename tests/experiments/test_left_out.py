import numpy as np
import pytest

from experiments import left_out
from experiments.left_out import _finding, draw, pair_costs
from rankwise.magnitude import MPRank
from rankwise.model_selection import leave_pair_out


def test_pair_costs_are_means_over_pairs():
    y, s = np.array([1.0, 2, 2, 4]), np.array([0.5, 0.5, 3, 1])
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    squared = np.mean([((s[j] - s[i]) - (y[j] - y[i])) ** 2 for i, j in pairs])
    wrong = np.mean([y[j] > y[i] and s[j] <= s[i] for i, j in pairs])
    np.testing.assert_allclose(pair_costs(y, s - s[:, None]), [squared, wrong])


def test_what_is_left_out_is_a_model_of_two_rows_less():
    X, y = draw(8, 0, np.random.default_rng(0))
    left = leave_pair_out(MPRank(30.0, kernel="rbf"), X, y).differences
    model = MPRank(30.0 * 6 / 8, kernel="rbf").fit(X[2:], y[2:])
    np.testing.assert_allclose(np.diff(model.predict(X[:2]))[0], left[0, 1])


def test_a_bias_is_not_said_to_agree():
    found = np.random.default_rng(0).normal(size=(50, 3, 4, 2))
    assert " So: agrees" in _finding(found)
    found[:, :2, 0] += 5
    assert "holds 0 in 2 of 6 cells. So: differs" in _finding(found)


def test_report():
    report = left_out(sizes=(5, 9), n_trials=80, n_test=40)
    assert [row[0] for table in report.tables for row in table.rows] == ["5", "9"] * 2
    for row in report.tables[0].rows:
        mean, _, half = row[3].split()
        assert abs(float(mean)) <= 2 * float(half)
    # Training errors are far too small.
    assert all(float(row[5].split()[0]) < -1 for row in report.tables[0].rows)
    assert report.findings[0].startswith("Paper 4: ")
    assert " So: agrees" in report.findings[0]
    with pytest.raises(ValueError, match=r"sizes=\(3,\) must be 4 or more"):
        left_out(sizes=(3,))

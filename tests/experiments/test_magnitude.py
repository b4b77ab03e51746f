import matplotlib.pyplot as plt
import numpy as np
import pytest

from experiments import magnitude
from experiments._data import embedded_films
from experiments.magnitude import approximate_leave_pair_out, reviewer
from rankwise._core.kernels import Kernel
from rankwise.magnitude import MPRank
from rankwise.model_selection import leave_pair_out


@pytest.fixture(scope="module")
def report():
    yield magnitude(m=100, sizes=(50, 100), n_trials=2, n_passes=60, data=embedded_films())
    plt.close("all")


@pytest.mark.parametrize("table", [0, 1])
def test_online_meets_batch(report, table):
    rows = {row[0]: row for row in report.tables[table].rows}
    last, batch = rows["60"], rows["batch"]
    assert float(last[1].rstrip("%")) < 0.5
    assert abs(float(last[2]) / float(batch[2]) - 1) < 0.01
    assert table or float(batch[2]) < float(rows["a constant"][2])


def test_report_has_every_part(report):
    assert [len(table.rows) for table in report.tables[2:]] == [5, 2, 4, 3]
    assert "with 199 films, 99 to learn from" in report.tables[1].title
    assert all(" Here: " in finding and " So: " in finding for finding in report.findings)
    assert set(report.figures) == {"convergence", "convergence-real", "time"}
    assert all(float(row[2]) < 1e-8 for row in report.tables[4].rows)


def test_small_steps_take_more_passes(report):
    table = report.tables[2]
    assert [row[0] for row in table.rows] == [
        "exact steps", "0.5 of the limit", "0.1 of the limit", "0.03 of the limit",
        "0.01 of the limit",
    ]  # fmt: skip
    for column in range(1, 5):
        passes = [61 if row[column] == "over 60" else int(row[column]) for row in table.rows]
        assert max(passes[:2]) < passes[3] <= passes[4]
    (said,) = (finding for finding in report.findings if "it takes about 120 passes" in finding)
    assert f"{table.rows[0][1]} with exact steps" in said
    assert said.endswith("a small fixed one explains its number.")


def test_the_papers_approximation_is_near_the_exact_error_where_the_fit_is_loose():
    X, y = reviewer(80, 1)
    K = Kernel("rbf").gram(X)
    exact = leave_pair_out(MPRank(30.0, kernel="precomputed"), K, y).msd
    assert exact != approximate_leave_pair_out(K, y, 30.0)
    assert np.isclose(exact, approximate_leave_pair_out(K, y, 30.0), rtol=1e-2)


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="n_trials=0"):
        magnitude(n_trials=0)

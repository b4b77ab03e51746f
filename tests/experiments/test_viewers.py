import numpy as np
import pytest

from experiments import viewers
from experiments._data import Films
from experiments._viewers import (
    HINDSIGHT,
    HOFF,
    MEDIAN,
    RAW,
    bound,
    problem,
    ranks_of,
    trial,
    viewers_of,
)
from experiments.viewers import COMPARED, GROUPS, USUAL, VARIANTS, _best_rate
from rankwise.papers import prank
from rankwise.recommend import RatingTable
from rankwise.reports import FORMATS

SIZES = {"n_targets": 3, "n_ablation": 2, "n_choose": 2}
SETTING = {**USUAL, "group": 100, "target": 3, "seed": 5, "only": "", "bound": 0}


@pytest.fixture(scope="module")
def films():
    """Twelve people who rated 210 to 260 films, by two tastes."""
    random = np.random.default_rng(0)
    taste, kind = random.normal(size=(12, 2)), random.normal(size=(300, 2))
    liking = 3.4 + taste @ kind.T + 0.5 * random.normal(size=(12, 300))
    chosen = [random.permutation(300)[: random.integers(210, 260)] for _ in range(12)]
    users = np.repeat(np.arange(12), [len(items) for items in chosen])
    items = np.concatenate(chosen)
    ratings = np.clip(liking[users, items].round(), 1, 5)
    times = random.permutation(len(users))
    return Films("few", RatingTable.from_arrays(users, items, ratings, times=times))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("trials")


@pytest.fixture(scope="module")
def report(films, kept):
    return viewers(**SIZES, data=films, keep=kept)


def test_report_has_every_model_group_and_change(report):
    first, second, ablation, thirds, bounds = report.tables
    assert {row[0] for row in first.rows} == {row[0] for row in second.rows}
    assert {"PRank", "MCP, uniform", HOFF, MEDIAN, HINDSIGHT} <= {row[0] for row in first.rows}
    assert [row[0] for row in ablation.rows] == list(VARIANTS)
    assert len(thirds.rows) == 3
    assert len(bounds.rows) == 4
    assert "12 viewers with more than 200 films (thin: EachMovie had 1,801)" in report.setting
    assert sum(finding.startswith("Paper 1") for finding in report.findings) == 3


def test_results_are_tidy(report):
    assert {row["group"] for row in report.results} == set(GROUPS)
    row = report.results[0]
    assert row["measure"].partition("/")[0] in {"mean", "unseen"}
    assert isinstance(row["value"], float)


def test_same_numbers_where_one_trial_is_lost(films, report, kept):
    sorted(kept.iterdir())[0].unlink()
    again = viewers(**SIZES, data=films, keep=kept)
    assert FORMATS["json"](again) == FORMATS["json"](report)
    assert again.results == report.results


def test_a_row_holds_the_others_less_the_middle(films):
    table = films.table
    people = viewers_of(table, 100)
    X, y, k = problem(table, people, {**SETTING, "scale": RAW, "order": "by date"})
    assert k == 5
    row = slice(*table.matrix.indptr[3:5])
    by_date = table.matrix.indices[row][np.argsort(table.times[row])]
    dense = table.matrix.toarray()
    expected = np.where(dense > 0, dense - 3, 0)[:, by_date]
    assert np.array_equal(X, np.delete(expected, 3, axis=0).T)
    assert np.array_equal(y, dense[3, by_date])


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"scale": 2.0}, lambda X: np.linalg.norm(X[:100], axis=1).mean() == pytest.approx(2)),
        ({"raters": 4}, lambda X: X.shape[1] == 4),
        ({"constant": 1}, lambda X: np.ptp(X[:, -1]) == 0 and X.shape[1] == 12),
        ({"center": "own mean", "scale": RAW}, lambda X: abs(X.sum()) < 60),
        ({"order": "most rated first"}, lambda X: (X[:20] != 0).sum() > (X[-20:] != 0).sum()),
    ],
)
def test_what_the_ablation_changes(films, change, holds):
    X, y, _ = problem(films.table, viewers_of(films.table, 100), {**SETTING, **change})
    assert holds(X)
    assert len(X) == len(y)


def test_ranks_are_those_of_the_table_or_equal_steps(films):
    ratings = np.array([1.0, 2, 3, 4, 5])
    assert ranks_of(films.table, ratings, 0) == (pytest.approx(ratings), 5)
    assert ranks_of(films.table, ratings, 2)[0].tolist() == [1, 1, 2, 2, 2]
    assert ranks_of(films.table, ratings, 3)[0].tolist() == [1, 1, 2, 3, 3]


def test_losses_are_those_of_one_pass_and_of_unseen_films(films):
    people = viewers_of(films.table, 100)
    result = trial({**SETTING, "only": "; ".join(COMPARED)}, films.table, people, {})
    X, y, _ = problem(films.table, people, SETTING)
    model = prank(label_order=range(1, 6))
    guesses = model.partial_fit_predict(X[:100], y[:100])
    assert result["mean"]["PRank"] == np.abs(guesses - y[:100]).mean()
    assert result["unseen"]["PRank"] == np.abs(model.predict(X[100:]) - y[100:]).mean()
    assert result["mean"][HINDSIGHT] <= result["mean"][MEDIAN]
    assert "bound" not in result


def test_the_bound_holds(films):
    X, y, k = problem(films.table, viewers_of(films.table, 100), SETTING)
    model = prank(label_order=range(1, 6)).fit(X[:100], y[:100])
    found = bound(X[:100], y[:100], k)
    assert model.rank_loss_ <= found["value"]
    assert found["trivial"] == 400


def test_the_rate_is_chosen_on_others():
    tried = [{HOFF: {"0.01": 2.0, "0.03": 1.0, "0.1": 3.0, "0.3": 3.0, "1.0": 3.0, "1.5": 3.0}}]
    assert _best_rate(tried, HOFF) == 0.03


def test_few_viewers_are_refused(films):
    with pytest.raises(ValueError, match="only 12 viewers rated more than 100 films"):
        viewers(n_choose=10, data=films)
    with pytest.raises(ValueError, match="n_targets=0"):
        viewers(n_targets=0, data=films)

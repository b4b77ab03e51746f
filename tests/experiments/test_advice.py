"""What following the advice costs."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from experiments import advice
from experiments._advised import advised_and_losses, unit_losses
from experiments.advice import cost_of_advice
from rankwise.comparison.methods import METHODS
from rankwise.metrics import mean_rank_loss, ndcg_score

RNG = np.random.default_rng(0)


@pytest.fixture
def few(monkeypatch):
    names = {"constant", "best column", "ridge", "MPRank"}
    few = tuple(method for method in METHODS if method.name in names)
    monkeypatch.setattr("rankwise.comparison.methods.METHODS", few)


@pytest.mark.usefixtures("few")
def test_the_methods_are_measured_on_rows_that_were_not_compared_on():
    frame = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["grade"] = np.digitize(frame["a"] - frame["b"] + RNG.normal(size=200) / 2, [-1, 0, 1])
    found = advised_and_losses(frame, {"target": "grade"}, quick=True, seed=0)
    assert found["advised"] in {"ridge", "MPRank"}
    assert found["units"] == 60
    assert set(found["losses"]) == {"constant", "best column", "ridge", "MPRank"}
    assert found["errors"][found["advised"]] == 0 < found["errors"]["constant"]
    cost = cost_of_advice("made up", [found])
    assert cost.regret == pytest.approx((cost.advised_value - cost.best_value) / cost.best_value)
    assert 0 <= cost.regret == cost.single < 0.2
    assert cost.hindsight == 0
    assert (cost.error > 0) == (cost.advised != [cost.best])


def test_costs_are_those_of_the_definition():
    """Three splits by hand: b is best in the mean, but wins one split only."""
    losses = [{"a": 1.0, "b": 1.1, "c": 3.0}, {"a": 2.0, "b": 1.0, "c": 1.6}]
    losses.append({"a": 1.4, "b": 1.2, "c": 0.9})
    found = [
        {"advised": name, "losses": one, "errors": {}, "lists": False, "units": 9}
        for name, one in zip("aba", losses, strict=True)
    ]
    cost = cost_of_advice("t", found)
    assert (cost.best, cost.winners, cost.advised) == ("b", ["a", "b", "c"], ["a", "b", "a"])
    assert cost.advised_value == pytest.approx((1.0 + 1.0 + 1.4) / 3)
    assert cost.best_value == pytest.approx(1.1)
    assert cost.regret == pytest.approx((1.0 + 1.0 + 1.4) / 3.3 - 1)
    apart = np.array([-0.1, 0.0, 0.2])
    assert cost.error == pytest.approx(np.sqrt((1 / 3 + 3 / 7) * apart.var(ddof=1)) / 1.1)
    assert cost.single == pytest.approx((0 + 0 + 0.5 / 0.9) / 3)
    assert cost.hindsight == pytest.approx((0.1 + 0 + 0.3 / 0.9) / 3)
    small = [{name: loss / 10 for name, loss in one.items()} for one in losses]
    found = [{**one, "losses": less, "lists": True} for one, less in zip(found, small, strict=True)]
    lists = cost_of_advice("t", found)
    assert lists.best_value == pytest.approx(1 - 0.11)
    assert lists.regret == pytest.approx((0.34 / 3 - 0.11) / 0.89)


def test_a_method_without_mistakes_leaves_nothing_to_divide_by():
    both = {"losses": {"a": 0.5, "b": 0.0}, "errors": {"a": 0.1, "b": 0.2}}
    perfect, worse = (
        cost_of_advice("t", [{"advised": name, "lists": False, "units": 9, **both}])
        for name in "ba"
    )
    assert (perfect.regret, perfect.single, perfect.hindsight) == (0, 0, 0)
    assert (worse.regret, worse.single, worse.hindsight) == (np.inf, np.inf, 0)


def test_losses_of_units_add_up_to_the_measures():
    class First(RegressorMixin, BaseEstimator):
        def fit(self, *_):
            return self

        def predict(self, X):
            return np.asarray(X)[:, 0]

    model = make_pipeline(FunctionTransformer(), First())

    from rankwise.comparison._recognise import recognise
    from rankwise.comparison.problem import make_problem

    frame = pd.DataFrame({"a": RNG.normal(size=60), "grade": RNG.integers(0, 3, 60)})
    frame["list"] = np.arange(60) % 6
    lists = make_problem(frame, recognise(frame, query="list"))
    wanted = ndcg_score(frame["grade"], frame["a"], qid=frame["list"], k=10)
    assert 1 - unit_losses(model, lists).mean() == pytest.approx(wanted)
    rows = make_problem(frame, recognise(frame, ignore=["list"]))
    ranks = np.clip(np.rint(frame["a"]), 1, 3)
    wanted = mean_rank_loss(frame["grade"] + 1, ranks.astype(int))
    assert unit_losses(model, rows).mean() == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_the_report_names_the_tables(tmp_path):
    folder = tmp_path / "ordinal"
    folder.mkdir()
    frame = pd.DataFrame({"response": np.arange(90) % 3 + 1, "a": RNG.normal(size=90)})
    frame["a"] += frame["response"]
    frame.to_csv(folder / "small.csv", index=False)
    report = advice(folder=tmp_path, rows=54, keep=tmp_path / "trials")
    assert [row[0] for row in report.tables[0].rows] == ["small"]
    assert [row[2] for row in report.tables[1].rows] in (["1 of 2"], ["2 of 2"])
    assert len(list((tmp_path / "trials").glob("*.json"))) == 2
    assert report.findings[0].startswith("On average the advice costs")
    with pytest.raises(ValueError, match="tables=\\('other',\\) are not among small"):
        advice(folder=tmp_path, tables=("other",))
    with pytest.raises(ValueError, match="tables=\\('small', 'other'\\) are not among small"):
        advice(folder=tmp_path, tables=("small", "other"))


def test_an_empty_folder_leaves_the_tables_of_packages(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="are not among diabetes, balance_scale"):
        advice(tables=("other",))


@pytest.mark.slow
def test_the_advice_costs_little():
    """In the mean of the splits 2 % of the measure, and on no table two paired errors.

    Against the winner of each single split 2 % can't be asked for: the method that is best in the
    mean costs more than that there.
    """
    if not os.environ.get("RANKWISE_DATA"):
        pytest.skip("RANKWISE_DATA names no folder with ordinal tables and MQ2008")
    report = advice(splits=3, jobs=2)
    rows = report.tables[0].rows
    worse = [float(row[6].rstrip("%")) for row in rows]
    errors = [float(row[7].rstrip("%")) for row in rows]
    assert len(rows) >= 8
    assert all(w <= e for w, e in zip(worse, errors, strict=True))
    assert np.mean(worse) <= 2
    hindsight = [float(row[4].rstrip("%")) for row in report.tables[1].rows]
    assert np.mean(hindsight) > 2

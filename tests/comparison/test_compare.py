"""Comparisons from the table to the kept model."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone

import rankwise
from rankwise.comparison import compare, make_transformer, prepare_like
from rankwise.comparison import problem as problem_module
from rankwise.comparison import runner as _compare
from rankwise.comparison._recognise import recognise
from rankwise.comparison.methods import METHODS, Method, methods_for
from rankwise.comparison.problem import Problem, make_folds, make_problem
from rankwise.comparison.trials import answer, choose, fit, run
from rankwise.ordinal import MulticlassPerceptron, PRank

RNG = np.random.default_rng(0)
FEW = ["constant", "best column", "ridge"]


def _table(n=120, n_lists=12):
    frame = pd.DataFrame(RNG.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["town"] = RNG.choice(["x", "y", "z"], n)
    frame.loc[::7, "b"] = np.nan
    frame["worth"] = 2 * frame["a"] - frame["c"] + (frame["town"] == "x") + RNG.normal(size=n) / 4
    frame["grade"] = np.digitize(frame["worth"], [-1.5, 0, 1.5]) + 1
    frame["list"] = RNG.permutation(n) % n_lists
    return frame


TABLE = _table()
SLOW = pytest.param("sized lists", marks=pytest.mark.slow)
KINDS = {
    "grades": {"target": "grade", "ignore": ["worth", "list"]},
    "lists": {"target": "grade", "query": "list", "ignore": ["worth"]},
    "sizes": {"target": "worth", "ignore": ["grade", "list"]},
    "sized lists": {"target": "worth", "query": "list", "ignore": ["grade"]},
}


@pytest.mark.parametrize(
    "kind", [*list(KINDS)[:3], pytest.param("sized lists", marks=pytest.mark.slow)]
)
def test_every_method_of_a_kind_is_ranked_and_the_best_is_kept(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(_compare, "_repeats", lambda *_, **__: 1)
    problem = make_problem(TABLE, recognise(TABLE, **KINDS[kind]))
    # scikit-learn's trees take longer than all others
    slow = "HistGradientBoosting"
    names = [method.name for method in methods_for(problem) if method.name != slow]
    found = compare(TABLE, **KINDS[kind], quick=True, methods=names)
    assert not [row.failure for row in found.rows if row.failure]
    assert np.isnan(found.rows[0].pvalue)
    assert found.rows[0].name == found.best or found.row(found.best).pvalue > 0.05
    signed = [found.measures[0].signed(row.means[0]) for row in found.rows]
    assert signed == sorted(signed, reverse=True)
    assert found.row("constant").pvalue < 0.05
    assert found.row("best column").means[0] != found.row("constant").means[0]
    assert len(found.advice) in {2, 3}
    assert found.best in " ".join(found.advice)

    rankwise.save(found.model, tmp_path / "model.rankwise")
    again = rankwise.load(tmp_path / "model.rankwise")
    said = again.predict(prepare_like(TABLE, again))
    np.testing.assert_array_equal(said, found.model.predict(prepare_like(TABLE, found.model)))
    if kind == "grades":
        assert np.corrcoef(said, TABLE["grade"])[0, 1] > 0.8


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("grades", "thresholds, trees"),
        pytest.param("grades", "MPRank", marks=pytest.mark.slow),
        pytest.param("lists", "MPRank", marks=pytest.mark.slow),
        pytest.param("lists", "RankBoost, trees", marks=pytest.mark.slow),
    ],
)
def test_the_lines_of_code_fit_the_same_model(kind, method, tmp_path):
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    frame = pd.read_csv(path)
    found = compare(frame, **KINDS[kind], methods=[method], quick=True).from_source(str(path))
    done = subprocess.run(
        [sys.executable, "-c", found.code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    again = rankwise.load(tmp_path / "model.rankwise")
    rows = prepare_like(frame, found.model)
    np.testing.assert_allclose(again.predict(rows), found.model.predict(rows), rtol=1e-10)


@pytest.mark.parametrize("method", ["PRank", "thresholds, Gaussian"])
def test_grades_that_are_texts_come_back_as_texts(method):
    words = np.array(["bad", "fair", "good", "best"])
    frame = TABLE.assign(grade=words[TABLE["grade"] - 1])
    found = compare(
        frame, target="grade", ignore=["worth", "list"], order=list(words), quick=True,
        methods=["constant", method],
    )  # fmt: skip
    said = found.model.predict(prepare_like(frame, found.model))
    assert set(said) <= set(words)
    assert np.mean(said == frame["grade"]) > 0.4
    assert "order=['bad', 'fair', 'good', 'best']" in found.code


def test_a_score_for_each_grade_is_no_score():
    """A model without a line, such as MulticlassPerceptron, ranks by its grades."""
    frame = TABLE.drop(columns=["worth", "list"])
    problem = make_problem(frame, recognise(frame, target="grade"))
    for model, one_score in ((PRank(), True), (MulticlassPerceptron(), False)):
        method = Method("its name", "what it does", lambda _, model=model: clone(model))
        answers = answer(fit(method, problem, {}, 0), problem)
        assert answers.scores.shape == answers.ranks.shape == (len(frame),)
        assert np.array_equal(answers.scores, answers.ranks) != one_score


@pytest.mark.parametrize("method", ["PRank", "MPRank", "thresholds, trees"])
def test_half_stars_come_back_as_half_stars(method):
    frame = TABLE.assign(grade=TABLE["grade"] / 2)
    found = compare(frame, **KINDS["grades"], quick=True, methods=[method])
    said = found.model.predict(prepare_like(frame, found.model))
    assert np.abs(said - frame["grade"]).mean() < 0.4


def test_folds_keep_lists_whole_and_share_out_the_grades():
    problem = make_problem(TABLE, recognise(TABLE, **KINDS["lists"]))
    for train, test in make_folds(problem, 4, 3, 0):
        assert not set(problem.qid[train]) & set(problem.qid[test])
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(TABLE)
    problem = make_problem(TABLE, recognise(TABLE, **KINDS["grades"]))
    folds = make_folds(problem, 5, 2, 0)
    assert len(folds) == 10
    for half in (folds[:5], folds[5:]):
        assert np.array_equal(np.sort(np.concatenate([t for _, t in half])), np.arange(len(TABLE)))
    for grade in (1, 2, 3, 4):
        shares = [np.mean(problem.y[test] == grade) for _, test in folds]
        assert max(shares) - min(shares) < 0.1


def test_few_rows_are_dealt_out_more_often():
    assert [_compare._repeats(n, quick=False) for n in (100, 400, 1000, 3000)] == [10, 10, 4, 2]
    assert [_compare._repeats(n, quick=True) for n in (100, 250, 400)] == [3, 2, 1]
    found = compare(TABLE, **KINDS["grades"], methods=["constant"])
    assert len(found.trials["constant"].values) == 50
    assert found.setting == "10 times 5 folds of rows; seed 0"


def test_one_list_is_said():
    with pytest.raises(ValueError, match="all rows have the same query"):
        compare(TABLE.assign(list=1), **KINDS["lists"], quick=True)


def test_missing_targets_and_samples_are_told():
    frame = TABLE.assign(grade=TABLE["grade"].where(TABLE.index > 9))
    found = compare(frame, **KINDS["grades"], methods=FEW, quick=True, max_rows=50)
    assert len(found.problem.y) == 50
    assert "Rows without a target are left out: 10." in found.warnings
    assert any("on a sample of 50 of the 110 rows" in text for text in found.warnings)


def test_what_is_odd_about_data_is_told():
    frame = TABLE.assign(one=1.0, copy=TABLE["grade"] * 2.0 + 1, empty=np.nan, last=TABLE["a"])
    frame["last"] = frame["last"].where(frame.index > 80)
    frame = pd.concat([frame, frame.iloc[:30]], ignore_index=True)
    found = compare(frame, **KINDS["grades"], methods=FEW, quick=True)
    text = " ".join(found.warnings)
    assert "30 rows are copies of others" in text
    assert "The same value in all rows of 'one', 'empty'." in text
    assert "Leak? 'copy' alone orders nearly everything" in found.advice[0]
    assert "More than half of the values are missing in 'empty', 'last'." in text
    lists = TABLE.assign(grade=np.where(TABLE["list"] < 2, 1, TABLE["grade"]))
    found = compare(lists, **KINDS["lists"], methods=FEW, quick=True)
    assert "2 of 12 queries have no two rows that differ, and teach nothing." in found.warnings


def test_settings_are_chosen_inside_the_folds(monkeypatch):
    """A method that peeks at what it is tested on would be told apart by its rows."""
    seen = []

    class Spy(RegressorMixin, BaseEstimator):
        def __init__(self, deep=0):
            self.deep = deep

        def fit(self, X, y):
            self.n_features_in_ = X.shape[1]
            seen.append(len(y))
            return self

        def predict(self, X):
            return X[:, 0] * self.deep

    spy = Method("spy", "", lambda _: Spy(), settings=({"deep": 0}, {"deep": 1}))
    problem = make_problem(TABLE, recognise(TABLE, **KINDS["sizes"]))
    monkeypatch.setattr("rankwise.comparison.methods.METHODS", (spy,))
    folds = make_folds(problem, 5, 1, 0)
    trials = run("spy", problem, folds, 0)
    assert not trials.failure
    assert max(seen) == max(len(train) for train, _ in folds)
    assert trials.settings == [{"deep": 1}] * 5
    from rankwise.comparison.measures import PAIRS

    assert choose(spy, problem, PAIRS, 0) == {"deep": 1}


def test_columns_of_a_small_table_are_prepared_once_for_all_methods(monkeypatch):
    prepared = []

    def counted(columns):
        prepared.append(columns)
        return make_transformer(columns)

    monkeypatch.setattr(problem_module, "make_transformer", counted)
    compare(TABLE, **KINDS["grades"], quick=True, methods=["constant", "ridge"])
    n_folds = len(prepared)
    prepared.clear()
    methods = ["constant", "ridge", "logistic-regression", "prank"]
    found = compare(TABLE, **KINDS["grades"], quick=True, methods=methods)
    assert len(prepared) <= n_folds
    assert not [row.failure for row in found.rows if row.failure]


class Fails(RegressorMixin, BaseEstimator):
    """An estimator that raises."""

    def fit(self, X, y):
        del X, y
        raise RuntimeError("no luck\ntoday")

    def predict(self, X):
        raise NotImplementedError


def test_a_method_that_fails_is_a_row_with_its_reason(monkeypatch):
    broken = Method("broken", "fails", lambda _: Fails(), baseline=True)
    unkept = [replace(method, kept=False) for method in METHODS[:2]]
    methods = (*unkept, broken)
    monkeypatch.setattr("rankwise.comparison.methods.METHODS", methods)
    found = compare(TABLE, **KINDS["grades"], quick=True)
    row = found.rows[-1]
    assert (row.name, row.failure) == ("broken", "RuntimeError: no luck today")
    assert found.table().rows[-1][0] == "broken: RuntimeError: no luck today"
    assert found.model is None
    assert "rankwise can't save best column" in found.advice[-1]
    monkeypatch.setattr("rankwise.comparison.methods.METHODS", (broken,))
    with pytest.raises(ValueError, match="no method could be fitted; broken: RuntimeError"):
        compare(TABLE, **KINDS["grades"], quick=True)


def test_a_method_that_takes_too_long_is_ended():
    found = _compare.run_jobs({"slow": _Sleep(600), "fast": _Sleep(0)}, 1.5, 1, lambda _: None)
    assert found["slow"].failure == "not done after 1.5 seconds"
    assert found["fast"] == "awake"


class _Sleep:
    """A job that can be sent to another process, which does not know this module."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __reduce__(self):
        from functools import partial

        program = f"__import__('time').sleep({self.seconds}) or 'awake'"
        return partial, (eval, program)


def test_processes_give_the_same_numbers():
    one = compare(TABLE, **KINDS["grades"], methods=FEW, quick=True)
    two = compare(TABLE, **KINDS["grades"], methods=FEW, quick=True, timeout=600)
    for name in FEW:
        np.testing.assert_array_equal(one.trials[name].values, two.trials[name].values)


def test_methods_are_told_by_their_names():
    with pytest.raises(ValueError, match="the method 'magic' is not known; these fit: constant"):
        compare(TABLE, **KINDS["grades"], methods=["magic"])
    with pytest.raises(ValueError, match="'RankSVM' does not fit this table"):
        compare(TABLE, **KINDS["grades"], methods=["RankSVM"])
    problem = make_problem(TABLE, recognise(TABLE, **KINDS["grades"]))
    names = [method.name for method in methods_for(problem)]
    assert "thresholds, Gaussian" in names
    large = Problem("relevance", TABLE[["a"]], np.arange(5000.0), None, problem.columns, None)
    assert "MPRank, Gaussian" not in [method.name for method in methods_for(large)]


def test_the_table_is_left_as_it_was():
    before = TABLE.copy()
    compare(TABLE, **KINDS["grades"], methods=FEW, quick=True)
    pd.testing.assert_frame_equal(TABLE, before)


def _ratings(n_users=60, n_items=30):
    likes = RNG.normal(size=(n_users, 2)) @ RNG.normal(size=(2, n_items))
    user, item = np.nonzero(RNG.random(likes.shape) < 0.6)
    rating = np.clip(np.rint(3 + likes[user, item]), 1, 5)
    return pd.DataFrame({"user": user, "film": item, "stars": rating})


def test_ratings_go_to_the_taste_model():
    frame = _ratings()
    frame = pd.concat([frame, frame.iloc[:3]], ignore_index=True)
    found = compare(frame, user="user", item="film", rating="stars", quick=True)
    assert found.best == "TasteModel"
    assert found.row("constant").means[0] == 0.5
    assert "3 ratings are of an item rated again: the last counts." in found.warnings
    report = found.report()
    assert "One person's list" in [section.title for section in report.sections]
    assert "fit(frame, user='user', item='film', rating='stars')" in found.code
    part = compare(frame, quick=True, max_rows=300)
    assert any("the model learns from all" in text for text in part.warnings)
    assert part.problem.n_ratings == found.problem.n_ratings


def test_contests_are_recognised_and_refused_in_a_sentence():
    frame = pd.DataFrame({"winner": list("abc") * 4, "loser": list("bca") * 4})
    with pytest.raises(ValueError, match="these 12 rows are contests"):
        compare(frame)


def test_nothing_can_be_compared():
    alone = pd.DataFrame({"user": range(30), "item": [1, 2] * 15, "rating": [1, 2, 3] * 10})
    with pytest.raises(ValueError, match=r"no method could be fitted; constant: .*no comparable"):
        compare(alone, quick=True)
    apart = pd.DataFrame({"query": [1, 1, 2, 2, None, None], "x": [0.5, 1, 2, 3, 4, 7]})
    apart["target"] = [None, None, None, None, 1.0, 2.0]
    with pytest.raises(ValueError, match="no row has a value both in the target 'target' and in"):
        compare(apart, target="target", query="query", quick=True)
    with pytest.raises(ValueError, match="n_jobs=0 must be an integer from 1 on"):
        compare(alone, n_jobs=0)

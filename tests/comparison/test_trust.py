"""What could mislead on an unprepared table: a small table for each."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise.comparison import contests_of, prepare_like, recognise
from rankwise.comparison._scales import known_order
from rankwise.comparison.methods import methods_for
from rankwise.comparison.problem import make_folds, make_problem

RNG = np.random.default_rng(0)
N = 90
FEW = ["constant", "best-column", "ridge"]


def frame(**columns):
    table = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
    noisy = table["a"] + RNG.normal(size=N)
    return table.assign(grade=np.digitize(noisy, [-0.7, 0.7]) + 1, **columns)


# 1: indexes and identifiers


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", range(N)),
        ("", range(1000, 1000 + N)),
        ("n", range(1, N + 1)),
        ("n", range(N - 1, -1, -1)),
        ("PassengerId", range(7, 7 + 3 * N, 3)),
        ("rownames", [f"Mazda {i}" for i in range(N)]),
        ("huge", [2**63 + i for i in range(N)]),
        ("big", [2**62 + i for i in range(N)]),
    ],
)
def test_indexes_and_identifiers_are_left_out_with_a_note(name, values):
    table = frame().sort_values("grade")
    table.insert(0, name, list(values))
    task = recognise(table, target="grade")
    assert task.columns.names == ["a", "b"]
    assert any(note.startswith(repr(name)) and "left out" in note for note in task.notes)


def test_numbers_that_are_all_different_are_learned_from():
    table = frame(income=RNG.permutation(10 * N)[:N], year=range(1950, 1950 + N))
    assert recognise(table, target="grade").columns.names == ["a", "b", "income", "year"]


def test_names_of_rows_name_them_in_the_report():
    table = frame(car=[f"car {i}" for i in range(N)])
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True)
    assert found.task.roles["name"] == "car"
    assert found.problem.names[3] == "car 3"


@pytest.mark.parametrize("leak", ["number", "words"])
def test_a_column_that_gives_the_target_away_is_named_first(leak):
    table = frame()
    codes = 3 * table["grade"] ** 2
    table["after"] = codes if leak == "number" else codes.map("ward {}".format)
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True)
    assert found.advice[0].startswith("Leak? 'after' alone orders nearly everything")
    assert "--ignore after" in found.advice[0]
    clean = rankwise.compare(table, target="grade", ignore="after", methods=FEW, quick=True)
    assert not clean.advice[0].startswith("Leak?")


def test_a_method_without_error_is_doubted():
    table = frame()
    table["sum"] = table["grade"] + 0.7 * table["a"]
    found = rankwise.compare(table, target="grade", methods=["ridge"], quick=True)
    assert found.row("ridge").means[0] == 0
    assert found.advice[0].startswith("Leak? ridge makes no error (MAE 0.000)")


# 2: copies, times and groups


def test_copies_of_rows_stay_in_one_fold():
    table = pd.concat([frame()] * 2, ignore_index=True)
    problem = make_problem(table, recognise(table, target="grade"))
    for train, test in make_folds(problem, 5, 2, 0):
        assert not set(train % N) & set(test % N)
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True)
    assert f"{N} rows are copies of others: each is in one fold with its copies." in found.warnings
    few = pd.DataFrame({"a": np.arange(N) % 3, "grade": np.arange(N) % 2})
    assert make_problem(few, recognise(few)).groups is None


def test_dates_offer_a_split_by_time():
    table = frame(day=pd.date_range("2024-01-01", periods=N).astype(str)[::-1])
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True)
    assert any("'day' has dates" in text and "--split time" in text for text in found.warnings)
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True, split="time")
    assert "each tested on later rows" in found.setting
    for train, test in make_folds(found.problem, 5, 1, 0):
        assert train.min() > test.max()  # the table begins with the last day
    with pytest.raises(ValueError, match="split='time' needs a column of dates"):
        rankwise.compare(frame(), target="grade", split="time")


def test_groups_are_offered_and_kept_whole():
    table = frame(patient_id=RNG.integers(0, 20, N))
    found = rankwise.compare(table, target="grade", methods=FEW, quick=True)
    assert any(
        "one 'patient_id'" in text and "--group patient_id" in text for text in found.warnings
    )
    found = rankwise.compare(table, target="grade", group="patient_id", methods=FEW, quick=True)
    assert "patient_id" not in found.task.columns.names
    assert not any("--group" in text for text in found.warnings)
    for train, test in make_folds(found.problem, 5, 1, 0):
        assert not set(found.problem.groups[train]) & set(found.problem.groups[test])


@pytest.mark.parametrize("values", ["student", "judge", "name", "centre"])
def test_ids_and_names_that_come_back_may_be_groups(values):
    table = frame()
    ids = np.repeat(np.arange(30), 3)
    table[values] = ids if values in {"student", "judge"} else [f"{values} {i}" for i in ids]
    task = recognise(table)
    assert values in task.columns.names
    [note] = task.notes
    assert note.endswith("name it (target=..., or --target): 'b' (a number), 'a' (a number).")
    found = rankwise.compare(table, methods=["constant"], quick=True)
    assert any(
        text.startswith(f"Rows of one '{values}' (30 values in 90 rows) are on both sides")
        and f"--group {values}" in text
        for text in found.warnings
    )


def test_a_column_that_counts_cases_is_named():
    """A table of counts, such as a data frame of R's MASS::housing."""
    steps = [["Low", "High"], list("abcd"), list("xyz")]
    table = pd.DataFrame(product(*steps), columns=["Sat", "Type", "Cont"])
    table["Freq"] = np.arange(7, 7 + 2 * len(table), 2)
    found = rankwise.compare(table, target="Sat", methods=FEW[:1], quick=True)
    counts = [text for text in found.warnings if text.startswith("'Freq' may say how many cases")]
    assert len(counts) == 1
    assert "frame.loc[frame.index.repeat(frame['Freq'])]" in counts[0]
    table["age"] = np.linspace(20.5, 60.5, len(table))
    found = rankwise.compare(table, target="Sat", methods=FEW[:1], quick=True)
    assert not any("how many cases" in text for text in found.warnings)


def test_counts_of_many_values_are_numbers_and_even_scales_are_grades():
    visits = np.repeat([0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 20, 45], 10)
    table = pd.DataFrame({"a": RNG.normal(size=120), "visits": visits})
    assert recognise(table).kind == "relevance"
    for scale in (visits.clip(max=7), np.repeat(np.arange(12), 10), np.arange(120) % 20 / 2):
        assert recognise(table.assign(visits=scale)).kind == "grades"


# 4 and 6: what is advised is what is kept, fitted to all rows


def test_the_model_of_grades_predicts_grades_with_probabilities():
    table = frame()
    for method in methods_for(make_problem(table, recognise(table, target="grade"))):
        if method.name in {"ridge", "MPRank", "best column", "constant", "logistic regression"}:
            found = rankwise.compare(table, target="grade", methods=[method.slug], quick=True)
            assert set(found.predict(table)) <= {1, 2, 3}
            assert found.best_.predict_proba(prepare_like(table, found.best_)).shape == (N, 3)


def test_the_model_is_fitted_to_all_rows_when_a_sample_is_compared():
    table = frame()
    found = rankwise.compare(table, target="grade", methods=["ridge"], quick=True, max_rows=40)
    assert len(found.problem.y) == 40
    scaler = found.best_[0][-1]
    assert scaler.n_samples_seen_ == N
    large = make_problem(table, recognise(table, target="grade"))
    fitting = {method.name for method in methods_for(large, 10**6)}
    assert "thresholds, Gaussian" not in fitting  # which could not learn from all


# 5: two classes


def test_two_classes_are_judged_by_auc_with_brier_score_and_log_loss():
    a = RNG.normal(size=463)
    rare = a + RNG.normal(size=463) > 2.6
    table = pd.DataFrame({"a": a, "b": RNG.normal(size=463), "ill": np.where(rare, "yes", "no")})
    assert 8 <= rare.sum() <= 30
    found = rankwise.compare(table, methods=[*FEW, "logistic-regression"], quick=True)
    assert [m.name for m in found.measures] == [
        "AUC",
        "average precision",
        "Brier score",
        "log loss",
    ]
    assert found.best != "constant"
    assert found.row(found.best).means[0] > 0.8
    assert found.row("constant").means[0] == 0.5
    assert np.isfinite(found.row("ridge").means).all()
    even = rankwise.compare(frame(y=RNG.random(N) > 0.5), target="y", methods=FEW, quick=True)
    assert [m.name for m in even.measures] == ["AUC", "Brier score", "log loss"]


def test_too_few_rows_of_a_class_for_the_folds():
    table = frame(y=np.where(np.arange(N) < 3, "bad", "well"))
    found = rankwise.compare(table, target="y", methods=FEW, quick=True)
    assert not [row.failure for row in found.rows if row.failure]
    assert "Only 3 rows are 'bad': 3 folds instead of 5." in found.warnings
    table["y"] = np.where(np.arange(N) < 1, "bad", "well")
    with pytest.raises(ValueError, match="only 1 row has one of the two classes of 'y'"):
        rankwise.compare(table, target="y", methods=FEW, quick=True)


# 7: targets and scales


@pytest.mark.parametrize(
    "scale",
    [
        "no yes",
        "false true",
        "low medium high",
        "S M L XL",
        "1st 2nd 3rd",
        "poor fair good excellent",
        "never rarely sometimes often always",
        "F D C B A",
        "strongly_disagree disagree neutral agree strongly_agree",
        "None Some Marked",
        "<18 18-24 25-34 >34",
        "1_never 2_rarely 10_always",
        "Poor Average Good",
    ],
)
def test_known_scales_are_ordered(scale):
    words = [word.replace("_", " ") for word in scale.split()]
    assert known_order(words[::-1]) == words
    table = frame(sat=[words[i % len(words)] for i in range(N)])
    task = recognise(table, target="sat")
    assert task.order == words
    assert any(note.startswith("'sat' is ordered " + " < ".join(words)) for note in task.notes)


@pytest.mark.parametrize("words", [["red", "green"], ["low", "blue", "high"], ["a1", "b1"], ["x"]])
def test_other_words_have_no_known_order(words):
    assert known_order(words) is None


def test_of_two_unknown_classes_the_rarer_is_the_higher():
    table = frame(kind=np.where(np.arange(N) % 3, "ham", "spam"))
    task = recognise(table, target="kind")
    assert task.order == ["ham", "spam"]
    assert "the rarer class last" in task.notes[0]


def test_without_a_target_candidates_are_listed():
    table = frame(
        review=[f"words that nobody can order, number {i} of many many words" for i in range(N)]
    )
    del table["grade"]
    with pytest.raises(ValueError, match=r"which column is the target\?.*'b' \(a number\), 'a' \("):
        recognise(table)
    task = recognise(table[["review", "a", "b"]])
    assert task.roles["target"] == "b"
    other = "To rank by another column, name it (target=..., or --target): 'a' (a number)."
    assert other in task.notes
    with pytest.raises(ValueError, match=r"column 'Grade' not found; did you mean 'grade'\?"):
        recognise(frame(), target="Grade")


# 8: contests


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ("home,away,home_goals,away_goals", None),
        ("home_team,away_team,home_score,away_score", None),
        ("HomeTeam,AwayTeam,FTHG,FTAG", None),
        ("home,away,result", ["H", "D", "A"]),
        ("white,black,result", ["1-0", "1/2-1/2", "0-1"]),
        ("player_1,player_2,winner", ["x", "tie", "x"]),
    ],
)
def test_layouts_of_contests(columns, outcome):
    names = columns.split(",")
    rows = [["x", "y", 2, 1], ["y", "z", 1, 1], ["z", "x", 0, 3]]
    if outcome:
        rows = [[*row[:2], word] for row, word in zip(rows, outcome, strict=True)]
    table = pd.DataFrame(rows * 5, columns=names).assign(day=1)
    task = recognise(table)
    assert task.kind == "contests"
    found = contests_of(table, task)
    np.testing.assert_array_equal(found.outcome, [1.0, 0.5, 0.0] * 5)
    assert found.ordered


def test_a_game_that_was_not_played_is_left_out():
    table = pd.DataFrame({"home": list("abc"), "away": list("bca"), "home_goals": [1, np.nan, 0]})
    table["away_goals"] = [0, np.nan, 0]
    found = contests_of(table, recognise(table))
    assert found.rows.tolist() == [0, 2]
    assert found.outcome.tolist() == [1.0, 0.5]


# 9: texts and dates


def test_texts_are_hashed_or_left_out_with_a_note():
    table = frame(
        review=[f"this is good {i} and much too long to be a name of a row" for i in range(N)]
    )
    task = recognise(table, target="grade")
    assert task.columns.texts == ["review"]
    assert any("words of 'review' are hashed" in note for note in task.notes)
    task = recognise(table, target="grade", text="ignore")
    assert task.columns.names == ["a", "b"]
    assert "Free text in 'review' is left out." in task.notes


# 13: notebooks


def test_the_result_shows_itself_in_a_notebook(tmp_path):
    found = rankwise.compare(frame(), target="grade", methods=FEW, quick=True)
    assert "<table" in found._repr_html_()
    value = f"{found.row(found.best).means[0]:.3f}"
    assert repr(found) == f"<Comparison of 3 methods; best: '{found.best}' (MAE {value})>"
    assert found.advice[0].split(":")[0] in found._repr_html_()
    table = found.to_frame()
    assert table["method"].tolist() == [row.name for row in found.rows]
    assert table.loc[table["advised"], "method"].tolist() == [found.best]
    found.report(tmp_path / "a" / "report.html")
    assert (tmp_path / "a" / "report.html").exists()

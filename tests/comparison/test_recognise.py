"""What a table is taken for, and how its columns become numbers."""

import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise.comparison import (
    look_at_columns,
    make_transformer,
    prepare,
    prepare_like,
    recognise,
)
from rankwise.magnitude import MPRank

N = 40
RNG = np.random.default_rng(0)


def _frame(**columns):
    return pd.DataFrame({"x": RNG.normal(size=N), **columns})


def _cycle(*values):
    return [values[i % len(values)] for i in range(N)]


@pytest.mark.parametrize(
    ("columns", "told", "kind", "roles"),
    [
        ({"grade": _cycle(1, 2, 4)}, {}, "grades", {"target": "grade"}),
        ({"last": _cycle(1, 2, 4)}, {}, "grades", {"target": "last"}),
        ({"stars": _cycle(0.5, 1, 1.5)}, {}, "grades", {"target": "stars"}),
        ({"yes": _cycle(True, False)}, {}, "grades", {"target": "yes"}),
        ({"y": RNG.normal(size=N)}, {}, "relevance", {"target": "y"}),
        ({"y": np.arange(N)}, {}, "relevance", {"target": "y"}),
        (
            {"qid": _cycle(1, 2), "y": RNG.normal(size=N)},
            {},
            "relevance",
            {"target": "y", "query": "qid"},
        ),
        (
            {"Query-ID": _cycle("a", "b"), "rel": _cycle(0, 1, 2)},
            {"query": "Query-ID"},
            "grades",
            {"target": "rel", "query": "Query-ID"},
        ),
        (
            {"User-ID": _cycle(1, 2), "ISBN": range(N), "Book-Rating": _cycle(1, 5, 9)},
            {},
            "ratings",
            {"user": "User-ID", "item": "ISBN", "rating": "Book-Rating"},
        ),
        (
            {"who": _cycle(1, 2), "film": range(N), "mark": _cycle(1, 5, 9)},
            {"user": "who", "item": "film", "rating": "mark"},
            "ratings",
            {"user": "who", "item": "film", "rating": "mark"},
        ),
        (
            {"winner": _cycle("a", "b"), "loser": _cycle("b", "a")},
            {},
            "contests",
            {"winner": "winner", "loser": "loser"},
        ),
        (
            {"left": _cycle("a", "b"), "right": _cycle("b", "a"), "winner": _cycle("left", "tie")},
            {},
            "contests",
            {"first": "left", "second": "right", "outcome": "winner"},
        ),
        # what is told wins over what is found
        (
            {"user": _cycle(1, 2), "item": range(N), "rating": _cycle(1, 5, 9)},
            {"target": "rating"},
            "grades",
            {"target": "rating"},
        ),
    ],
)
def test_kinds(columns, told, kind, roles):
    task = recognise(_frame(**columns), **told)
    assert task.kind == kind
    assert task.roles == roles
    assert all(repr(name) in task.why for name in roles.values() if name in columns)


def test_grades_that_are_texts_need_an_order():
    frame = _frame(quality=_cycle("red", "green", "blue"))
    with pytest.raises(ValueError, match=r"without a known order \(red, green, blue\): give it"):
        recognise(frame, target="quality")
    told = ["blue", "red", "green"]
    assert recognise(frame, target="quality", order=told).order == told
    with pytest.raises(ValueError, match="does not have"):
        recognise(frame, target="quality", order=["red", "mid"])
    frame = _frame(quality=_cycle("low", "high"))
    ordered = pd.Categorical(frame["quality"], ["low", "mid", "high"], ordered=True)
    assert recognise(frame.assign(quality=ordered)).order == ["low", "high"]


@pytest.mark.parametrize(
    ("frame", "told", "message"),
    [
        (_frame(y=_cycle(1, 2)), {"target": "z"}, "column 'z' not found; the table has x, y"),
        (_frame(y=_cycle(1, 2)), {"ignore": ["z"]}, "column 'z' not found"),
        (_frame(y=_cycle(1)), {}, "has only the value 1: there is nothing to rank"),
        (_frame(y=_cycle(np.nan)), {}, "has no values"),
        (_frame(y=np.where(np.arange(N), np.inf, 1)), {}, "infinite"),
        (_frame(y=_cycle(1, 2)), {"ignore": ["x"]}, "no column is left besides 'y'"),
        (_frame(y=_cycle(1, 2)), {"user": "x"}, "does not determine a task"),
        (_frame(y=_cycle(1, 2)).iloc[:1], {}, "has one row"),
        (_frame(y=_cycle(1, 2)).iloc[:0], {}, "no rows"),
        (_frame(y=_cycle(1, 2)), {"text": "drop"}, "text='drop' must be"),
    ],
)
def test_what_cant_be_ranked_is_said(frame, told, message):
    with pytest.raises(ValueError, match=message):
        recognise(frame, **told)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"target": "y", "query": "y"}, "target and query are both 'y'"),
        ({"target": "y", "ignore": ["y"]}, "target='y' is also to be ignored"),
        ({"target": "y", "query": "x"}, "query='x' has another value in each row"),
        ({"winner": "y", "loser": "y"}, "winner and loser are both 'y'"),
    ],
)
def test_a_column_is_one_thing(told, message):
    with pytest.raises(ValueError, match=message):
        recognise(_frame(y=_cycle(1, 2, 3)), **told)


def test_columns_without_a_value_teach_nothing():
    frame = pd.DataFrame({"a": [np.nan] * N, "b": [None] * N, "y": _cycle(1, 2)})
    with pytest.raises(ValueError, match="no column besides 'y' has a value"):
        recognise(frame, target="y")
    frame.loc[3, "a"] = 1.0
    assert recognise(frame, target="y").kind == "grades"


def test_whole_numbers_of_any_size_are_numbers():
    frame = _frame(big=[10**40 * (i + 1) for i in range(N)], y=_cycle(1, 2, 3))
    assert frame["big"].dtype == object
    task = recognise(frame, target="y")
    assert task.columns.numbers == ["x", "big"]
    assert prepare(frame, task.columns)["big"].iloc[0] == 1e40


def test_the_text_among_numbers_is_named():
    frame = _frame(a=["n/k" if i == 5 else i / 7 for i in range(N)], y=_cycle(1, 2, 3))
    task = recognise(frame, target="y")
    assert task.columns.numbers == ["x", "a"]
    assert task.notes == ["'a' has numbers, but 'n/k' in row 6: 1 such values count as missing."]
    assert prepare(frame, task.columns)["a"].isna().sum() == 1


def test_columns_become_numbers_and_a_fitted_pipeline_is_saved(tmp_path):
    frame = pd.DataFrame(
        {
            "grade": _cycle(1, 2, 3),
            "size": [np.nan, *np.linspace(1, 9, N - 1)],
            "town": _cycle("a", "b", None),
            "when": pd.date_range("2020-01-01", periods=N).astype(str),
            "title": [f"the film {i} that is told here by far too many words" for i in range(N)],
            "old": _cycle(True, False),
        }
    )
    task = recognise(frame)
    assert task.columns == (["size", "old"], ["town"], ["when"], ["title"])
    rows = prepare(frame, task.columns)
    assert rows["when (days)"].tolist() == [18262.0 + i for i in range(N)]
    words = [name for name in rows if name.startswith("title (word")]
    assert rows[words].to_numpy().sum() == 12 * N
    assert rows["when (week sin)"].tolist() == pytest.approx(
        [np.sin(2 * np.pi * (18262 + i) / 7) for i in range(N)]
    )
    assert np.isnan(rows["size"][0])

    from sklearn.pipeline import make_pipeline

    model = make_pipeline(make_transformer(task.columns), MPRank()).fit(rows, frame["grade"])
    rankwise.save(model, tmp_path / "model.rankwise")
    again = rankwise.load(tmp_path / "model.rankwise")
    new = frame.drop(columns="grade").assign(town="never seen", more=1)[::-1]
    wanted = model.predict(prepare(new, task.columns))
    np.testing.assert_array_equal(again.predict(prepare_like(new, again)), wanted)
    with pytest.raises(ValueError, match="learned from 'size', 'title', which this table does not"):
        prepare_like(new.drop(columns=["size", "title"]), again)
    with pytest.raises(ValueError, match="column 'size' has 'big': expected numbers"):
        prepare_like(new.assign(size="big"), again)


def test_numbers_alone_need_no_categories():
    from sklearn.pipeline import make_pipeline

    frame = _frame(other=RNG.normal(size=N))
    columns = look_at_columns(frame, ["x", "other"])
    rows = prepare(frame, columns)
    model = make_pipeline(make_transformer(columns), MPRank()).fit(rows, frame["x"])
    np.testing.assert_array_equal(
        model.predict(prepare_like(frame, model)), model.predict(frame[["x", "other"]])
    )


def test_categories_read_as_floats_are_the_same_categories():
    frame = pd.DataFrame({"code": pd.Categorical(["1", "2", "1", "x"])})
    columns = look_at_columns(frame, ["code"])
    transformer = make_transformer(columns).fit(prepare(frame, columns))
    new = pd.DataFrame({"code": [1.0, np.nan]})
    assert transformer.transform(prepare_like(new, transformer)).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_frames_of_all_kinds():
    import polars as pl

    frame = pl.DataFrame({"a": np.linspace(0, 1, N), "grade": _cycle(1, 2)})
    assert recognise(frame, ignore=[]).roles == {"target": "grade"}
    numbers = pd.DataFrame(RNG.normal(size=(N, 3)))
    task = recognise(numbers)
    assert (task.roles, task.columns.numbers) == ({"target": "2"}, ["0", "1"])
    assert recognise(numbers, ignore="1").columns.numbers == ["0"]
    with pytest.raises(ValueError, match="frame=ndarray must be a dataframe"):
        recognise(numbers.to_numpy())
    with pytest.raises(ValueError, match="two columns are named '1'"):
        recognise(pd.DataFrame(np.ones((9, 2)), columns=[1, "1"]))

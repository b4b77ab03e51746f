"""Contests in a table go to a model of their own."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rankwise
from rankwise.cli._commands import rankwise as command
from rankwise.comparison import contests_of, recognise


def contests(frame, **told):
    return contests_of(frame, recognise(frame, **told))


def test_winners_and_losers():
    frame = pd.DataFrame(
        {"winner": ["a", "b", "c"], "loser": ["b", "c", "a"], "drawn": [False, True, False]}
    )
    found = contests(frame, winner="winner", loser="loser", tie="drawn")
    assert list(found.first) == ["a", "b", "c"]
    np.testing.assert_array_equal(found.outcome, [1.0, 0.5, 1.0])
    assert not found.ordered
    np.testing.assert_array_equal(contests(frame.drop(columns="drawn")).outcome, [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "ties", [["no", "Yes", " no"], [0, 1, 0], [0.0, 1.0, 0.0], ["False", "true", "false"]]
)
def test_words_for_a_tie(ties):
    frame = pd.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "a"], "drawn": ties})
    found = contests(frame, winner="winner", loser="loser", tie="drawn")
    np.testing.assert_array_equal(found.outcome, [1.0, 0.5, 1.0])


@pytest.mark.parametrize("bad", [None, "maybe", 2, np.nan])
def test_what_is_no_word_for_a_tie(bad):
    frame = pd.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "a"]})
    frame["drawn"] = pd.Series([True, False, bad], dtype=object)
    with pytest.raises(ValueError, match=r"row 3 of the contests: tie='drawn' holds .*, expected"):
        contests(frame, winner="winner", loser="loser", tie="drawn")


def test_blanks_around_names():
    # the winner " 0" was taken for an outcome of 0: that the other one had won
    frame = pd.DataFrame({"winner": [" 0", "1", "0 "], "loser": ["1", " 0", "1"]})
    found = contests(frame)
    assert list(found.first) == ["0", "1", "0"]
    np.testing.assert_array_equal(found.outcome, [1.0, 1.0, 1.0])


def test_two_sides_and_who_won():
    frame = pd.DataFrame(
        {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", "right", "tie"]}
    )
    found = contests(frame)
    np.testing.assert_array_equal(found.outcome, [1.0, 0.0, 0.5])
    assert found.ordered


@pytest.mark.parametrize(
    ("sides", "column", "told"),
    [
        (("model_a", "model_b"), "winner", ["model_a", "model_b", "tie (bothbad)"]),
        (("left", "right"), "winner", ["a", "c", "draw"]),
        (("first", "second"), "outcome", ["first", "second", "tie"]),
        (("first", "second"), "outcome", [1, 0, 0.5]),
        (("A", "B"), "won", ["a", "c", "tie"]),
    ],
)
def test_layouts(sides, column, told):
    frame = pd.DataFrame(
        {"question": [5, 6, 7], sides[0]: ["a", "b", "d"], sides[1]: ["b", "c", "e"]}
    )
    frame[column], frame["judge"] = told, ["x", "y", "x"]
    found = contests(frame)
    assert list(found.first) == ["a", "b", "d"]
    np.testing.assert_array_equal(found.outcome, [1.0, 0.0, 0.5])


def test_columns_of_these_names_that_are_no_contests():
    frame = pd.DataFrame(
        {"left": [1.5, 2, 3] * 9, "right": [4, 5.5, 6] * 9, "winner": [1, 2, 3] * 9}
    )
    assert recognise(frame).kind == "grades"


@pytest.mark.parametrize(
    ("row", "reason"),
    [(["a", "a"], "'a' meets itself"), (["a", None], "an item has no name")],
)
def test_rows_that_are_no_contest(row, reason):
    frame = pd.DataFrame([["a", "b"]] * 20 + [row], columns=["winner", "loser"])
    with pytest.raises(ValueError, match=f"row 21 of the contests: {reason}"):
        contests(frame)


def test_the_command_hands_them_on(tmp_path):
    random = np.random.default_rng(0)
    pairs = [random.choice(list("abcd"), 2, replace=False) for _ in range(200)]
    rows = [sorted(pair) if random.random() < 0.8 else sorted(pair)[::-1] for pair in pairs]
    table, out = tmp_path / "games.csv", tmp_path / "out"
    pd.DataFrame(rows, columns=["winner", "loser"]).to_csv(table, index=False)
    done = CliRunner().invoke(command, ["compare", str(table), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "a comes first" in done.output
    assert (out / "report.html").exists()
    model = rankwise.load(out / "model.rankwise")
    assert model.ranking().order[0] == "a"
    assert model.order_effect is False

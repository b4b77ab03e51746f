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


def test_two_sides_and_who_won():
    frame = pd.DataFrame(
        {"left": ["a", "b", "c"], "right": ["b", "c", "a"], "winner": ["left", "right", "tie"]}
    )
    found = contests(frame)
    np.testing.assert_array_equal(found.outcome, [1.0, 0.0, 0.5])
    assert found.ordered


@pytest.mark.parametrize(
    ("row", "reason"),
    [(["a", "a"], "'a' meets itself"), (["a", None], "an item has no name")],
)
def test_rows_that_are_no_contest(row, reason):
    frame = pd.DataFrame([["a", "b"]] * 20 + [row], columns=["winner", "loser"])
    with pytest.raises(ValueError, match=f"row 20 of the contests: {reason}"):
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

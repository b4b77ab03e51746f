"""The command that reads a table of contests."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from rankwise.cli._commands import rankwise

random = np.random.default_rng(0)


@pytest.fixture
def table(tmp_path):
    truth = {"ann": 1.0, "bob": 0.0, "cid": -1.0, "dot | eel": -1.5}
    names = list(truth)
    with (tmp_path / "duels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["judge", "model_a", "model_b", "winner"])
        for i in range(300):
            u, v = random.choice(4, 2, replace=False)
            chance = 1 / (1 + np.exp(truth[names[v]] - truth[names[u]]))
            won = "model_a" if random.random() < chance else "model_b"
            judge = f"j{i % 3}"
            if judge == "j2":
                won = ["model_a", "model_b"][random.integers(2)]
            writer.writerow([judge, names[u], names[v], "tie (bothbad)" if i % 5 == 0 else won])
    return tmp_path / "duels.csv"


def run(*arguments):
    return CliRunner().invoke(rankwise, ["duel", *map(str, arguments)])


def test_the_table_is_printed(table):
    said = run(table, "--rater", "judge")
    assert said.exit_code == 0, said.output
    for words in (
        "ann comes first",
        "advantage of coming first",
        "of 3 raters answer at random",
        "Goodness of fit: p =",
    ):
        assert words in said.output.replace("\n", " ")
    assert list(table.parent.iterdir()) == [table]


def test_the_report_is_written(table, tmp_path):
    out = tmp_path / "out"
    said = run(table, "--no-order", "--ties", "rao-kupper", "--out", out, "--rater", "judge")
    assert said.exit_code == 0, said.output
    found = {path.name for path in out.iterdir()}
    assert {"report.html", "strengths.csv", "strengths.png", "wins.png", "raters.png"} <= found
    rows = list(csv.DictReader((out / "strengths.csv").read_text().splitlines()))
    assert rows[0]["item"] == "ann"
    assert len(rows) == 4
    assert "dot | eel" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("closing", "verdict"), [("a,c", "no sign of misfit"), ("c,a", "misfit: ")]
)
def test_winners_that_go_in_circles_are_a_misfit(tmp_path, closing, verdict):
    path = tmp_path / "circle.csv"
    rows = (
        ["a,b"] * 30
        + ["b,a"] * 10
        + ["b,c"] * 30
        + ["c,b"] * 10
        + [closing] * 36
        + [closing[::-1]] * 4
    )
    path.write_text("\n".join(["winner,loser", *rows]))
    said = " ".join(run(path).output.split())
    assert "Goodness of fit: p = " in said
    assert f"({verdict}" in said


def test_the_first_one_always_won(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("left,right,winner\na,b,left\nb,c,left\nc,a,left\n")
    said = " ".join(run(path).output.split())
    assert "can't show whether the order of the two matters" in said
    assert "'order' can tell who wins without fail" in said


def test_refusals(table, tmp_path):
    said = run(table, "--rater", "nobody")
    assert said.exit_code == 1
    assert "the columns are judge" in said.output
    said = run(table, "--outcome", "who")
    assert said.exit_code == 1
    assert "column 'who' not found" in said.output
    bad = tmp_path / "bad.csv"
    bad.write_text("left,right,winner\na,b,left\nb,a,right\na,b,left\na,b,c\n")
    said = run(bad)
    assert said.exit_code == 1
    assert "bad.csv: row 4 of the contests: the outcome is 'c'" in said.output

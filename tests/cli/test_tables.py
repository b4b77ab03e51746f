"""Fit, predict, rank, evaluate and explain: a table in, a model kept, answers that add up."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rankwise import load, save
from rankwise.boosting import RankBoost
from rankwise.cli._commands import rankwise
from rankwise.magnitude import MPRank, cut_at_gap
from rankwise.ordinal import MulticlassPerceptron, PRank
from rankwise.pairwise import RankSVM
from rankwise.persistence import read_notes


def run(*arguments, **options):
    return CliRunner().invoke(rankwise, [*map(str, arguments)], **options)


def ok(*arguments, **options):
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    return result.stderr


def frame(n=120, seed=0):
    random = np.random.default_rng(seed)
    found = pd.DataFrame(random.normal(size=(n, 2)), columns=["size", "age"]).round(3)
    found["colour"] = random.choice(["red", "green", "blue"], n)
    score = found["size"] - found["age"] + (found["colour"] == "red") + random.normal(0, 0.2, n)
    found["grade"] = 1 + np.digitize(score, [-1, 0.5, 2])
    found["worth"] = score.round(4)
    found["list"] = np.arange(n) // 10
    found.loc[3, "age"] = np.nan
    return found


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    frame().drop(columns=["worth", "list"]).to_csv(path, index=False)
    return path


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "lists.csv"
    frame().drop(columns="grade").to_csv(path, index=False)
    return path


@pytest.fixture
def graded(table):
    path = table.with_name("graded.rankwise")
    ok("fit", table, "--target", "grade", "--method", "prank", "--model", path)
    return path


@pytest.fixture
def ranker(lists):
    path = lists.with_name("ranker.rankwise")
    ok("fit", lists, "--target", "worth", "--query", "list", "--model", path)
    return path


def test_a_model_and_what_it_knows_of_its_table(table, graded):
    assert read_notes(graded)["table"] == {
        "kind": "grades",
        "target": "grade",
        "labels": [1, 2, 3, 4],
    }
    header, *said = ok("predict", graded, table).split()
    assert header == "prediction"
    assert len(said) == 120
    assert set(said) <= {"1", "2", "3", "4"}
    assert np.mean(np.array(said, int) == frame()["grade"]) > 0.6
    told = json.loads(ok("predict", graded, table, "--json"))
    assert [str(one) for one in told["predictions"]] == said
    out = table.with_name("out.txt")
    assert ok("predict", graded, table, "--out", out) == ""
    assert out.read_text().split() == ["prediction", *said]


def test_new_rows_need_no_target_and_may_have_new_categories(table, graded):
    new = table.with_name("new.csv")
    new.write_text("colour,extra,age,size\nviolet,1,0.5,2\nred,x,,1\n")
    assert len(ok("predict", graded, new).split()) == 3
    new.write_text("colour,age\nred,1\n")
    assert "the model learned from 'size'" in refused("predict", graded, new)


def test_rows_are_ranked_within_their_lists(lists, ranker):
    rows = list(csv.DictReader(io.StringIO(ok("rank", ranker, lists))))
    scores = np.array(ok("predict", ranker, lists).split()[1:], float)
    assert len(rows) == 120
    for one in range(12):
        mine = [row for row in rows if row["list"] == str(one)]
        places = np.array([int(row["row"]) - 1 for row in mine])
        assert (np.sort(places) == np.arange(10 * one, 10 * one + 10)).all()
        assert (np.diff(scores[places]) <= 0).all()
        above = sum(int(row["above gap"]) for row in mine)
        assert above == cut_at_gap(scores[places])
    flipped = json.loads(ok("rank", ranker, lists, "--flip", "--top", 1, "--json"))
    assert [one["rows"][0]["row"] for one in flipped] == [
        int(scores[10 * i : 10 * i + 10].argmin()) + 10 * i + 1 for i in range(12)
    ]
    named = ok("rank", ranker, lists, "--name", "colour", "--top", 1).splitlines()
    assert named[0] == "list,place,row,name,score,above gap"
    assert named[1].split(",")[3] in {"red", "green", "blue"}


def test_a_score_for_each_grade_ranks_by_the_grade(table):
    """MulticlassPerceptron has no line, and its grades are not in the order of the alphabet."""
    rows = frame().fillna(0)
    words = np.array(["poor", "fair", "good", "fine"], dtype=object)
    rows["grade"] = words[rows["grade"] - 1]
    rows.to_csv(table, index=False)
    model = MulticlassPerceptron(label_order=words).fit(rows[["size", "age"]], rows["grade"])
    path = table.with_name("m.rankwise")
    save(model, path)
    ranked = csv.DictReader(io.StringIO(ok("rank", path, table)))
    grades = model.predict(rows[["size", "age"]])[[int(row["row"]) - 1 for row in ranked]]
    assert list(dict.fromkeys(grades)) == ["fine", "good", "fair", "poor"]
    assert json.loads(ok("evaluate", path, table, "--target", "grade", "--json"))["measures"]


def test_measures_have_intervals_and_two_models_a_test(table, graded):
    other = table.with_name("other.rankwise")
    save(MPRank().fit(frame()[["size"]], frame()["grade"]), other)
    held = table.with_name("held.csv")
    frame(90, seed=1).to_csv(held, index=False)
    told = json.loads(ok("evaluate", graded, held, "--json", "--against", other))
    assert told["rows"] == 90
    measures = {one["name"]: one for one in told["measures"]}
    assert set(measures) == {"MAE", "accuracy", "pairwise accuracy"}
    guesses = np.array(ok("predict", graded, held).split()[1:], int)
    truth = frame(90, seed=1)["grade"]
    assert measures["MAE"]["values"][0] == pytest.approx(np.abs(guesses - truth).mean())
    assert measures["accuracy"]["values"][0] == pytest.approx((guesses == truth).mean())
    for one in measures.values():
        assert one["intervals"][0][0] <= one["values"][0] <= one["intervals"][0][1]
        assert one["difference"] == pytest.approx(one["values"][1] - one["values"][0])
    assert measures["pairwise accuracy"]["pvalue"] < 0.05
    shown = ok("evaluate", graded, held)
    assert "90 rows" in shown
    assert "MAE" in shown


def test_lists_are_drawn_whole(lists, ranker):
    told = json.loads(ok("evaluate", ranker, lists, "--json"))
    assert (told["rows"], told["lists"]) == (120, 12)
    assert told["measures"][0]["values"][0] > 0.8


@pytest.mark.parametrize(
    "model", [PRank(), MPRank(), RankSVM(), RankBoost(20), RankBoost(20, max_leaf_nodes=4)]
)
@pytest.mark.parametrize("columns", [["size", "age"], ["age"]])
def test_parts_add_up_to_the_score(table, model, columns):
    rows = frame().fillna(0)
    path = table.with_name("m.rankwise")
    save(model.fit(rows[columns], rows["grade"]), path)
    rows.to_csv(table, index=False)
    for row in (1, 50):
        told = json.loads(ok("explain", path, table, "--row", row, "--json"))
        assert sum(part["adds"] for part in told["parts"]) == pytest.approx(told["score"])
        ranked = json.loads(ok("rank", path, table, "--json"))[0]["rows"]
        score = next(one["score"] for one in ranked if one["row"] == row)
        assert told["score"] == pytest.approx(score)
        values = {part["column"]: part["value"] for part in told["parts"]}
        values.pop("(start)", None)
        assert all(value == rows.loc[row - 1, name] for name, value in values.items())


def test_thresholds_over_a_chosen_score_are_explained(table):
    """The default model of a table with grades."""
    path = table.with_name("m.rankwise")
    ok("fit", table, "--target", "grade", "--out", path)
    explained = json.loads(ok("explain", path, table, "--row", 2, "--json"))
    assert sum(part["adds"] for part in explained["parts"]) == pytest.approx(explained["score"])


@pytest.mark.parametrize("part", ["table", "stream"])
@pytest.mark.parametrize("value", ["x", 3, ["x"], [["x"]], {"x": 1}, None, [None, {}]])
def test_notes_of_a_stranger_end_no_command(table, part, value):
    rows = frame().fillna(0)
    path = table.with_name("m.rankwise")
    names = ["kind", "target", "query", "user", "item", "rating", "labels", "columns", "name"]
    model = PRank().fit(rows[["size", "age"]].to_numpy(), rows["grade"])
    columns = {"columns": ["size", "age"]}
    for notes in (value, dict.fromkeys(names, value), columns, columns | {"labels": value}):
        save(model, path, notes={part: notes})
        for command in ("predict", "rank", "evaluate"):
            result = run(command, path, table)
            assert result.exit_code in {0, 1}
            assert isinstance(result.exception, SystemExit | None), (command, notes)


def test_a_category_is_one_part(table, graded):
    told = json.loads(ok("explain", graded, table, "--row", 2, "--json"))
    assert {part["column"] for part in told["parts"]} <= {"size", "age", "colour", "(start)"}
    assert sum(part["adds"] for part in told["parts"]) == pytest.approx(told["score"])
    shown = ok("explain", graded, table, "--row", 2, "--top", 1)
    assert "2 more columns" in shown
    assert "1 more column " in ok("explain", graded, table, "--row", 2, "--top", 2)


def test_what_a_score_starts_from_is_no_column(table):
    rows = frame().fillna(0)
    path = table.with_name("m.rankwise")
    # the ratings are so large that the score starts from more than any column adds
    save(MPRank().fit(rows[["size", "age"]], rows["grade"] + 100), path)
    rows.to_csv(table, index=False)
    told = json.loads(ok("explain", path, table, "--row", 2, "--top", 1, "--json"))
    assert [part["column"] for part in told["parts"]] in (["(start)", "size"], ["(start)", "age"])
    assert "1 more column " in ok("explain", path, table, "--row", 2, "--top", 1)


def test_rows_are_counted_from_the_first_of_the_table(table):
    """Also where one row is explained, or rows without a target are left out."""
    rows = frame().drop(columns="colour").fillna(0)
    path = table.with_name("m.rankwise")
    named = table.with_name("named.rankwise")
    save(PRank().fit(rows[["size", "age"]].to_numpy(), rows["grade"]), path)
    save(MPRank().fit(rows[["size", "age"]], rows["grade"]), named)
    broken = rows[["size", "age", "grade"]].astype({"grade": "Int64"})
    broken.loc[4, "age"] = np.nan
    broken.loc[:1, "grade"] = pd.NA
    broken.to_csv(table, index=False)
    missing = "row 5 has no number in column 'age'"
    assert missing in refused("predict", named, table)
    assert missing in refused("predict", path, _without(table, "grade"))
    assert missing in refused("explain", path, _without(table, "grade"), "--row", 5)
    broken.loc[3, "grade"] = 9
    broken.to_csv(table, index=False)
    assert "grade is 9.0 in row 4, and" in refused("evaluate", path, table, "--target", "grade")


def test_a_model_that_knows_other_grades_is_refused(table):
    """Its grades have no rank among those of the first model."""
    rows = frame().fillna(0)
    few, many = table.with_name("few.rankwise"), table.with_name("many.rankwise")
    X = rows[["size", "age"]]
    save(PRank().fit(X, rows["grade"].clip(upper=3)), few)
    save(PRank().fit(X, rows["grade"]), many)
    rows.assign(grade=rows["grade"].clip(upper=3)).to_csv(table, index=False)
    message = refused("evaluate", few, table, "--target", "grade", "--against", many)
    assert f"the prediction of {many} is 4 in row " in message
    assert "knows the grades 1, 2, 3" in message
    ok("evaluate", many, table, "--target", "grade", "--against", few)


def _without(table, column):
    path = table.with_name("without.csv")
    pd.read_csv(table).drop(columns=column).to_csv(path, index=False)
    return path


def test_what_has_no_parts_is_refused(table):
    rows = frame().fillna(0)
    path = table.with_name("m.rankwise")
    save(MPRank(kernel="rbf").fit(rows[["size", "age"]], rows["grade"]), path)
    assert "is not a sum over columns" in refused("explain", path, table, "--row", 1)


def test_grades_of_text(table):
    words = {1: "poor", 2: "fair", 3: "good", 4: "fine"}
    frame().assign(grade=frame()["grade"].map(words)).drop(columns=["worth", "list"]).to_csv(
        table, index=False
    )
    path = table.with_name("m.rankwise")
    options = ["fit", table, "--target", "grade", "--model", path]
    assert "--order" in refused(*options)
    for method in ("prank", "MPRank"):
        ok(*options, "--order", "poor,fair,good,fine", "--method", method)
        told = json.loads(ok("evaluate", path, table, "--json"))
        assert told["measures"][0]["name"] == "MAE"
        assert told["measures"][0]["values"][0] < 0.6


def test_ratings(tmp_path):
    random = np.random.default_rng(0)
    path, model = tmp_path / "u.data", tmp_path / "m.rankwise"
    rows = {(u, i): random.integers(1, 6) for u, i in random.integers(1, 13, size=(90, 2))}
    path.write_text("".join(f"{u}\t{i}\t{r}\t0\n" for (u, i), r in rows.items()))
    assert f"TasteModel learned from {len(rows)} rows" in ok("fit", path, "--model", model)
    assert len(ok("predict", model, path).split()) == 1 + len(rows)
    lists = json.loads(ok("rank", model, path, "--json"))
    assert len(lists) == len({u for u, _ in rows})
    told = json.loads(ok("evaluate", model, path, "--json"))
    assert told["measures"][0]["name"] == "pairwise accuracy"
    assert "is not a sum over columns" in refused("explain", model, path, "--row", 1)


def test_a_model_of_a_stream_goes_with_a_table(table):
    rows = frame().fillna(0).drop(columns=["colour", "worth", "list"])
    rows.to_csv(table, index=False)
    path = table.with_name("m.rankwise")
    ok("stream", table, "--target", "grade", "--model", path)
    assert len(ok("predict", path, table).split()) == 121
    assert json.loads(ok("evaluate", path, table, "--json"))["measures"]
    told = json.loads(ok("explain", path, table, "--row", 3, "--json"))
    assert {part["column"] for part in told["parts"]} == {"size", "age"}
    assert load(path)[1].n_rounds_ == 120


def test_mistakes_are_answered(table, graded, ranker, lists, tmp_path):
    fit = ["fit", table, "--model", tmp_path / "x.rankwise"]
    unknown = refused(*fit, "--target", "grade", "--method", "nonsense")
    assert "the method 'nonsense' is not known; these fit: constant, best-column" in unknown
    assert "column 'nonsense' not found" in refused(*fit, "--target", "nonsense")
    assert "--query: column 'nonsense' not found; the columns are size, age" in refused(
        "rank", ranker, lists, "--query", "nonsense"
    )
    near = "--query: column 'List' not found; did you mean 'list'?"
    assert near in refused("rank", ranker, lists, "--query", "List")
    partly = tmp_path / "partly.csv"
    frame().astype({"list": object}).assign(list=["a", None, *"b" * 118]).to_csv(partly)
    assert "row 2 has no value in column 'list'" in refused("rank", ranker, partly)
    assert "--row 999" in refused("explain", graded, table, "--row", 999)
    assert "can't be read" in refused("predict", table, table)
    assert "--target: column 'grade' not found" in refused("evaluate", graded, lists)
    plain = tmp_path / "plain.rankwise"
    save(PRank().fit(np.eye(3), [1, 2, 3]), plain)
    assert "--target: name one of the columns size" in refused("evaluate", plain, lists)
    plain = tmp_path / "plain.rankwise"
    save(MPRank().fit(np.eye(3), [1, 2, 3]), plain)
    assert "without names" in refused("predict", plain, lists)
    for text in ("", "a,b\n", "a,b\n1\n", "\x7fELF\0\1"):
        bad = tmp_path / "bad.csv"
        bad.write_bytes(text.encode())
        assert "bad.csv" in refused("fit", bad, "--model", tmp_path / "x.rankwise")
    one = tmp_path / "one.csv"
    one.write_text("a,grade\n1,2\n")
    assert "one row" in refused("fit", one, "--target", "grade", "--model", tmp_path / "x")
    votes = tmp_path / "votes.toc"
    votes.write_text("1: a")
    assert run("fit", votes, "--model", tmp_path / "x").exit_code == 1
    assert not list(tmp_path.glob("x*"))
    assert run("fit", tmp_path / "none.csv", "--model", "x").exit_code == 2
    assert run("explain", graded, table).exit_code == 2


def test_what_is_read_is_not_written_to(table, graded, tmp_path):
    before = table.read_bytes(), graded.read_bytes()
    link = tmp_path / "link.csv"
    link.hardlink_to(table)
    for arguments in (
        ("fit", table, "--target", "grade", "--model", table),
        ("fit", table, "--target", "grade", "--model", link),
        ("predict", graded, table, "--out", table),
        ("predict", graded, table, "--out", graded),
        ("export", graded, "--to", "json", "--out", graded),
    ):
        assert "would be overwritten; choose another file" in refused(*arguments)
    assert (table.read_bytes(), graded.read_bytes()) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_written_into(table, graded, tmp_path):
    pipe, out, plain = tmp_path / "pipe", tmp_path / "out", tmp_path / "plain"
    os.mkfifo(pipe)
    save(MPRank().fit([[0.0], [1.0], [2.0]], [1, 2, 3]), plain)
    for arguments in (
        ("fit", table, "--target", "grade", "--method", "OAPRank", "--model"),
        ("predict", graded, table, "--out"),
        ("export", plain, "--to", "json", "--out"),
    ):
        ok(*arguments, out)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        ok(*arguments, pipe)
        received = os.read(reader, 2**16)
        os.close(reader)
        assert received == out.read_bytes()
        assert pipe.is_fifo()


def test_a_measure_that_needs_pairs_is_told_so(table, graded, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("".join(table.read_text().splitlines(keepends=True)[:2]))
    shown = ok("evaluate", graded, one)
    assert "1 row\n" in shown
    assert "no two rows differ" in shown
    assert "nan" not in shown


def test_standard_input(table, graded):
    assert len(ok("predict", graded, "-", input=table.read_bytes()).split()) == 121


def test_lists_of_letor(tmp_path):
    folder = os.environ.get("RANKWISE_DATA")
    path = Path(folder or ".") / "letor-mq2008" / "S1.txt"
    if not path.exists():
        pytest.skip("RANKWISE_DATA has no MQ2008")
    few = tmp_path / "S1.txt"
    few.write_text("".join(path.read_text().splitlines(keepends=True)[:200]))
    ok("fit", few, "--model", tmp_path / "m")
    assert json.loads(ok("evaluate", tmp_path / "m", few, "--json"))["measures"][0]["name"] == (
        "NDCG@10"
    )

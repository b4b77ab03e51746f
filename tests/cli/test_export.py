"""``rankwise export``: the text of a saved model, to a file or to the output."""

import json

import pytest
from click.testing import CliRunner

import rankwise
from rankwise.boosting import RankBoost
from rankwise.cli._commands import rankwise as command
from rankwise.cli._export import FORMATS
from rankwise.pairwise import RankSVM
from rankwise.persistence._export import FORMATS as WRITERS

X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.5], [3.0, 0.0]], [0, 1, 1, 2]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.rankwise"
    rankwise.save(RankBoost(3).fit(X, y), path)
    return path


def run(*arguments):
    return CliRunner().invoke(command, ["export", *map(str, arguments)])


def test_all_formats_are_offered():
    assert sorted(WRITERS) == FORMATS


def test_to_the_output_and_to_a_file(model, tmp_path):
    done = run(model, "--to", "es-xgboost", "--name", "films", "--shift", "auto")
    assert done.exit_code == 0
    body = json.loads(done.output)
    assert body["model"]["name"] == "films"
    out = tmp_path / "model.json"
    more = ["--name", "films", "--shift", "auto", "--out", out]
    assert run(model, "--to", "es-xgboost", *more).output == ""
    assert json.loads(out.read_text()) == body
    program = run(model, "--to", "python").output
    told = {}
    exec(program, told)  # noqa: S102
    assert told["score"]({"x0": 3.0, "x1": 0.0}) > told["score"]({"x0": 0.0, "x1": 1.0})


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--to", "es-linear"], 1, "does not fit a boosted model: take one of"),
        (["--to", "xml"], 2, "'xml' is not one of"),
        ([], 2, "Missing option '--to'"),
        (["--to", "json", "--shift", "much"], 2, "'much' is not a valid float"),
        (["--to", "json", "--out", "nowhere/model.json"], 1, "nowhere"),
    ],
)
def test_mistakes(model, tmp_path, monkeypatch, arguments, status, message):
    monkeypatch.chdir(tmp_path)
    done = run(model, *arguments)
    assert done.exit_code == status
    assert message in done.output


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    done = run(path, "--to", "json")
    assert done.exit_code == 1
    assert "can't be loaded" in done.output
    assert run(tmp_path / "absent", "--to", "json").exit_code == 1


def test_a_linear_model_has_no_constant(tmp_path):
    rankwise.save(RankSVM().fit(X, y), tmp_path / "m")
    done = run(tmp_path / "m", "--to", "solr-linear", "--shift", "1")
    assert done.exit_code == 1
    assert "no constant" in done.output

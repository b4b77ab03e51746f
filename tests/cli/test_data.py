"""`rankwise data`: the registry, and files that are looked at."""

import json

import pytest
from click.testing import CliRunner

from rankwise.cli._commands import rankwise
from rankwise.datasets import list_datasets


def run(*arguments):
    return CliRunner().invoke(rankwise, ["data", *map(str, arguments)])


def test_all_data_sets_are_listed_and_shown():
    assert [row["name"] for row in json.loads(run("list", "--json").stdout)] == list_datasets()
    assert all(name in run("list").stdout for name in list_datasets())
    assert "terms" in run("show", "ml-100k").stdout
    assert json.loads(run("show", "ml-100k", "--json").stdout)["name"] == "ml-100k"


@pytest.mark.parametrize("command", ["show", "get"])
def test_a_wrong_name_is_answered_by_the_list(command):
    result = run(command, "nonsense")
    assert result.exit_code == 1
    assert "ml-100k" in result.stderr


def test_what_is_on_this_machine_is_not_downloaded(tmp_path, monkeypatch):
    (tmp_path / "ml-100k").mkdir()
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    assert run("get", "ml-100k").stdout.strip() == str(tmp_path / "ml-100k")
    assert json.loads(run("get", "ml-100k", "--json").stdout)["terms"]


def test_what_is_no_download():
    result = run("get", "movies")
    assert result.exit_code == 1
    assert "load_movies()" in result.stderr


def test_files_are_checked(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId,rating,timestamp\n1,2,3.5,4\n")
    assert run("check", path).exit_code == 0
    (found,) = json.loads(run("check", path, "--json").stdout)
    assert "MovieLens" in found["format"]
    path.write_text("userId,movieId,rating,timestamp\n1,2,x,4\n")
    result = run("check", path)
    assert result.exit_code == 1
    assert "rating is 'x'" in result.stdout

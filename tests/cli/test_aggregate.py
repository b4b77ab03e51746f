"""One ranking from many: files of all kinds, and every method side by side."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankwise.aggregation import kemeny, kemeny_cost
from rankwise.cli._aggregate import read_votes
from rankwise.cli._commands import rankwise

VOTES = "# three judges\na > b = c > d\nb, a, d\n3: d; c\n\na\tc\n"
ORDERS = [["a", ("b", "c"), "d"], ["b", "a", "d"], *[["d", "c"]] * 3, ["a", "c"]]
METHODS = {"kemeny", "borda", "copeland", "footrule", "markov_chain", "kwiksort"}


def run(*arguments, **options):
    return CliRunner().invoke(rankwise, ["aggregate", *map(str, arguments)], **options)


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.txt"
    path.write_text(VOTES)
    return path


@pytest.mark.parametrize("unlisted", ["ignored", "last"])
def test_costs_are_those_of_the_library(votes, unlisted):
    result = run(votes, "--unlisted", unlisted, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["voters"], told["candidates"]) == (6, 4)
    assert {row["method"] for row in told["methods"]} == METHODS
    least = kemeny(ORDERS, unlisted=unlisted).cost
    for row in told["methods"]:
        assert row["cost"] == kemeny_cost(row["order"], ORDERS, unlisted=unlisted)
        assert row["proven"] == (row["cost"] == least)


def test_side_by_side(votes):
    result = run(votes, "--top", 2)
    assert "6 voters, 4 candidates" in result.stdout
    assert set(result.stdout.split()) >= METHODS
    assert "the best, proven" in result.stdout
    assert "2 more places" in result.stdout


def test_one_method(votes):
    assert run(votes, "--method", "kemeny").stdout.split() == list(kemeny(ORDERS).order)
    assert len(run(votes, "--method", "borda", "--top", 2).stdout.split()) == 2


@pytest.mark.parametrize("text", ["a = b c", "a=b c", "a =b > c", "a= b, c"])
def test_ties_may_have_blanks_around_them(tmp_path, text):
    path = tmp_path / "votes"
    path.write_text(f"{text}\n")
    assert read_votes(path) == ([[("a", "b"), "c"]], [1])


def test_standard_input():
    assert run("-", "--json", input=VOTES).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rankings"),
        ("# nothing\n\n", "has no rankings"),
        ("a, b, a\n", "votes.txt:1: 'a' is duplicated"),
        ("a, b\na > > b\n", "votes.txt:2: a name is missing"),
        ("a\0b", "is not a text file"),
    ],
)
def test_mistakes_are_answered(votes, text, message):
    votes.write_text(text)
    result = run(votes)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_election_of_preflib():
    folder = os.environ.get("RANKWISE_DATA")
    files = sorted(Path(folder).glob("preflib/debian/*.to[ci]")) if folder else []
    if not files:
        pytest.skip("RANKWISE_DATA has no PrefLib files")
    told = json.loads(run(files[0], "--json").stdout)
    assert told["methods"][0]["proven"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_names_keep_their_letters_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "votes.txt"
    path.write_bytes("Zoë > José\n".encode(encoding))
    assert read_votes(path)[0] == [["Zoë", "José"]]

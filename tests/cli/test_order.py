"""Lines put in order by answers: kept at once, gone on with, taken back."""

import json
from itertools import combinations

import click
import pytest
from click.testing import CliRunner

from rankwise.cli._commands import rankwise

FRUIT = ["pear", "fig", "apple", "quince", "kiwi", "lime"]


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.txt"
    path.write_text("\n".join([*FRUIT, "", ""]), encoding="utf-8")
    return path


class Person:
    """Answers by the alphabet, from a list of commands first; None is Ctrl-C."""

    def __init__(self, monkeypatch, *first):
        self.first, self.asked, self.shown = list(first), [], []
        monkeypatch.setattr(click, "echo", self.echo)
        monkeypatch.setattr(click, "prompt", self.prompt)
        self.really_echo = click.utils.echo

    def echo(self, message=None, **options):
        self.shown.append(message)
        self.really_echo(message, **options)

    def prompt(self, *_, **__):
        u, v = (line[5:] for line in self.shown[-1].splitlines()[2:])
        self.asked.append((u, v))
        if self.first:
            said = self.first.pop(0)
            if said is None:
                raise click.Abort
            if said:
                return said
        return "1" if u < v else "2"


def run(*arguments):
    return CliRunner().invoke(rankwise, ["order", *map(str, arguments)])


def answers(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_lines_are_put_in_order(fruit, monkeypatch):
    person = Person(monkeypatch)
    result = run(fruit)
    assert result.exit_code == 0
    assert result.stdout.split() == sorted(FRUIT)
    kept = answers(fruit.with_name("fruit.txt.answers.json"))
    assert [(u, v) for u, v, _ in kept] == person.asked
    assert all(p == (u < v) for u, v, p in kept)
    assert run(fruit).stdout.split() == sorted(FRUIT)
    assert len(person.asked) == len(kept)


def test_ctrl_c_loses_nothing(fruit, monkeypatch):
    whole = Person(monkeypatch)
    run(fruit, "--log", fruit.with_name("other"))
    for n in range(len(whole.asked)):
        log = fruit.with_name(f"log{n}")
        person = Person(monkeypatch, *[""] * n, None)
        result = run(fruit, "--log", log)
        assert result.exit_code == 130
        assert f"{n} answers are kept" in result.stderr
        assert n == (len(answers(log)) if log.exists() else 0)
        result = run(fruit, "--log", log)
        assert result.stdout.split() == sorted(FRUIT)
        assert len(answers(log)) == len(whole.asked) == len(person.asked) - 1


def test_an_answer_can_be_taken_back(fruit, monkeypatch):
    wrong = Person(monkeypatch, "b", "", "1", "b")
    result = run(fruit)
    assert result.stdout.split() == sorted(FRUIT)
    asked = wrong.asked
    assert asked[0] == asked[1]
    assert asked[2] == asked[4]


def test_enough_gives_the_order_so_far(fruit, monkeypatch):
    Person(monkeypatch, "", "", "q")
    result = run(fruit)
    assert result.exit_code == 0
    assert sorted(result.stdout.split()) == sorted(FRUIT)
    assert "0 of 6 places" in result.stderr
    result = run(fruit, "--max-questions", 2)
    assert len(answers(fruit.with_name("fruit.txt.answers.json"))) == 4


def test_the_best_two(fruit, monkeypatch):
    person = Person(monkeypatch)
    assert run(fruit, "--top", 2).stdout.split() == ["apple", "fig"]
    assert len(person.asked) < len(list(combinations(FRUIT, 2)))


def test_lines_may_be_added_and_left_out(fruit, monkeypatch):
    Person(monkeypatch)
    run(fruit)
    log = fruit.with_name("fruit.txt.answers.json")
    before = answers(log)
    fruit.write_text("\n".join(["cherry", *FRUIT[1:]]), encoding="utf-8")
    person = Person(monkeypatch)
    assert run(fruit).stdout.split() == sorted(["cherry", *FRUIT[1:]])
    assert not {frozenset(pair) for pair in person.asked} & {frozenset(row[:2]) for row in before}
    assert {tuple(row) for row in before} <= {tuple(row) for row in answers(log)}


def test_no_matter(fruit, monkeypatch):
    Person(monkeypatch, "=")
    assert run(fruit).exit_code == 0
    assert answers(fruit.with_name("fruit.txt.answers.json"))[0][2] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\nb\na\n", "'a' is there twice"), ("\xff", "codec")],
)
def test_bad_files_are_named(tmp_path, text, message):
    path = tmp_path / "items"
    path.write_bytes(text.encode("latin-1"))
    result = run(path)
    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.parametrize("text", ["{", "[1]", '[["pear", "pear", 1]]', '[["pear", "fig", 2]]', "3"])
def test_a_bad_log_is_refused_and_left(fruit, text):
    log = fruit.with_name("log")
    log.write_text(text)
    result = run(fruit, "--log", log)
    assert result.exit_code == 1
    assert "--log" in result.output
    assert log.read_text() == text


def test_real_keys(fruit):
    result = CliRunner().invoke(rankwise, ["order", str(fruit)], input="1\nx\n2\nq\n")
    assert result.exit_code == 0
    assert "Question 3" in result.stderr
    assert len(answers(fruit.with_name("fruit.txt.answers.json"))) == 2

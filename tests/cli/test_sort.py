"""Lines put in order by answers: kept at once, gone on with, taken back."""

import errno
import json
import os
import signal
import subprocess
import sys
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
    return CliRunner().invoke(rankwise, ["sort", *map(str, arguments)])


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
        assert (f"{n} answers are kept" if n else "No answers to keep") in result.stderr
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
    [
        ("a\nb\na\n", "'a' is duplicated in lines 1 and 3"),
        ("a\r\nb\n a \n", "'a' is duplicated"),
        ("\xe9", "not UTF-8 text"),
        ("a\0b\nc\n", "not a text file"),
        ("\xff\xfea\0\n\0b\0", "UTF-16"),
        ("\xfe\xff\0a\0\n\0b", "UTF-16"),
    ],
)
def test_bad_files_are_named(tmp_path, text, message):
    path = tmp_path / "items"
    path.write_bytes(text.encode("latin-1"))
    result = run(path)
    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.parametrize(
    "text",
    [
        "{", "[1]", '[["pear", "pear", 1]]', '[["pear", "fig", 2]]', "3", "", "\0", "{}", '"abc"',
        "[[]]", '[["a", "b", NaN]]', '[["a", 1, 1]]', "[" * 100_000, "\x1f\x8b",
    ],
)  # fmt: skip
def test_a_bad_log_is_refused_and_left(fruit, text):
    log = fruit.with_name("log")
    log.write_text(text)
    result = run(fruit, "--log", log)
    assert result.exit_code == 1
    assert "--log" in result.output
    assert log.read_text() == text


def test_real_keys(fruit):
    result = CliRunner().invoke(rankwise, ["sort", str(fruit)], input="1\nx\n2\nq\n")
    assert result.exit_code == 0
    assert "Question 3" in result.stderr
    assert len(answers(fruit.with_name("fruit.txt.answers.json"))) == 2


SORT = [sys.executable, "-c", "from rankwise.cli import main; main()", "sort"]


def real(*arguments, said="", **environment):
    """Run the command in a process of its own."""
    return subprocess.run(
        [*SORT, *arguments],
        input=said if isinstance(said, bytes) else said.encode(),
        capture_output=True,
        env=os.environ | environment,
        timeout=300,
        check=False,
    )


def test_characters_that_the_output_lacks_are_escaped(tmp_path):
    path = tmp_path / "words"
    path.write_text("caf\xe9\n\U0001f34b lemon\n", encoding="utf-8")
    lemon = b"\\U0001f34b lemon"
    # click takes ASCII for a mistake, and writes UTF-8.
    for coding, lines in {
        "ascii": {"caf\xe9".encode(), "\U0001f34b lemon".encode()},
        "latin-1": {b"caf\xe9", lemon},
        "cp1252:strict": {b"caf\xe9", lemon},
    }.items():
        result = real(path, said="=\n", PYTHONIOENCODING=coding, LANG="C", LC_ALL="C")
        assert result.returncode == 0, result.stderr
        assert b"Traceback" not in result.stderr
        assert set(result.stdout.split(b"\n")) - {b""} == lines
        (tmp_path / "words.answers.json").unlink()


def test_bytes_that_are_no_text_are_no_answer(tmp_path):
    path = tmp_path / "words"
    path.write_text("a\nb\n", encoding="utf-8")
    result = real(path, said=b"\xff\n\xc3\n1\n", PYTHONIOENCODING="utf-8")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count(b"Error:") == 2
    assert len(answers(tmp_path / "words.answers.json")) == 1


def test_the_end_of_the_input_says_what_is_kept(fruit):
    log = fruit.with_name("log.json")
    result = real(fruit, "--log", log, said="")
    assert result.returncode == 130
    assert b"No answers to keep" in result.stderr
    assert not log.exists()
    result = real(fruit, "--log", log, said="1\n2\n")
    assert result.returncode == 130
    assert f"2 answers are kept in {log}".encode() in result.stderr
    assert len(answers(log)) == 2


def test_a_real_ctrl_c(fruit):
    log = fruit.with_name("log.json")
    process = subprocess.Popen(
        [*SORT, fruit, "--log", log],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        process.stdin.write(b"1\n2\n")
        process.stdin.flush()
        seen = b""
        while b"Question 3" not in seen:
            seen += os.read(process.stderr.fileno(), 1_000)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert b"2 answers are kept" in said
    assert len(answers(log)) == 2


@pytest.mark.parametrize("name", ["no/such/log.json", "fruit.txt/log.json", "x" * 250])
def test_a_log_that_cannot_be_written_is_refused_before_the_first_question(fruit, name):
    result = CliRunner().invoke(
        rankwise, ["sort", str(fruit), "--log", str(fruit.parent / name)], input="1\n"
    )
    assert result.exit_code == 1
    assert "it can't be written" in result.stderr
    assert "Question" not in result.stderr
    assert [path.name for path in fruit.parent.iterdir()] == ["fruit.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_log_that_is_a_pipe_is_refused(fruit):
    log = fruit.with_name("log")
    os.mkfifo(log)
    result = CliRunner().invoke(rankwise, ["sort", str(fruit), "--log", str(log)], input="1\n")
    assert result.exit_code == 1
    assert f"--log {log} is not a regular file" in result.stderr
    assert log.is_fifo()


def test_a_read_only_log_is_left(fruit, monkeypatch):
    log = fruit.with_name("log")
    log.write_text('[["pear", "fig", 1]]')
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == log and mode == os.W_OK))
    result = CliRunner().invoke(rankwise, ["sort", str(fruit), "--log", str(log)], input="1\n")
    assert result.exit_code == 1
    assert "may not be written to" in result.stderr
    assert log.read_text() == '[["pear", "fig", 1]]'


def test_a_finished_log_need_not_be_written(fruit, monkeypatch):
    Person(monkeypatch)
    run(fruit)
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    assert run(fruit).stdout.split() == sorted(FRUIT)


def test_a_full_disk_claims_no_more_than_is_kept(fruit, monkeypatch):
    Person(monkeypatch, "", "")
    sync, times = os.fsync, []

    def full(handle):
        times.append(handle)
        if len(times) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    result = run(fruit)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "2 answers are kept" in result.stderr
    log = fruit.with_name("fruit.txt.answers.json")
    assert len(answers(log)) == 2
    assert {path.name for path in fruit.parent.iterdir()} == {"fruit.txt", log.name}


@pytest.mark.parametrize("failure", [KeyboardInterrupt, click.Abort])
def test_an_interrupted_write_claims_no_more_than_is_kept(fruit, monkeypatch, failure):
    Person(monkeypatch)
    times = []

    def interrupted(_):
        times.append(failure)
        if len(times) == 2:
            raise failure

    monkeypatch.setattr(os, "fsync", interrupted)
    result = run(fruit)
    assert result.exit_code == 130
    assert "1 answers are kept" in result.stderr
    assert len(answers(fruit.with_name("fruit.txt.answers.json"))) == 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n \n\t\n", []),
        ("only\n", ["only"]),
        ("\ufeffpear\nfig", ["fig", "pear"]),
        ("pear\r\nfig\r\n", ["fig", "pear"]),
        ("pear\rfig", ["fig", "pear"]),
        ("pe\u2028ar\n\x0cfi\x85g\n", ["fi\x85g", "pe\u2028ar"]),
        ("\x1b[2J\nb", ["\x1b[2J", "b"]),
        ("x" * 300_000 + "\ny", ["x" * 300_000, "y"]),
    ],
)
def test_lines_of_all_kinds(tmp_path, monkeypatch, text, lines):
    path = tmp_path / "items"
    path.write_bytes(text.encode())
    person = Person(monkeypatch)
    result = run(path)
    assert result.exit_code == 0
    assert sorted(line for line in result.stdout.split("\n") if line) == lines
    assert len(result.stderr) < 5_000
    assert "\x1b" not in result.stderr
    assert len(person.asked) == max(0, len(lines) - 1)
    if not lines:
        assert "no lines to put in order" in result.stderr


def test_a_bom_is_no_part_of_the_first_line_or_of_a_log(fruit, monkeypatch):
    Person(monkeypatch)
    run(fruit)
    log = fruit.with_name("fruit.txt.answers.json")
    for path in (fruit, log):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    person = Person(monkeypatch)
    assert run(fruit).stdout.split() == sorted(FRUIT)
    assert person.asked == []


def test_half_a_character_in_a_log_is_kept(fruit, monkeypatch):
    log = fruit.with_name("log")
    log.write_text('[["\\ud83c", "fig", 1]]')
    Person(monkeypatch)
    assert run(fruit, "--log", log).exit_code == 0
    assert answers(log)[0] == ["\ud83c", "fig", 1]


@pytest.mark.parametrize("name", [".", "no-such-file"])
def test_what_is_no_file_is_named(tmp_path, name):
    result = run(tmp_path / name)
    assert result.exit_code == 2
    assert "FILE" in result.stderr
    result = run(tmp_path / "no", "--log", tmp_path)
    assert result.exit_code == 2


def test_a_log_that_is_a_folder(fruit):
    assert run(fruit, "--log", fruit.parent).exit_code == 2
    assert "name too long" in run(fruit, "--log", fruit.with_name("x" * 300)).stderr
    fruit.with_name("fruit.txt.answers.json").mkdir()
    result = run(fruit)
    assert result.exit_code == 1
    assert "is not a regular file" in result.stderr


def test_many_lines_are_read_once(tmp_path, monkeypatch):
    path = tmp_path / "items"
    path.write_text("\n".join(map(str, range(30_000))), encoding="utf-8")
    Person(monkeypatch, None)
    result = run(path)
    assert result.exit_code == 130
    assert "Question 1 of about 533193" in result.stderr


JUDGE = """
import sys
u, v = sys.argv[1:3]
print("=" if u[0] == v[0] else 1 if u < v else 2)
"""


@pytest.fixture
def judge(tmp_path):
    path = tmp_path / "judge.py"
    path.write_text(JUDGE)
    return f"{sys.executable} {path} {{1}} {{2}}"


def sort(*arguments):
    return CliRunner().invoke(rankwise, ["sort", *map(str, arguments)])


@pytest.mark.parametrize("more", [[], ["--jobs", 4], ["--both-ways", "--jobs", 2]])
def test_a_command_answers(fruit, judge, more):
    result = sort(fruit, "--with", judge, *more)
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == sorted(FRUIT)
    kept = answers(fruit.with_name("fruit.txt.answers.json"))
    if "--both-ways" in more:
        assert {(u, v) for u, v, *_ in kept} == {(v, u) for u, v, *_ in kept}
    told = json.loads(sort(fruit, "--with", judge, *more, "--json", "--top", 2).stdout)
    assert told["order"] == ["apple", "fig"]
    assert told["settled"] == [True, True]


def test_answers_belong_to_the_command_that_gave_them(fruit, tmp_path, judge, monkeypatch):
    log = fruit.with_name("fruit.txt.answers.json")
    assert sort(fruit, "--with", judge).stdout.split() == sorted(FRUIT)
    first = answers(log)
    assert {command for *_, command in first} == {judge}
    (tmp_path / "other.py").write_text(JUDGE.replace("1 if u < v else 2", "2 if u < v else 1"))
    other = judge.replace("judge.py", "other.py")
    assert sort(fruit, "--with", other).stdout.split() == sorted(FRUIT)[::-1]
    person = Person(monkeypatch)
    assert run(fruit).stdout.split() == sorted(FRUIT)
    assert person.asked
    kept = answers(log)
    assert kept[: len(first)] == first
    # a command that gave its answers before is not called again
    (tmp_path / "judge.py").write_text("print('tired')")
    assert sort(fruit, "--with", judge).stdout.split() == sorted(FRUIT)
    assert run(fruit).stdout.split() == sorted(FRUIT)
    assert answers(log) == kept


@pytest.mark.skipif(os.name != "posix", reason="sh is that of POSIX")
@pytest.mark.parametrize(
    "script",
    [
        # lines as arguments of the script: data, whatever they hold
        """sh -c 'test "$1" \\< "$2" && echo 1 || echo 2' sh {1} {2}""",
        """sh -c 'if test "{1}" \\< "{2}"; then echo 1; else echo 2; fi'""",
    ],
)
def test_a_script_of_the_shell(fruit, script):
    result = sort(fruit, "--with", script)
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == sorted(FRUIT)


@pytest.mark.skipif(os.name != "posix", reason="sh is that of POSIX")
def test_lines_are_data_as_arguments_of_a_script(tmp_path):
    path = tmp_path / "lines"
    path.write_text("$(touch bad)\n; touch bad\n'a\" {2} {1}\n`touch bad`\n-n\n")
    result = sort(path, "--with", """sh -c 'test "x$1" \\< "x$2" && echo 1 || echo 2' sh {1} {2}""")
    assert result.exit_code == 0, result.output
    assert sorted(result.stdout.splitlines()) == result.stdout.splitlines()
    assert not list(tmp_path.glob("bad"))
    assert not os.path.exists("bad")  # noqa: PTH110


def test_lines_are_arguments_and_never_read_by_a_shell(tmp_path, judge):
    path = tmp_path / "lines"
    path.write_text("$(touch bad)\n; touch bad\n'a\" {2} {1}\n`touch bad`\n")
    result = sort(path, "--with", judge)
    assert result.exit_code == 0, result.output
    assert sorted(result.stdout.splitlines()) == result.stdout.splitlines()
    assert not list(tmp_path.glob("bad")) and not os.path.exists("bad")  # noqa: PT018, PTH110


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("no-such-command {1} {2}", 1, "--with no-such-command: No such file"),
        ("echo 3 {1} {2}", 1, "expected 1, 2 or ="),
        ("ls --nonsense {1} {2}", 1, "--with ended with 2: "),
        ("echo {1}", 2, "must have {1} and {2}"),
        ("echo '{1} {2}", 2, "No closing quotation"),
    ],
)
def test_a_command_that_does_not_answer(fruit, command, status, message):
    result = sort(fruit, "--with", command)
    assert result.exit_code == status
    assert message in result.stderr


def test_what_a_command_has_answered_is_kept(fruit, tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(
        "import pathlib, sys\np = pathlib.Path(sys.argv[3]); n = len(p.read_text())\n"
        "p.write_text('x' * (n + 1)); print(1 if n < 2 else 'tired')\n"
    )
    (tmp_path / "count").write_text("")
    result = sort(fruit, "--with", f"{sys.executable} {path} {{1}} {{2}} {tmp_path / 'count'}")
    assert result.exit_code == 1
    assert "'tired'" in result.stderr
    assert "2 answers are kept" in result.stderr


def test_a_person_has_one_job(fruit):
    assert sort(fruit, "--jobs", 2).exit_code == 2

"""What holds for every command: help, exit codes, pipes, terminals of any kind."""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rankwise.cli._commands import SECTIONS, rankwise

SCRIPT = [sys.executable, "-c", "from rankwise.cli import main; main()"]
VOTES = "a > b > c\nb > a > c\na > c > b\n"


def commands_of(group):
    """Return all commands of a group by their names, loaded."""
    context = click.Context(group)
    return {name: group.get_command(context, name) for name in group.list_commands(context)}


def leaves(group=rankwise, before=()):
    for name, command in commands_of(group).items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*before, name))
        yield (*before, name), command


@pytest.mark.parametrize(
    ("path", "command"), list(leaves()), ids=lambda p: " ".join(p) if isinstance(p, tuple) else ""
)
def test_every_command_has_two_examples_that_can_be_parsed(path, command):
    shown = CliRunner().invoke(rankwise, [*path, "--help"]).stdout
    lines = shown.partition("Examples:")[2].strip().splitlines()
    assert len(lines) >= 2
    for line in lines[:2]:
        words = line.strip().split("rankwise ", 1)[1].split(">")[0].split()
        assert words[: len(path)] == list(path) or words[0] in command.commands
        options = {word for word in words if word.startswith("--")}
        known = {
            name
            for c in [command, *getattr(command, "commands", {}).values()]
            for parameter in c.params
            for name in parameter.opts
        }
        assert options <= known


def test_commands_of_the_guide_exist():
    pages = (Path(__file__).parents[2] / "docs" / "user_guide").glob("*.md")
    text = "".join(page.read_text("utf-8") for page in sorted(pages))
    blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^(?:\$ |.*\| )?rankwise (.*)$", "".join(blocks), re.MULTILINE)
    assert len(lines) > 15
    for line in lines:
        words = shlex.split(line)
        command = commands_of(rankwise)[words[0]]
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_commands_are_grouped_by_what_a_person_wants():
    shown = CliRunner().invoke(rankwise, ["--help"]).stdout
    places = [shown.index(f"{title}:") for title in SECTIONS if f"{title}:" in shown]
    assert places == sorted(places)
    assert all(f"  {name} " in shown for name in commands_of(rankwise))
    assert "..." not in shown.partition("Options:")[2]


# Commands whose line in the list is shorter than the first sentence of their help.
SHORTER = {"export", "duel", "serve", "warmup", "doctor"}


def test_the_list_of_commands_says_what_their_help_says():
    commands = commands_of(rankwise)
    for section in SECTIONS.values():
        for name, (_, text) in section.items():
            assert (
                name in SHORTER
                or commands[name].help.startswith(f"{text}\n")
                or (commands[name].help == text)
            )


LOADED = """
import os, sys
heavy = ["numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"]
try:
    from rankwise.cli import main
    main()
finally:
    print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["nonsense"], ["fit", "--help"], ["stream", "--help"]]
)
def test_help_loads_no_library(arguments):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], check=False, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_tab_key_loads_no_library():
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={
            **os.environ,
            "_RANKWISE_COMPLETE": "bash_complete",
            "COMP_WORDS": "rankwise ",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert {"plain,compare", "plain,show"} <= set(done.stdout.split())
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("width", [40, 80])
def test_the_list_of_commands_fits_the_terminal(width):
    shown = CliRunner().invoke(rankwise, ["--help"], terminal_width=width).stdout
    assert max(map(len, shown.splitlines())) <= width
    assert all(f"  {name} " in shown for name in commands_of(rankwise))


def test_an_older_name_still_works_with_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = CliRunner().invoke(rankwise, ["order", "--help"])
    assert result.exit_code == 0
    assert "which of two goes first" in result.stdout
    assert result.stderr == (
        "Warning: 'rankwise order' is deprecated since rankwise 0.2 and goes in 0.4: use "
        "'rankwise sort'\n"
    )
    assert not CliRunner().invoke(rankwise, ["sort", "--help"]).stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    shown = CliRunner().invoke(rankwise, ["completion", shell]).stdout
    assert "_RANKWISE_COMPLETE" in shown
    done = subprocess.run(
        SCRIPT,
        env={
            **os.environ,
            "_RANKWISE_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": "rankwise str",
            "COMP_CWORD": "1" if shell != "fish" else "str",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "stream" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 2),
        (["nonsense"], 2),
        (["fit"], 2),
        (["sort", "no-such-file"], 2),
        (["stream", "--target", "x"], 2),
        (["data", "show", "nonsense"], 1),
        (["--version"], 0),
    ],
)
def test_exit_codes(arguments, status):
    result = CliRunner().invoke(rankwise, arguments)
    assert result.exit_code == status
    assert "Traceback" not in result.output


@pytest.mark.parametrize("failure", [KeyboardInterrupt, click.Abort])
def test_ctrl_c_anywhere_is_130(monkeypatch, failure):
    def interrupted():
        raise failure

    monkeypatch.setattr("rankwise.datasets.list_datasets", interrupted)
    assert CliRunner().invoke(rankwise, ["data", "list"]).exit_code == 130


def in_terminal(arguments, said=b"", *, columns=80, until=None, **environment):
    """Run the console script in a terminal of its own; return what it shows and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ.update(COLUMNS=str(columns), LINES="24", TERM="xterm", **environment)
        os.execv(SCRIPT[0], [*SCRIPT, *map(str, arguments)])  # noqa: S606
    shown, end = b"", time.monotonic() + 60
    asked, last = said, time.monotonic()
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            if said == b"\x03" and not asked and time.monotonic() - last > 10:
                # A key that meets a change of the terminal's mode is lost: press it again.
                asked = said
            else:
                continue
        else:
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                break
        if asked and (until is None or until in shown):
            os.write(terminal, asked)
            asked, last = b"", time.monotonic()
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return shown.decode("utf-8", "replace"), status


def test_a_person_sorts_in_a_terminal(tmp_path):
    path = tmp_path / "fruit.txt"
    path.write_text("pear\nfig\n")
    shown, status = in_terminal(["sort", path], b"1\r", until=b"enough)")
    assert status == 0
    assert "Question 1 of about 1" in shown
    assert "Traceback" not in shown


def test_ctrl_c_in_a_terminal(tmp_path):
    path = tmp_path / "fruit.txt"
    path.write_text("pear\nfig\n")
    shown, status = in_terminal(["sort", path], b"\x03", until=b"enough)")
    assert status == 130
    assert "No answers to keep" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    "environment",
    [pytest.param({}, marks=pytest.mark.slow), {"LC_ALL": "C", "PYTHONUTF8": "0"}],
)
def test_narrow_and_plain_terminals(tmp_path, environment):
    path = tmp_path / "votes.txt"
    path.write_text(VOTES)
    shown, status = in_terminal(["aggregate", path], columns=40, **environment)
    assert status == 0, shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 40
    assert any("kemeny" in line for line in lines)


def test_a_stream_shows_its_loss_in_a_terminal(tmp_path):
    path = tmp_path / "graded.csv"
    path.write_text("a,grade\n" + "".join(f"{i % 7},{1 + i % 7 // 3}\n" for i in range(200)))
    options = ["stream", path, "--target", "grade", "--model", tmp_path / "m", "--out"]
    shown, status = in_terminal([*options, tmp_path / "out"])
    assert status == 0, shown
    assert "200 rows, mean rank loss 0." in shown


def test_pipes_are_quiet(tmp_path):
    path = tmp_path / "graded.csv"
    path.write_text("a,grade\n" + "".join(f"{i % 7},{1 + i % 7 // 3}\n" for i in range(200)))
    script = f"""
import sys
from rankwise.cli._commands import rankwise
for arguments in (
    ["stream", {str(path)!r}, "--target", "grade", "--model", {str(tmp_path / "s")!r}],
    ["fit", {str(path)!r}, "--target", "grade", "--model", {str(tmp_path / "m")!r}, "--json"],
    ["predict", {str(tmp_path / "m")!r}, {str(path)!r}],
):
    rankwise(arguments, prog_name="rankwise", standalone_mode=False)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 402
    assert lines[201] == "prediction"
    assert json.loads(lines[200])["method"] == "MPRank"


def test_a_reader_that_goes_away_is_no_mistake():
    process = subprocess.Popen(
        [*SCRIPT, "data", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in {1, -signal.SIGPIPE}


def test_a_warning_is_a_line(tmp_path, recwarn):
    (tmp_path / "bad.toc").write_text("nothing")
    result = CliRunner().invoke(rankwise, ["aggregate", str(tmp_path / "bad.toc")])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert not recwarn.list

import subprocess
import sys

import pytest
from click.testing import CliRunner

from rankwise import __version__
from rankwise.cli import main
from rankwise.cli._commands import rankwise


def test_version():
    assert __version__ in CliRunner().invoke(rankwise, ["--version"]).output


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "rankwise.cli._commands")
    with pytest.raises(SystemExit, match=r"rankwise\[cli,plots\]"):
        main()


def test_the_console_script_runs():
    shown = subprocess.run(
        [sys.executable, "-c", "from rankwise.cli import main; main()", "--help"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "compare" in shown.stdout


def test_an_unknown_command_is_answered():
    result = CliRunner().invoke(rankwise, ["nonsense"])
    assert result.exit_code == 2
    assert "No such command" in result.output
    assert (
        "No such command 'fitt'. Did you mean 'fit'?"
        in CliRunner().invoke(rankwise, ["fitt"]).output
    )

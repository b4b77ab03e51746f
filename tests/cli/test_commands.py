import inspect
import subprocess
import sys

import pytest
from click.testing import CliRunner

from rankwise import __version__
from rankwise.cli import main
from rankwise.cli._commands import _FULL, _NAMES, rankwise
from rankwise.experiments import EXPERIMENTS


def test_version():
    assert __version__ in CliRunner().invoke(rankwise, ["--version"]).output


def test_names_are_those_of_the_experiments():
    assert set(_NAMES) == set(EXPERIMENTS)


def test_the_long_form_sets_sizes_that_exist():
    for name, sizes in _FULL.items():
        inspect.signature(EXPERIMENTS[name]).bind_partial(**sizes)


def test_experiment_writes_and_shows_its_report(tmp_path):
    result = CliRunner().invoke(rankwise, ["experiment", "synthetic", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "PRank, averaged" in result.output
    assert "How far to trust it" in result.output
    assert (tmp_path / "report.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experiment", "nonsense"], "synthetic"),
        (["experiment", "synthetic", "--seed", "x"], "not a valid integer"),
        (["experiment", "synthetic", "--seed", "-1"], "range"),
        (["nonsense"], "No such command"),
    ],
)
def test_wrong_arguments_are_answered(arguments, message):
    result = CliRunner().invoke(rankwise, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(
        rankwise, ["experiment", "synthetic", "--out", str(tmp_path / "file")]
    )
    assert result.exit_code == 2
    assert "is a file" in result.output


def test_a_folder_that_cannot_be_made_is_named_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(
        rankwise, ["experiment", "synthetic", "--out", str(tmp_path / "file" / "deep")]
    )
    assert result.exit_code == 1
    assert "Not a directory" in result.output


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
    assert "experiment" in shown.stdout

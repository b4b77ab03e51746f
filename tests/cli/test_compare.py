"""The command `rankwise compare`, through a pipe."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rankwise
from rankwise.cli import _compare
from rankwise.cli._commands import rankwise as command
from rankwise.comparison import compare, prepare_like
from rankwise.reports import Report

RNG = np.random.default_rng(0)
FEW = ["--method", "constant", "--method", "MPRank", "--quick"]


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(RNG.normal(size=(80, 2)), columns=["a", "b"])
    frame["grade"] = np.digitize(frame["a"], [-1, 1])
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def _piped(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", "from rankwise.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        check=False,
        **options,
    )


def test_a_pipe_gets_the_table_and_a_folder_the_report(table, tmp_path):
    out = tmp_path / "out"
    environment = {**os.environ, "LC_ALL": "C", "COLUMNS": "40", "PYTHONUTF8": "0"}
    with table.open("rb") as file:
        done = _piped("compare", "-", *FEW, "--out", out, stdin=file, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    text = done.stdout.decode("ascii")
    assert "Use MPRank" in text
    assert max(map(len, text.splitlines()[:-1])) <= 40
    assert sorted(path.name for path in out.iterdir()) == ["model.rankwise", "report.html"]
    model = rankwise.load(out / "model.rankwise")
    frame = pd.read_csv(table)
    assert np.corrcoef(model.predict(prepare_like(frame, model)), frame["grade"])[0, 1] > 0.8


def _run(*arguments):
    return CliRunner().invoke(command, ["compare", *map(str, arguments)])


def test_what_rows_are_called_is_not_learned_from(table, tmp_path):
    frame = pd.read_csv(table)
    frame["title"] = [f"the film number {n} of them all" for n in range(len(frame))]
    frame.to_csv(table, index=False)
    arguments = [table, "--target", "grade", "--out", tmp_path / "out", *FEW]
    refused = _run(*arguments)
    assert refused.exit_code == 1
    assert "free text in 'title'" in refused.output
    assert _run(*arguments, "--name", "title").exit_code == 0


def test_forms_for_machines(table, tmp_path):
    out = tmp_path / "out"
    done = _run(table, *FEW, "--out", out, "--format", "json", "--timeout", "600")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["kind"], found["best"]) == ("grades", "MPRank")
    assert found["methods"][0]["measures"]["rank loss"]["mean"] < 0.4
    assert [Path(path).name for path in found["files"]] == ["model.rankwise", "report.html"]


@pytest.mark.parametrize("form", ["csv", "md", "latex"])
def test_tables_for_papers(form, table, capsys):
    found = compare(pd.read_csv(table), methods=["constant"], quick=True)
    report = Report("title", "", [found.table()], found.advice)
    _compare._print(found, report, form, [])
    text = capsys.readouterr().out
    assert "constant" in text
    assert {"csv": "table,method", "md": "| method |", "latex": r"\toprule"}[form] in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.csv"], 1, "absent.csv: No such file or directory"),
        (["{table}", "--target", "z"], 1, "no column 'z' in this table"),
        (["{table}", "--ignore", "a,b"], 1, "no column is left beside 'grade'"),
        (["{table}", "--method", "magic"], 1, "the method 'magic' is not known"),
        (["{table}", "--out", "{table}/x"], 1, "Not a directory"),
        (["{table}", "--format", "docx"], 2, "Invalid value for '--format'"),
        (["{table}", "--timeout", "0"], 2, "Invalid value for '--timeout'"),
        (["{votes}"], 1, "holds 1 rankings, which are not compared"),
        (["{binary}"], 1, "a binary file of no known format"),
        (["{locked}"], 1, "Permission denied"),
        (["{one}"], 1, "has 1 rows; a comparison needs some dozens"),
        (["{text}"], 1, "free text in 'review'"),
        ([], 2, "Missing argument 'TABLE'"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, code, message, table, tmp_path):
    files = {"table": table}
    for name, content in {
        "votes": b"# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 1\n# ALTERNATIVE NAME 1: x\n1: 1\n",
        "binary": b"\x00\x01\x02" * 9,
        "locked": b"a,b\n1,2\n",
        "one": b"a,grade\n1,2\n",
        "text": b"review,grade\n" + b"".join(b"word %d x,%d\n" % (i, i % 2) for i in range(40)),
    }.items():
        files[name] = tmp_path / f"{name}.txt"
        files[name].write_bytes(content)
    if "{locked}" in arguments:
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        files["locked"].chmod(0)
    done = _run(*(argument.format(**files) for argument in arguments))
    assert done.exit_code == code
    assert message in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_help_has_two_examples():
    text = CliRunner().invoke(command, ["compare", "--help"]).output
    assert text.count("  rankwise compare ") == 2

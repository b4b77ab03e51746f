"""The command `rankwise compare`, through a pipe."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rankwise
from rankwise.cli import _compare
from rankwise.cli._commands import rankwise as command
from rankwise.comparison import compare, prepare_like

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
    for more in ([], ["--name", "title"]):
        done = _run(*arguments, *more)
        assert done.exit_code == 0, done.output
        assert ("'title' names the rows: it is left out" in done.output) == (not more)
        report = (tmp_path / "out" / "report.html").read_text()
        assert "the film number" in report
        assert ">title<" not in report


def test_forms_for_machines(table, tmp_path):
    out = tmp_path / "out"
    done = _run(table, *FEW, "--out", out, "--format", "json", "--timeout", "600")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["kind"], found["best"]) == ("grades", "MPRank")
    assert found["methods"][0]["measures"]["MAE"]["mean"] < 0.4
    assert [Path(path).name for path in found["files"]] == ["model.rankwise", "report.html"]


@pytest.mark.parametrize("form", ["csv", "md", "latex"])
def test_tables_for_papers(form, table, capsys):
    found = compare(pd.read_csv(table), methods=["constant"], quick=True)
    _compare._print(found, form)
    text = capsys.readouterr().out
    assert "constant" in text
    assert {"csv": "table,method", "md": "| method |", "latex": r"\toprule"}[form] in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.csv"], 1, "absent.csv: No such file or directory"),
        (["{table}", "--target", "z"], 1, "column 'z' not found"),
        (["{table}", "--ignore", "a,b"], 1, "no column is left besides 'grade'"),
        (["{table}", "--method", "magic"], 1, "the method 'magic' is not known"),
        (["{table}", "--out", "{table}/x"], 1, "Not a directory"),
        (["{table}", "--format", "docx"], 2, "Invalid value for '--format'"),
        (["{table}", "--timeout", "0"], 2, "Invalid value for '--timeout'"),
        (["{votes}"], 1, "holds 1 rankings: combine them"),
        (["{binary}"], 1, "a binary file of no known format"),
        (["{locked}"], 1, "Permission denied"),
        (["{one}"], 1, "the table has one row; a comparison needs some dozens"),
        (["{empty}"], 1, "the file is empty"),
        (["{header}"], 1, "a header and no rows"),
        (["{unknown}", "--target", "grade"], 1, "the target 'grade' has no values"),
        (["{list}", "--query", "list"], 1, "all rows have the same query: name another column"),
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
        "empty": b"",
        "header": b"a,grade\n",
        "unknown": b"a,grade\n" + b"1,\n2,\n" * 20,
        "list": b"a,list,grade\n" + b"1,7,1\n3,7,2\n2,7,3\n" * 20,
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


def test_of_a_large_file_a_part_is_compared_and_that_is_said(table, tmp_path, monkeypatch):
    frame = pd.concat([pd.read_csv(table)] * 20)
    frame.to_csv(table, index=False)
    monkeypatch.setattr("rankwise.comparison._tables.LARGE", 10_000)
    monkeypatch.setattr("rankwise.comparison._large._N_BLOCKS", 10)
    monkeypatch.setattr("rankwise.comparison._large._BLOCK", 1000)
    done = _run(table, *FEW, "--out", tmp_path / "out", "--format", "json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)["warnings"][0]
    assert re.fullmatch(r"The file is large: [0-9]+ of its about 1,[56][0-9]{2} rows were .*", said)


def test_words_and_numbers_of_the_advice_are_right(table, tmp_path):
    """No share above one, no negative distance, no correction for a single test."""
    done = _run(table, *FEW, "--out", tmp_path / "out")
    text = " ".join(done.output.split())
    assert done.exit_code == 0, text
    assert not re.search(r"\(-[0-9]", text)
    assert "for 1 tests" not in text


def test_an_interrupt_leaves_nothing(table, tmp_path):
    out = tmp_path / "out"
    script = [sys.executable, "-c", "from rankwise.cli import main; main()"]
    process = subprocess.Popen(
        [*script, "compare", str(table), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    shown, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert b"Traceback" not in told
    assert shown == b""
    assert not out.exists()


def test_a_reader_that_has_seen_enough_is_no_mistake(table, tmp_path):
    command = f"'{sys.executable}' -c 'from rankwise.cli import main; main()' compare '{table}' "
    command += f"--method constant --quick --out '{tmp_path / 'out'}' --format md | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_help_has_two_examples():
    text = CliRunner().invoke(command, ["compare", "--help"]).output
    assert text.count("  rankwise compare ") == 2

"""Streams: the same model however they are cut or killed, and every mistake in a sentence."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankwise import load, save
from rankwise.cli import _stream_input
from rankwise.cli._commands import rankwise
from rankwise.ordinal import PRank
from rankwise.persistence import read_notes

SCRIPT = [sys.executable, "-c", "from rankwise.cli import main; main()"]


def rows(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal([5, 0, 0], [3, 1, 10], size=(n, 3)).round(3)
    y = 1 + np.digitize(X[:, 1] + X[:, 2] / 10 + random.normal(0, 0.3, n), [-1, 0, 1])
    return X, y


def as_csv(X, y, names="a,b,c,grade"):
    lines = [",".join(map(str, [*x, g])) for x, g in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join([names, *lines, ""])


def as_json(X, y):
    names = ["a", "b", "c", "grade"]
    return "".join(
        json.dumps(dict(zip(names, [*x, g], strict=True))) + "\n"
        for x, g in zip(X.tolist(), y.tolist(), strict=True)
    )


@pytest.fixture
def graded(tmp_path):
    path = tmp_path / "graded.csv"
    path.write_text(as_csv(*rows(300)))
    return path


def run(*arguments):
    return CliRunner().invoke(rankwise, ["stream", *map(str, arguments)])


def learn(path, *more, model="m.rankwise"):
    return run(path, "--target", "grade", "--model", path.with_name(model), *more)


def start(*arguments, **options):
    return subprocess.Popen([*SCRIPT, "stream", *map(str, arguments)], **options)


def wait_for(true, process):
    for _ in range(600):
        if true():
            return
        assert process.poll() is None, "it ended"
        time.sleep(0.05)
    raise AssertionError("it takes too long")


def test_each_row_is_predicted_by_what_was_learned_before(graded):
    X, y = rows(300)
    result = learn(graded, "--method", "prank")
    assert result.exit_code == 0, result.output
    model, guesses = PRank(vote=None, label_order=[1, 2, 3, 4]), []
    for i in range(len(X)):
        seen = X[: i + 1]
        deviation = seen.std(axis=0)
        row = (X[i] - seen.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
        guesses += model.partial_fit_predict([row], [y[i]]).tolist()
    assert list(map(int, result.stdout.split())) == guesses
    saved = load(graded.with_name("m.rankwise"))
    assert np.allclose(saved[1].coef_, model.coef_)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert (saved.predict(X) == model.predict(scaled)).all()
    averaged = learn(graded, "--method", "averaged", model="other.rankwise")
    assert averaged.stdout != result.stdout


@pytest.mark.parametrize("method", ["averaged", "oap"])
@pytest.mark.parametrize("form", [as_csv, as_json])
def test_any_cutting_gives_the_same_model(graded, monkeypatch, method, form):
    graded.write_text(form(*rows(120)))
    out = graded.with_name("out")
    learn(graded, "--method", method, "--out", out)
    whole, guesses = graded.with_name("m.rankwise").read_bytes(), out.read_bytes()
    for size in (7, 100):
        graded.with_name("m.rankwise").unlink()
        monkeypatch.setattr(_stream_input, "_PIECE", size)
        result = learn(graded, "--method", method, "--out", out, "--every", 10)
        assert result.exit_code == 0, result.output
        assert graded.with_name("m.rankwise").read_bytes() == whole
        assert out.read_bytes() == guesses


def test_csv_and_json_are_learned_alike(graded):
    graded.with_name("g.json").write_text(as_json(*rows(300)))
    learn(graded)
    result = learn(graded.with_name("g.json"), model="j.rankwise")
    assert result.exit_code == 0, result.output
    one, other = (load(graded.with_name(name)) for name in ("m.rankwise", "j.rankwise"))
    assert (one[1].coef_ == other[1].coef_).all()


def test_a_finished_file_is_gone_on_with_when_it_has_grown(graded):
    X, y = rows(300)
    graded.write_text(as_csv(X[:200], y[:200]))
    out = graded.with_name("out")
    for n, new in [(200, 200), (200, 0), (300, 100)]:
        graded.write_text(as_csv(X[:n], y[:n]))
        result = learn(graded, "--out", out, "--json")
        told = json.loads(result.stdout)
        assert (told["rows"], told["new_rows"]) == (n, new)
        assert len(out.read_text().splitlines()) == n
    kept = graded.with_name("m.rankwise").read_bytes(), out.read_bytes()
    graded.with_name("m.rankwise").unlink()
    learn(graded, "--out", out)
    assert (graded.with_name("m.rankwise").read_bytes(), out.read_bytes()) == kept


def test_another_input_is_learned_after_the_first(graded):
    other = graded.with_name("other.csv")
    other.write_text(as_csv(*rows(100, seed=1)))
    learn(graded)
    refused = learn(other)
    assert refused.exit_code == 1
    assert "does not begin with the rows that " in refused.stderr
    assert len(learn(other, "--more").stdout.split()) == 100
    assert learn(other, "--more").stdout == ""
    assert read_notes(graded.with_name("m.rankwise"))["stream"]["line"] == 101


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_killed_and_run_again_it_is_the_same_model(graded, source):
    model, out = graded.with_name("m.rankwise"), graded.with_name("out")
    options = [
        "--target",
        "grade",
        "--labels",
        "1-4",
        "--model",
        model,
        "--out",
        out,
        "--every",
        40,
    ]
    X, y = rows(300)
    text = as_csv(X, y)
    lines = text.splitlines(keepends=True)
    begun = "".join(lines[:151]) + lines[151][:5]
    if source == "file":
        graded.write_text(begun)
        process = start(graded, "--follow", *options, "--seconds", 0)
    else:
        process = start(*options, "--seconds", 0, stdin=subprocess.PIPE, text=True)
        process.stdin.write(begun)
        process.stdin.flush()
    wait_for(
        lambda: out.exists() and out.read_text().count("\n") == 150 and model.exists(), process
    )
    process.kill()
    process.wait()
    if source == "pipe":
        process.stdin.close()
    with out.open("a") as file:
        file.write("4\n4\nhalf a li")
    graded.write_text(text)
    again = [*SCRIPT, "stream", *([graded] if source == "file" else []), *map(str, options)]
    subprocess.run(again, check=True, input=text, text=True)
    after = load(model), out.read_text()
    model.unlink()
    learn(graded, "--labels", "1-4", "--out", out)
    whole = load(model), out.read_text()
    assert after[1] == whole[1]
    for name in ("coef_", "thresholds_"):
        assert (getattr(after[0][1], name) == getattr(whole[0][1], name)).all()
    for name in ("mean_", "var_", "n_samples_seen_"):
        assert (getattr(after[0][0], name) == getattr(whole[0][0], name)).all()


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_saves_what_was_learned(graded, number, status):
    model = graded.with_name("m.rankwise")
    options = ["--target", "grade", "--labels", "1-4", "--model", model, "--every", 10**6]
    process = start(*options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = graded.read_text().splitlines(keepends=True)
    for part, n in [(lines[:2], 1), (lines[2:11], 9)]:
        process.stdin.write("".join(part))
        process.stdin.flush()
        assert all(process.stdout.readline() for _ in range(n))
    process.send_signal(number)
    assert process.wait() == status
    process.stdin.close()
    process.stdout.close()
    assert load(model)[1].n_rounds_ == 10
    assert [path.name for path in graded.parent.iterdir() if path.name[0] == "."] == []


@pytest.mark.slow
def test_who_reads_the_predictions_may_go(graded):
    graded.write_text(as_csv(*rows(100_000)))
    command = [*SCRIPT, "stream", str(graded), "--target", "grade", "--model"]
    process = subprocess.Popen(
        [*command, str(graded.with_name("m.rankwise"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in {0, 1}


def test_labels_of_text_have_the_order_that_is_given(graded):
    words = {1: "poor", 2: "fair", 3: "good", 4: "fine"}
    X, y = rows(200)
    graded.write_text(as_csv(X, np.array([words[g] for g in y])))
    result = learn(graded, "--labels", "poor,fair,good,fine")
    assert result.exit_code == 0, result.output
    assert load(graded.with_name("m.rankwise"))[1].classes_.tolist() == list(words.values())
    assert set(result.stdout.split()) <= set(words.values())


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", [], "is empty"),
        ("a,b,grade\n", ["--labels", "1-3"], "has no rows"),
        ("a,grade\n1,2\n2,x\n", [], "graded.csv:3: grade is 'x', wanted a number"),
        ("a,grade\n1,2\nred,3\n", [], "graded.csv:3: a is 'red', wanted a number"),
        ("a,grade\n1,2\n,3\n", [], "graded.csv:3: a is '', wanted a number"),
        ("a,grade\n1,2\n1\n", [], "graded.csv:3: 1 field"),
        ("a,grade\n1,2\n1,3\n1e200,2\n", [], "graded.csv:4: a is 1e+200"),
        ("a,grade\n1,2\n2,3\n3,9\n", ["--labels", "1-3"], ":4: grade is 9, which is none of"),
        ("a,grade\n1,2\n2,2\n", [], "grade has 1 different values"),
        ("a,b\n1,2\n", [], "--target grade is no column; there are a, b"),
        ("grade\n1\n2\n", [], "has no two columns"),
        ("a,grade\n1,2\n2,1\n", ["--ignore", "a"], "no column is left"),
        ("a,a,grade\n1,2,3\n", [], "two columns are called 'a'"),
        ("a,grade\n1,2\n2,3\n", ["--ignore", "z"], "--ignore z is no column"),
        ('{"a": 1, "grade": 2}\n{"a": 1}\n', [], ":2: it has no 'grade'"),
        ('{"a": 1, "grade": 2}\n{"a": null, "grade": 3}\n', [], ":2: a is None, wanted a number"),
        ('{"a": 1, "grade": 2}\n{"a": \n', [], ":2: "),
        ('{"a": 1, "grade": 2}\n[1, 2]\n', [], ":2: [1, 2] is no object"),
        ('[{"a": 1, "grade": 2}]', [], "one list of JSON: write an object a line"),
        ("\x1f\x8b\x08gz", [], "is compressed: gzip -dc"),
        ("a\0b\n1\n2\n", [], "is no text"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "1"], "grade has 1 different values"),
        ("a,grade\n", [], "has no rows"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "5-1"], "--labels 5-1: give 2 to 1000 grades"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "1-999999999999"], "give 2 to 1000 grades"),
        ("a,grade\n1,2\n2,3\n", ["--labels", ","], "--labels ,: it names no grade"),
        ("a,b,grade\n1,2,2\n", ["--ignore", "grade"], "--ignore grade is what --target wants"),
    ],
)
def test_mistakes_are_answered(graded, text, more, message):
    graded.write_text(text, encoding="latin-1")
    result = learn(graded, *more)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_refused(graded):
    pipe, model = graded.with_name("pipe"), graded.with_name("model.rankwise")
    os.mkfifo(pipe)
    for options in (["--model", pipe], ["--model", model, "--out", pipe]):
        result = run(graded, "--target", "grade", *options)
        assert result.exit_code == 1
        assert f"{options[-2]} {pipe} is not a regular file" in result.stderr
    assert pipe.is_fifo()
    assert not model.exists()


def test_what_is_read_is_not_written_to(graded):
    before = graded.read_bytes()
    model = graded.with_name("model.rankwise")
    for options in (["--model", graded], ["--model", model, "--out", graded]):
        result = run(graded, "--target", "grade", *options)
        assert result.exit_code == 1
        assert f"{graded} would be overwritten" in result.stderr
    both = run(graded, "--target", "grade", "--model", model, "--out", model)
    assert f"--out {model}: {model} would be overwritten" in both.stderr
    assert graded.read_bytes() == before
    assert not model.exists()


def test_a_bad_row_can_be_mended(graded):
    text = graded.read_text()
    lines = text.splitlines(keepends=True)
    graded.write_text("".join([*lines[:51], "oh,no\n", *lines[51:]]))
    result = learn(graded, "--labels", "1-4")
    assert result.exit_code == 1
    assert "graded.csv:52: a is 'oh'" in result.stderr
    assert "The 50 rows before are kept" in result.stderr
    graded.write_text(text)
    assert learn(graded, "--labels", "1-4").exit_code == 0
    mended = graded.with_name("m.rankwise").read_bytes()
    graded.with_name("m.rankwise").unlink()
    learn(graded, "--labels", "1-4")
    assert graded.with_name("m.rankwise").read_bytes() == mended


@pytest.mark.parametrize("columns", [["a", "b"], ["a", "b", "c", "d"]])
def test_a_file_with_other_columns_than_its_scaler_is_refused(graded, columns):
    learn(graded)
    path = graded.with_name("m.rankwise")
    notes = read_notes(path)
    notes["stream"]["columns"] = columns
    save(load(path), path, notes=notes)
    result = learn(graded)
    assert result.exit_code == 1
    assert "give --model another file" in result.stderr


def test_what_does_not_belong_to_the_model_is_refused(graded):
    out = graded.with_name("out")
    learn(graded, "--out", out)
    for more, message in [
        (["--out", out, "--method", "oap"], "--method: "),
        (["--out", out, "--labels", "1-9"], "--labels: "),
        (["--out", out, "--ignore", "a"], "has learned the columns a, b, c"),
        ([], "predictions went to "),
        (["--out", graded.with_name("another")], "go on there"),
    ]:
        result = learn(graded, *more)
        assert result.exit_code == 1
        assert message in result.stderr
    out.write_text("1\n")
    assert "shorter than what was written" in learn(graded, "--out", out).stderr
    graded.with_name("no.rankwise").write_text("nothing")
    assert "can't be read" in learn(graded, model="no.rankwise").stderr


def test_standard_input_needs_its_labels(graded):
    done = subprocess.run(
        [*SCRIPT, "stream", "--target", "grade", "--model", graded.with_name("m")],
        check=False,
        input=graded.read_bytes(),
        capture_output=True,
    )
    assert done.returncode == 1
    assert b"--labels 1-5" in done.stderr
    assert not graded.with_name("m").exists()


def test_a_full_disk_is_told_of_the_output_and_gone_on_from(graded, monkeypatch):
    out, expected = graded.with_name("out.txt"), learn(graded, model="other.rankwise").stdout
    room = 200
    opened = Path.open

    class Disk(io.FileIO):
        def write(self, text):
            if self.tell() >= room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text[:7])

    def on_disk(path, mode="r", **options):
        return Disk(path, mode) if path == out and "b" in mode else opened(path, mode, **options)

    monkeypatch.setattr(Path, "open", on_disk)
    result = learn(graded, "--out", out)
    assert (result.exit_code, result.stderr) == (1, f"Error: {out}: No space left on device\n")
    room = 10_000
    assert learn(graded, "--out", out).exit_code == 0
    assert out.read_text() == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(graded):
    graded.parent.chmod(0o500)
    result = learn(graded)
    graded.parent.chmod(0o700)
    assert result.exit_code == 1
    assert "can't be written" in result.stderr

"""Streams: the same model however they are cut or killed, and every mistake in a sentence."""

import csv
import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rankwise import load, save
from rankwise.cli import _stream_run
from rankwise.cli._commands import rankwise
from rankwise.comparison import Columns, prepare
from rankwise.io import write_table
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
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert (saved.predict(frame) == model.predict(scaled)).all()
    averaged = learn(graded, "--method", "averaged", model="other.rankwise")
    assert averaged.stdout != result.stdout


@pytest.mark.parametrize("method", ["averaged", "oap"])
@pytest.mark.parametrize("form", [as_csv, as_json])
def test_any_cutting_gives_the_same_model(graded, monkeypatch, method, form):
    graded.write_text(form(*rows(120)))
    out = graded.with_name("out")
    learn(graded, "--method", method, "--out", out)
    whole, guesses = graded.with_name("m.rankwise").read_bytes(), out.read_bytes()
    for n_rows in (1, 7, 100):
        graded.with_name("m.rankwise").unlink()
        monkeypatch.setattr(_stream_run, "_ROWS", n_rows)
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
    assert read_notes(graded.with_name("m.rankwise"))["stream"]["rows"] == 100


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
        assert (getattr(after[0][0][-1], name) == getattr(whole[0][0][-1], name)).all()


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
        ("a,b,grade\n", ["--labels", "1-3"], "a header and no rows"),
        ("a,grade\n1,2\n2,x\n", [], ": row 2, column 'grade': 'x' is not a number"),
        ("a,grade\n1,2\nred,3\n", [], ": row 2, column 'a': 'red' is not a number"),
        ("a,grade\n1,2\n1,\n", ["--labels", "1-3"], "row 2, column 'grade': the grade is missing"),
        ("a,grade\n1,2\n1\n", ["--labels", "1-3"], "graded.csv: line 3: 1 field"),
        (
            "a,grade\n1,2\n1,3\n1e200,2\n",
            [],
            ": row 3, column 'a': 1e+200 is not a number below",
        ),
        (
            "a,grade\n1,2\n2,3\n3,9\n",
            ["--labels", "1-3"],
            ": row 3, column 'grade': 9 is not among",
        ),
        ("a,grade\n1,2\n2,2\n", [], "grade has 1 different value: expected 2 to 1000 grades"),
        ("a,b\n1,2\n", [], "--target: column 'grade' not found; the columns are a, b"),
        ("grade\n1\n2\n", [], "no column is left to learn grade from"),
        ("a,grade\n1,2\n2,1\n", ["--ignore", "a"], "no column is left to learn grade from"),
        ("a,a,grade\n1,2,3\n", [], "two columns are named 'a'"),
        ("a,grade\n1,2\n2,3\n", ["--ignore", "z"], "--ignore: column 'z' not found"),
        ("Sat,grade\n1,2\n2,3\n", ["--ignore", "sat"], "not found; did you mean 'Sat'?"),
        (
            '{"a": 1, "grade": 2}\n{"a": 1}\n',
            ["--labels", "1-2"],
            "row 2, column 'grade': the grade",
        ),
        (
            '{"a": 1, "grade": 2}\n{"a": "x", "grade": 3}\n',
            [],
            ": row 2, column 'a': 'x' is not",
        ),
        ('{"a": 1, "grade": 2}\n{"a": \n', [], ": line 2: not JSON"),
        ('{"a": 1, "grade": 2}\n[1, 2]\n', [], ": line 2: [1, 2] is not an object"),
        ("\x1f\x8b\x08gz", [], "a damaged archive"),
        ("a\0b\n1\n2\n", [], "a binary file of no known format"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "1"], "grade has 1 different value: expected"),
        ("a,grade\n", [], "a header and no rows"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "5-1"], "--labels 5-1: give 2 to 1000 grades"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "1-999999999999"], "give 2 to 1000 grades"),
        ("a,grade\n1,2\n2,3\n", ["--labels", ","], "--labels ,: no grade is named"),
        ("a,grade\n1,2\n2,3\n", ["--labels", "2,3,3.0"], "a grade is duplicated"),
        ("a,grade\n1,x\n2,y\n", ["--labels", "x,y,x"], "a grade is duplicated"),
        ("a,b,grade\n1,2,2\n", ["--ignore", "grade"], "--ignore grade: it is the target"),
        ("a,grade\n1,good\n2,bad\n", [], "name all grades from the lowest up, as in --labels poor"),
        ("a,grade\n1,2\n2,3\n", ["--sep", "ab"], "sep='ab' is invalid"),
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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("oh,no\n", "graded.csv: line 52: 2 fields, expected 4"),
        ("oh,1,2,3\n", "graded.csv: row 51, column 'a': 'oh' is not a number below"),
    ],
)
def test_a_bad_row_can_be_mended(graded, bad, message):
    text = graded.read_text()
    lines = text.splitlines(keepends=True)
    graded.write_text("".join([*lines[:51], bad, *lines[51:]]))
    result = learn(graded, "--labels", "1-4")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "The 50 rows before are kept" in result.stderr
    graded.write_text(text)
    assert learn(graded, "--labels", "1-4").exit_code == 0
    mended = graded.with_name("m.rankwise").read_bytes()
    graded.with_name("m.rankwise").unlink()
    learn(graded, "--labels", "1-4")
    assert graded.with_name("m.rankwise").read_bytes() == mended


@pytest.mark.parametrize(
    "columns", [[["a", "b"], [], [], []], [["a", "b"], ["c"], [], []], [], "abc", None]
)
def test_a_file_with_other_columns_than_its_scaler_is_refused(graded, columns):
    learn(graded)
    path = graded.with_name("m.rankwise")
    notes = read_notes(path)
    notes["stream"]["kinds"] = columns
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
        (["--out", graded.with_name("another")], "continue with --out"),
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


def test_the_form_of_the_file_does_not_matter(graded):
    """Headers and cells that `compare` reads are read by a stream, to the same model."""
    X, y = rows(200)
    frame = pd.DataFrame(X, columns=["len, mm, max", "b", "c"]).assign(grade=y)
    forms = {
        "plain.csv": frame.to_csv(index=False),
        "tabs.tsv": frame.to_csv(index=False, sep="\t"),
        "quoted.csv": frame.to_csv(index=False, sep=";", quoting=csv.QUOTE_NONNUMERIC),
        "europe.csv": frame.to_csv(index=False, sep=";", decimal=","),
        "blanks.csv": frame.map(lambda cell: f" {cell} ").to_csv(index=False),
        "utf16.csv": frame.to_csv(index=False).encode("utf-16"),
        "crlf.csv": frame.to_csv(index=False, lineterminator="\r\n"),
        "lines.jsonl": frame.to_json(orient="records", lines=True),
        "packed.csv.gz": gzip.compress(frame.to_csv(index=False).encode()),
        "list.json": frame.to_json(orient="records"),
    }
    frame.to_parquet(graded.with_name("table.parquet"))
    for name, content in forms.items():
        raw = content if isinstance(content, bytes) else content.encode()
        graded.with_name(name).write_bytes(raw)
    models = []
    for name in [*forms, "table.parquet"]:
        result = learn(graded.with_name(name), model=f"{name}.rankwise")
        assert result.exit_code == 0, (name, result.output)
        models.append((result.stdout, load(graded.with_name(f"{name}.rankwise"))[1].coef_.tolist()))
    assert models == models[:1] * len(models)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("{a}~{b}~{grade}\n", ["--sep", "~"]),
        ("{a}\t{b}\t{grade}\n", ["--sep", "tab"]),
        ("{a:,}|{b:,}|{grade}\n", ["--sep", "|", "--decimal", ","]),
        ("% {a}\n{a},{b},{grade}\n", ["--comment", "%"]),
    ],
)
def test_guesses_can_be_overridden(graded, text, options):
    X, y = rows(50)
    parts = [(*map(str, x[:2]), str(g)) for x, g in zip(X.tolist(), y.tolist(), strict=True)]
    if "," in options:
        parts = [[cell.replace(".", ",") for cell in part] for part in parts]
    text = text.replace(":,", "")
    lines = [text.format(a=a, b=b, grade=g) for a, b, g in parts]
    graded.write_text("".join(lines))
    plain = graded.with_name("plain.csv")
    plain.write_text(as_csv(X[:, :2], y, "a,b,grade"))
    options = [*options, "--no-header", "--columns", "a,b,grade"]
    result = learn(graded, *options)
    assert result.exit_code == 0, result.output
    assert result.stdout == learn(plain, model="plain.rankwise").stdout


def mixed(n=400, seed=0):
    """Return rows with numbers, categories, dates, and missing values in each."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": random.normal(size=n).round(3)})
    frame["colour"] = random.choice(["red", "green", "blue", "grey"], n)
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 300, n), "D")
    score = frame["size"] + 2 * (frame["colour"] == "red") + frame["day"].dt.day_of_year / 200
    frame["grade"] = 1 + np.digitize(score, [0.5, 1.5, 2.5])
    for place, name in enumerate(["size", "colour", "day"]):
        frame.loc[7 + place :: 31, name] = None
    return frame


@pytest.mark.parametrize("n_rows", [1, 7, 100, 10_000])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_categories_dates_and_missing_values(graded, monkeypatch, n_rows, form):
    """In blocks of any size the model is that of all rows encoded at once, by the definition."""
    frame, path = mixed(), graded.with_name(f"mixed.{form}")
    write_table(frame, path)
    monkeypatch.setattr(_stream_run, "_ROWS", n_rows)
    result = learn(path, "--labels", "1-4")
    assert result.exit_code == 0, result.output
    expected, guesses = by_definition(frame)
    assert list(map(int, result.stdout.split())) == guesses
    saved = load(path.with_name("m.rankwise"))
    assert np.allclose(saved[1].coef_[: len(expected.coef_)], expected.coef_)
    assert not saved[1].coef_[len(expected.coef_) :].any()
    predicted = CliRunner().invoke(
        rankwise, ["predict", str(path.with_name("m.rankwise")), str(path), "--json"]
    )
    assert predicted.exit_code == 0, predicted.output
    assert len(json.loads(predicted.stdout)["predictions"]) == len(frame)


def by_definition(frame):
    """Learn row by row: numbers scaled, missing ones imputed, by the rows so far."""
    numbers = prepare(frame, Columns(["size"], [], ["day"], [])).to_numpy()
    categories = frame["colour"].fillna("(missing)")
    model, guesses = PRank(label_order=[1, 2, 3, 4]), []
    known = list(dict.fromkeys(categories))
    for i, grade in enumerate(frame["grade"]):
        row = []
        for seen in numbers[: i + 1].T:
            there = seen[~np.isnan(seen)]
            deviation = there.std() if len(there) else 0
            missing = np.isnan(seen[-1])
            row.append(0.0 if missing else (seen[-1] - there.mean()) / (deviation or 1.0))
        row += [float(name == categories[i]) for name in known]
        guesses += model.partial_fit_predict([row], [grade]).tolist()
    return model, guesses


def test_categories_past_the_first_hundred_have_no_coefficient(graded):
    random = np.random.default_rng(0)
    names = np.array([f"place {i}" for i in range(150)])
    # the first 300 rows have few places, so that the column is not free text
    places = np.concatenate([random.choice(names[:50], 300), random.choice(names, 700)])
    y = [1 + int(place[-1]) % 2 for place in places]
    path = graded.with_name("places.csv")
    pd.DataFrame({"place": places, "grade": y}).to_csv(path, index=False)
    result = learn(path)
    assert result.exit_code == 0, result.output
    model = load(path.with_name("m.rankwise"))
    assert model[1].coef_.shape == (100,)
    other = next(
        name for name in names if name not in set(model[0].transformers_[0][1].categories_[0])
    )
    frame = pd.DataFrame({"place": [other, "never seen"]}, dtype=object)
    assert (model[0].transform(frame) == 0).all()


@pytest.mark.parametrize("n_rows", [1, 50, 1000])
def test_free_text_is_refused_with_the_remedy(graded, monkeypatch, n_rows):
    monkeypatch.setattr(_stream_run, "_ROWS", n_rows)
    path = graded.with_name("notes.csv")
    pd.DataFrame(
        {"a": range(500), "note": [f"note {i}" for i in range(500)], "grade": [1, 2] * 250}
    ).to_csv(path, index=False)
    result = learn(path, "--labels", "1-2")
    assert result.exit_code == 1
    assert "row 101, column 'note' holds free text" in result.stderr
    assert "--ignore note" in result.stderr
    assert learn(path, "--ignore", "note", model="other.rankwise").exit_code == 0


@pytest.mark.parametrize("form", [as_csv, as_json])
def test_a_row_that_arrives_alone_is_answered_at_once(graded, form):
    model = graded.with_name("m.rankwise")
    options = ["--target", "grade", "--labels", "1-4", "--model", model]
    process = start(*options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = form(*rows(5)).splitlines(keepends=True)
    if form is as_csv:
        lines[:2] = ["".join(lines[:2])]
    for line in lines:
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline().strip() in {"1", "2", "3", "4"}
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0
    assert load(model)[1].n_rounds_ == 5


def test_a_stream_of_0_2_is_continued(graded):
    """The file was made by version 0.2 from the first 200 of these rows."""
    model, other = graded.with_name("m.rankwise"), graded.with_name("other.rankwise")
    model.write_bytes((Path(__file__).parent / "data" / "stream-0.2.rankwise").read_bytes())
    assert len(load(model).predict(rows(300)[0])) == 300
    predicted = CliRunner().invoke(rankwise, ["predict", str(model), str(graded), "--json"])
    assert len(json.loads(predicted.stdout)["predictions"]) == 300
    notes = read_notes(model)
    notes["stream"]["out"] = None
    save(load(model), model, notes=notes)
    continued, whole = learn(graded), learn(graded, model="other.rankwise")
    assert continued.stdout.split() == whole.stdout.split()[200:]
    assert (load(model)[1].coef_ == load(other)[1].coef_).all()
    notes["stream"]["line"] = 150  # the second of two inputs: where it was is not known
    save(load(model), model, notes=notes)
    assert "does not begin with the rows" in learn(graded).stderr


@pytest.mark.parametrize("n_rows", [1, 7, 1000])
@pytest.mark.parametrize("bad", ['{"a": 1,', '{"a": "x", "b": 1, "c": 1, "grade": 2}', "[1]"])
def test_rows_of_json_before_a_bad_one_are_kept(graded, monkeypatch, bad, n_rows):
    monkeypatch.setattr(_stream_run, "_ROWS", n_rows)
    lines = as_json(*rows(50)).splitlines()
    path = graded.with_name("graded.jsonl")
    path.write_text("\n".join([*lines[:20], bad, *lines[20:], ""]))
    result = learn(path, "--labels", "1-4")
    assert result.exit_code == 1
    assert "line 21" in result.stderr or "row 21" in result.stderr
    assert "The 20 rows before are kept" in result.stderr
    assert len(result.stdout.split()) == 20
    path.write_text("\n".join([*lines, ""]))
    assert len(learn(path, "--labels", "1-4").stdout.split()) == 30

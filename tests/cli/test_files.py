"""Every command reads the same files, and options override what is guessed of them."""

import csv
import gzip
import json
import lzma
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rankwise.cli._commands import rankwise
from rankwise.io import write_table

HEADS = {"length": "len, mm, max", "colour": "colour"}


def table(n=90):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"len, mm, max": random.normal(size=n).round(3)})
    frame["colour"] = random.choice(["red", "green"], n)
    score = frame["len, mm, max"] + (frame["colour"] == "red")
    frame["grade"] = 1 + np.digitize(score, [0.0, 1.0])
    frame.loc[4, "len, mm, max"] = None
    return frame


def zipped(content):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("table.csv", content)
    return out.getvalue()


def written(frame, name, folder):
    """Write the table in a form, and return its path and the options that it needs."""
    path, text = folder / name, frame.to_csv(index=False)
    forms = {
        "plain.csv": text,
        "quoted.csv": frame.to_csv(index=False, sep=";", quoting=csv.QUOTE_ALL),
        "tabs.tsv": frame.to_csv(index=False, sep="\t"),
        "europe.csv": frame.to_csv(index=False, sep=";", decimal=","),
        "blanks.csv": "\n".join(
            line if i == 0 else line.replace(",", " , ") for i, line in enumerate(text.split("\n"))
        ),
        "utf16.csv": text.encode("utf-16"),
        "table.csv.gz": gzip.compress(text.encode()),
        "table.csv.xz": lzma.compress(text.encode()),
        "table.zip": zipped(text),
        "tilde.txt": frame.to_csv(index=False, sep="~", header=False, na_rep="?"),
    }
    if name in forms:
        content = forms[name]
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        write_table(frame, path)
    names = ",".join(["length", *frame.columns[1:]])
    options = ["--sep", "~", "--no-header", "--missing", "?", "--columns", names]
    return path, options if name == "tilde.txt" else []


NAMES = [
    "plain.csv",
    "quoted.csv",
    "tabs.tsv",
    "europe.csv",
    "blanks.csv",
    "utf16.csv",
    "table.csv.gz",
    "table.csv.xz",
    "table.zip",
    "tilde.txt",
    "table.jsonl",
    "table.json",
    "table.parquet",
    "table.arrow",
    "table.xlsx",
]


def run(*arguments, **options):
    result = CliRunner().invoke(rankwise, [*map(str, arguments)], **options)
    assert result.exit_code == 0, (arguments, result.output)
    return result.stdout


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the commands say of the plain table."""
    return answers("plain.csv", tmp_path_factory.mktemp("plain"))


def answers(name, folder):
    path, options = written(table(), name, folder)
    model, stream = folder / "model.rankwise", folder / "stream.rankwise"
    run("fit", path, "--target", "grade", "--model", model, *options)
    learned = run("stream", path, "--target", "grade", "--model", stream, *options)
    found = [learned]
    for one in (model, stream):
        found.append(json.loads(run("predict", one, path, "--json", *options))["predictions"])
        found.append(json.loads(run("evaluate", one, path, "--json", *options))["measures"])
    parts = json.loads(run("explain", stream, path, "--row", 2, "--json", *options))["parts"]
    return [*found, sorted(part["adds"] for part in parts)]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_reads_the_same_files(name, expected, tmp_path):
    assert answers(name, tmp_path) == expected


def test_standard_input_is_read_alike(expected, tmp_path):
    path, _ = written(table(), "europe.csv", tmp_path)
    model = tmp_path / "model.rankwise"
    run("fit", "-", "--target", "grade", "--model", model, input=path.read_bytes())
    found = json.loads(run("predict", model, "-", "--json", input=path.read_bytes()))
    assert found["predictions"] == expected[1]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zipped])
def test_votes_may_be_compressed(tmp_path, pack):
    votes = tmp_path / "votes.txt"
    votes.write_text("a > b > c\nb > a > c\na > c > b\n")
    packed = tmp_path / "votes.packed"
    packed.write_bytes(pack(votes.read_bytes()))
    plain, found = (run("aggregate", path, "--method", "borda") for path in (votes, packed))
    assert found == plain


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".json", ".jsonl", ".parquet"])
def test_contests_of_any_format(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "left": ["a", "b", "a", "c", "b"] * 6,
            "right": ["b", "c", "c", "a", "a"] * 6,
            "winner": ["left", "left", "left", "left", "right"] * 6,
        }
    )
    path = tmp_path / f"contests{ending}"
    write_table(frame, path)
    assert "a comes first" in run("duel", path)

"""Rows of a text in pieces: forms of CSV and JSON, and where reading ends."""

import json

import numpy as np
import pytest

from rankwise.datasets._rows import Rows


def read(text, target="y", **options):
    raw = text if isinstance(text, bytes) else text.encode()
    rows = Rows(raw, target, **options)
    return rows, rows.read(raw[rows.start :])


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2.5,3\n-4,5e1,6\n",
        "a;b;y\r\n1;2.5;3\r\n-4;50;6\r\n",
        "a\tb\ty\n1\t2.5\t3\n\n-4\t50.0\t6\n",
        "a|b|y\n1|2.5|3\n-4|50|6\n",
        "a::b::y\n1::2.5::3\n-4::50::6\n",
        '"a","b","y"\n"1","2.5","3"\n"-4","50","6"\n',
        "\ufeffa,b,y\n1,2.5,3\n-4,50,6\n",
        "\n\na, b ,y\n1,2.5,3\n-4,50,6\n",
        '{"a": 1, "b": 2.5, "y": 3}\n{"y": 6, "b": 50, "a": -4, "more": "x"}\n',
    ],
)
def test_forms(text):
    rows, block = read(text)
    assert rows.features == ["a", "b"]
    assert block.columns.tolist() == [[1.0, -4.0], [2.5, 50.0]]
    assert block.target.tolist() == [3.0, 6.0]
    assert block.problem == (0, "")
    assert block.size == len(text.encode()) - rows.start


def test_columns_without_names_have_numbers():
    rows, block = read("1,2,3\n4,5,6\n", target="2")
    assert rows.features == ["1", "3"]
    assert rows.start == 0
    assert block.target.tolist() == [2.0, 5.0]


def test_ignored_columns_may_hold_anything():
    text = 'a,note,y\n1,"x, ""y""\nz",2\n3,,4\n'
    rows, block = read(text, ignored=("note",))
    assert block.columns.tolist() == [[1.0, 3.0]]
    assert block.target.tolist() == [2.0, 4.0]
    raw = text.encode()
    assert rows.end(raw) == len(raw)
    assert rows.end(raw[:19]) == len("a,note,y\n")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_targets_of_text(form):
    values = ["low", "high", "low"]
    if form == "csv":
        text = "a,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(values))
    else:
        text = "".join(json.dumps({"a": i, "y": y}) + "\n" for i, y in enumerate(values))
    rows, block = read(text)
    assert rows.as_text
    assert block.target.tolist() == values


@pytest.mark.parametrize("bad", range(4))
@pytest.mark.parametrize("form", ["csv", "json"])
def test_reading_ends_before_a_bad_row(form, bad):
    lines = [f"{i},{i % 3}" for i in range(4)]
    if form == "json":
        lines = [json.dumps({"a": i, "y": i % 3}) for i in range(4)]
    head = "a,y\n" if form == "csv" else ""
    good = Rows((head + lines[0] + "\n").encode(), "y")
    for wrong in ("x,1", "1", "1e200,1") if form == "csv" else ('{"a": "x", "y": 1}', "[1]", "{"):
        text = "\n".join([*lines[:bad], wrong, *lines[bad:], ""])
        block = good.read(text.encode())
        assert block.columns.tolist() == [list(map(float, range(bad)))]
        assert block.problem[0] == bad + 1
        assert block.size == sum(len(line) + 1 for line in lines[:bad])
        again = good.read(text.encode()[block.size + len(wrong) + 1 :])
        assert again.columns.shape == (1, 4 - bad)


def test_csv_is_read_as_the_definition_says():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)) * 10.0 ** random.integers(-30, 30, size=(300, 5))
    text = "a,b,c,d,y\n" + "".join(",".join(map(repr, row)) + "\n" for row in X.tolist())
    _, block = read(text)
    assert (X[:, :4] == block.columns.T).all()
    assert (block.target == X[:, 4]).all()

"""Rows of a text in pieces: forms of CSV and JSON, and where reading ends."""

import json

import numpy as np
import pytest

from rankwise.datasets._json_lines import read_lines
from rankwise.datasets.rows import Rows


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


ODD_JSON = {
    "nothing": '{"a": null, "y": 1}',
    "a truth": '{"a": true, "y": 1}',
    "no column": '{"y": 1}',
    "a text": '{"a": "1", "y": 1}',
    "twice": '{"a": 1, "y": 1, "a": 2}',
    "two on a line": '{"a": 1, "y": 1}{"a": 2, "y": 2}',
    "half": '{"a": 1,',
    "other columns": '{"b": [1, {"a": 7}], "a": 1, "y": 1, "c": "x"}',
    "a long number": '{"a": 0.1234567890123456789e-3, "y": 1}',
    "a large whole number": '{"a": 12345678901234567890123, "y": 1}',
    "not a number": '{"a": NaN, "y": 1}',
    "no double": '{"a": 1e999, "y": 1}',
    "no double, whole": '{"a": 1' + "0" * 400 + ', "y": 1}',
    "a sign": '{"a": -0, "y": 1}',
    "blanks": '  {"a": 1, "y": 1} \r',
    "blank line": " ",
    "a nested line end": '{"a": 1, "y": 1, "b": "}\\n{"}',
    "escaped name": '{"\\u0061": 1, "y": 1}',
    "target is text": '{"a": 1, "y": "b"}',
    "target is null": '{"a": 1, "y": null}',
    "surrogate": '{"a": 1, "y": "\\ud800"}',
}


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("odd", ODD_JSON)
@pytest.mark.parametrize("place", [0, 2])
def test_json_is_read_alike_at_once_and_line_by_line(odd, as_text, place, monkeypatch):
    """What pyarrow makes of lines is what the json of the standard library makes of them."""
    value = '"b"' if as_text else "2"
    lines = [f'{{"a": {i}.5, "y": {value}}}' for i in range(4)]
    rows = Rows((lines[0] + "\n").encode(), "y")
    lines[place] = ODD_JSON[odd].replace('"y": 1', f'"y": {value}')
    piece = ("\n".join(lines) + "\n").encode()
    once = rows.read(piece)
    monkeypatch.setattr("rankwise.datasets.rows.read_lines", lambda *_, **__: None)
    slow = rows.read(piece)
    assert once.columns.tobytes() == slow.columns.tobytes()
    assert once.target.tolist() == slow.target.tolist()
    assert (once.size, once.lines.tolist()) == (slow.size, slow.lines.tolist())
    assert once.problem[0] == slow.problem[0]
    if odd != "no double, whole":  # shown as inf, or by its first digits
        assert once.problem == slow.problem


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("odd", ODD_JSON)
def test_targets_alone_are_those_of_the_rows(odd, as_text):
    """What is wrong with other columns may go unseen, what is wrong with a target may not."""
    value = '"b"' if as_text else "2"
    lines = [f'{{"a": {i}.5, "y": {value}}}' for i in range(4)]
    rows = Rows((lines[0] + "\n").encode(), "y")
    lines[2] = ODD_JSON[odd].replace('"y": 1', f'"y": {value}')
    piece = ("\n".join(lines) + "\n").encode()
    whole, alone = rows.read(piece), rows.read_targets(piece)
    if alone.problem[0] or not whole.problem[0]:
        assert alone.target.tolist() == whole.target.tolist()
        assert (alone.size, alone.lines.tolist()) == (whole.size, whole.lines.tolist())
        assert alone.problem == whole.problem
    else:
        assert odd not in {"half", "two on a line", "target is null", "surrogate"}
        assert alone.target.tolist() == ["b" if as_text else 2.0] * 4


def test_a_target_that_is_too_large_is_refused_among_targets_too():
    piece = b'{"a": 1, "y": 2}\n{"a": 1, "y": 1e200}\n'
    rows = Rows(piece, "y")
    assert rows.read_targets(piece).problem == rows.read(piece).problem
    assert rows.read_targets(piece).problem[0] == 2


def test_plain_json_is_read_at_once_and_exactly():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)) * 10.0 ** random.integers(-30, 30, size=(300, 5))
    names = ["a", "b", "c", "d", "y"]
    lines = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in X.tolist()]
    columns, target = read_lines("".join(lines).encode(), names[:4], "y", as_text=False)
    assert (X[:, :4] == columns.T).all()
    assert (target == X[:, 4]).all()
    words = b'{"a": 1, "y": "gr\xc3\xbcn"}\n{"y": "", "a": 2}\n'
    assert read_lines(words, ["a"], "y", as_text=True)[1].tolist() == ["grün", ""]
    assert read_lines(words.replace(b"\xbc", b""), ["a"], "y", as_text=True) is None


def test_objects_that_are_not_one_a_line_are_not_taken_for_such():
    """As many objects as lines, but two on one line, and one on two."""
    whole = b'{"a": 1, "y": 2}\n'
    piece = whole + b'{"a": 3,\n"y": 4}\n' + 2 * whole[:-1] + b"\n"
    block = Rows(whole, "y").read(piece)
    assert block.columns.tolist() == [[1.0]]
    assert block.problem[0] == 2

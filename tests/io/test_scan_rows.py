"""Rows that arrive in pieces: forms of CSV and JSON, and the row at which reading ends."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from rankwise.io import formats, scan_table


class Pipe(io.RawIOBase):
    """An input that gives a few bytes at a time, as they arrive."""

    def __init__(self, content, size):
        self._file, self._size, self.given = io.BytesIO(content), size, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self._file.read(min(self._size, len(buffer)))
        buffer[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)

    def read1(self, size=-1):
        return self.read(size)


def scan(text, size=None, **options):
    """Return all rows, and the error at which reading ends."""
    raw = text if isinstance(text, bytes) else text.encode()
    frames, problem = [], ""
    try:
        for frame in scan_table(io.BytesIO(raw) if size is None else Pipe(raw, size), **options):
            frames.append(frame)  # noqa: PERF402
    except ValueError as error:
        problem = str(error)
    return pd.concat(frames) if frames else pd.DataFrame(), problem


@pytest.mark.parametrize("size", [None, 1, 7, 1000])
@pytest.mark.parametrize("n_rows", [1, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2.5,3\n-4,5e1,6\n",
        "a;b;y\r\n1;2.5;3\r\n-4;50;6\r\n",
        "a;b;y\r\n1;2,5;3\r\n-4;50;6\r\n",
        "a\tb\ty\n1\t2.5\t3\n\n-4\t50.0\t6\n",
        "a|b|y\n1|2.5|3\n-4|50|6\n",
        "a::b::y\n1::2.5::3\n-4::50::6\n",
        '"a","b","y"\n"1","2.5","3"\n"-4","50","6"\n',
        "\ufeffa,b,y\n1,2.5,3\n-4,50,6\n",
        "\n\na, b ,y\n1, 2.5,3\n-4,50 ,6",
        '{"a": 1, "b": 2.5, "y": 3}\n{"y": 6, "b": 50, "a": -4}\n',
    ],
)
def test_forms(text, n_rows, size):
    frame, problem = scan(text, size, rows=n_rows)
    assert problem == ""
    assert list(frame) == ["a", "b", "y"]
    assert frame["a"].tolist() == [1, -4]
    assert frame["b"].tolist() == [2.5, 50.0]
    assert frame["y"].tolist() == [3, 6]
    assert frame.index.tolist() == [0, 1]


def test_columns_without_names_have_numbers():
    frame, _ = scan("1,2,3\n4,5,6\n")
    assert list(frame) == ["1", "2", "3"]
    assert frame["2"].tolist() == [2, 5]


@pytest.mark.parametrize("size", [None, 1, 19])
def test_a_cell_in_quotes_may_go_over_lines(size):
    frame, problem = scan('a,note,y\n1,"x, ""y""\nz",2\n3,,4\n', size)
    assert problem == ""
    assert frame["a"].tolist() == [1, 3]
    assert frame["note"].tolist()[0] == 'x, "y"\nz'
    assert frame["note"].isna().tolist() == [False, True]


@pytest.mark.parametrize("size", [None, 1, 50])
@pytest.mark.parametrize("n_rows", [1, 3, 1000])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("form", ["csv", "json"])
def test_reading_ends_before_a_bad_row(form, place, n_rows, size):
    lines, kind = [f"{i},{i % 3}" for i in range(5)], "json lines" if form == "json" else "csv"
    if form == "json":
        lines = [json.dumps({"a": i, "y": i % 3}) for i in range(5)]
    for bad in ("1", "1,2,3", '"x') if form == "csv" else ("[1]", "{", '{"a": 1, "y": 1} 2'):
        text = "\n".join([*["a,y"] * (form == "csv"), *lines[:place], bad, *lines[place:], ""])
        frame, problem = scan(text, size, rows=n_rows, format=kind)
        if form == "json" or bad != '"x':  # the quote may be closed by what follows
            assert frame.get("a", pd.Series([])).tolist() == list(range(place))
            assert f"line {place + 1 + (form == 'csv')}" in problem


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("place", range(1, 4))
def test_a_text_among_numbers_ends_the_reading_with_its_line(form, place):
    lines = [f"{i},{i % 3}" for i in range(4)]
    bad = "x,1"
    if form == "json":
        lines = [json.dumps({"a": i, "y": i % 3}) for i in range(4)]
        bad = '{"a": "x", "y": 1}'
    text = "\n".join([*["a,y"] * (form == "csv"), *lines[:place], bad, *lines[place:], ""])
    frame, problem = scan(text, rows=1)
    assert frame["a"].tolist() == list(range(place))
    assert f"line {place + 1 + (form == 'csv')}, column 'a': 'x' is not a number" in problem


@pytest.mark.parametrize("form", ["csv", "json"])
def test_numbers_are_the_nearest_doubles(form):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)) * 10.0 ** random.integers(-30, 30, size=(300, 5))
    names = ["a", "b", "c", "d", "y"]
    if form == "csv":
        text = ",".join(names) + "\n" + "".join(",".join(map(repr, r)) + "\n" for r in X.tolist())
    else:
        rows = (dict(zip(names, row, strict=True)) for row in X.tolist())
        text = "".join(json.dumps(row) + "\n" for row in rows)
    frame, _ = scan(text, rows=70)
    assert (frame.to_numpy() == X).all()


def test_a_row_of_a_pipe_is_given_before_the_next_arrives():
    for text, n_first in [("a,y\n1,2\n3,4\n5,6\n", 2), ('{"a": 1}\n{"a": 3}\n{"a": 5}\n', 1)]:
        lines = text.splitlines(keepends=True)
        pipe = Pipe(text.encode(), 1)
        frames = scan_table(pipe)
        for n in range(n_first, len(lines) + 1):
            assert len(next(frames)) == 1
            assert pipe.given == sum(map(len, lines[:n]))


ODD_JSON = {
    "nothing": '{"a": null, "y": 1}',
    "a truth": '{"a": true, "y": 1}',
    "no column": '{"y": 1}',
    "a text": '{"a": "1", "y": 1}',
    "two on a line": '{"a": 1, "y": 1}{"a": 2, "y": 2}',
    "half": '{"a": 1,',
    "other columns": '{"b": [1, {"a": 7}], "a": 1, "y": 1, "c": "x"}',
    "a long number": '{"a": 0.1234567890123456789e-3, "y": 1}',
    "a large integer": '{"a": 12345678901234567890123, "y": 1}',
    "not a number": '{"a": NaN, "y": 1}',
    "a sign": '{"a": -0, "y": 1}',
    "blanks": '  {"a": 1, "y": 1} \r',
    "blank line": " ",
    "a nested line end": '{"a": 1, "y": 1, "b": "}\\n{"}',
    "escaped name": '{"\\u0061": 1, "y": 1}',
    "target is null": '{"a": 1, "y": null}',
}


@pytest.mark.parametrize("odd", ODD_JSON)
@pytest.mark.parametrize("place", [0, 2])
def test_json_is_read_alike_at_once_and_line_by_line(odd, place, monkeypatch):
    """What pyarrow makes of lines is what the json of the standard library makes of them."""
    pyarrow = pytest.importorskip("pyarrow")
    lines = [f'{{"a": {i}.5, "y": 2}}' for i in range(4)]
    lines[place] = ODD_JSON[odd]
    text = "\n".join(lines) + "\n"
    once, problem = scan(text)

    class Unable:
        def read_json(self, *_):
            raise pyarrow.ArrowInvalid

        def ReadOptions(self, **_):  # noqa: N802
            return None

    need = formats.need
    monkeypatch.setattr(formats, "need", lambda x: Unable() if x == "pyarrow.json" else need(x))
    slow, slowly = scan(text)
    assert problem == slowly
    pd.testing.assert_frame_equal(once, slow, check_dtype=False)

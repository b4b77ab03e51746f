"""One set of rules for tables: what is guessed, what is kept, what is refused."""

import gzip
import io
import json
import lzma
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.comparison import read_table as compare_table
from rankwise.io import describe, read_table, scan_table, write_table
from rankwise.io import files as packed_files


def read(text, **options):
    return read_table(io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text), **options)


def values(text, **options):
    return read(text, **options).to_dict("list")


DISAGREEMENTS = {
    "a separator in a quoted name": (
        '"len, mm, max";"grade"\n1;2\n3;4\n',
        {"len, mm, max": [1, 3], "grade": [2, 4]},
    ),
    "blanks around a number": ("a,grade\n 1.5,2\n2.5 , 3\n", {"a": [1.5, 2.5], "grade": [2, 3]}),
    "a European table": ("a;grade\n1,5;2\n2,25;3\n", {"a": [1.5, 2.25], "grade": [2, 3]}),
    "an empty cell and a category": (
        "a,town,grade\n1,Ulm,2\n,Bonn,3\n",
        {"a": [1.0, np.nan], "town": ["Ulm", "Bonn"], "grade": [2, 3]},
    ),
}


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_compare_streams_and_tables_agree(name, tmp_path):
    text, expected = DISAGREEMENTS[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    frames = [read_table(path), compare_table(path).frame, pd.concat(scan_table(path, rows=1))]
    for frame in frames:
        pd.testing.assert_frame_equal(frame, pd.DataFrame(expected), check_dtype=False)


@pytest.mark.parametrize("sep", [",", "\t", ";", "|", "::"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators(sep, end):
    text = end.join([sep.join(row) for row in ("ab", "1x", "2y")]) + end
    frame = read(text)
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    assert frame.attrs["source"]["sep"] == sep


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1,5;2,5\n3,25;4\n", {}, {"1": [1.5, 3.25], "2": [2.5, 4.0]}),
        ("a;b\n1.5;x\n2;y\n", {}, {"a": [1.5, 2.0], "b": ["x", "y"]}),
        ('"a";"b"\n"1,5";"x;y"\n"2";"z"\n', {}, {"a": [1.5, 2.0], "b": ["x;y", "z"]}),
        ("a;b\n1,5;x\n2;y\n", {"decimal": "."}, {"a": ["1,5", "2"], "b": ["x", "y"]}),
        ("a;b;c\n1,5;2.5;x,y\n2;1;z\n", {}, {"a": [1.5, 2], "b": [2.5, 1], "c": ["x,y", "z"]}),
        ("a\tb\n1,5\t2\n", {"decimal": ","}, {"a": [1.5], "b": [2]}),
        ("a,b\n1,2\n", {"header": False}, {"1": ["a", "1"], "2": ["b", "2"]}),
        ("1,2\n3,4\n", {"header": True}, {"1": [3], "2": [4]}),
        ("1,2\n3,4\n", {"columns": ["x", "y"]}, {"x": [1, 3], "y": [2, 4]}),
        ("a,b\n3,4\n", {"columns": ["x", "y"]}, {"x": [3], "y": [4]}),
        ("# made by\n# us, twice\na,b\n1,2\n# end\n3,4\n", {}, {"a": [1, 3], "b": [2, 4]}),
        ("#a,b\n1,2\n", {}, {"#a": [1], "b": [2]}),
        ("%x\na,b\n1,2\n", {"comment": "%"}, {"a": [1], "b": [2]}),
        ("a,b\n1,-9\n2,3\n", {"missing": ["-9"]}, {"a": [1, 2], "b": [np.nan, 3]}),
        ("a,b\n1,NA\n2, null \n", {}, {"a": [1, 2], "b": [np.nan, np.nan]}),
        ("a b\n1 2\n", {"sep": " "}, {"a": [1], "b": [2]}),
        ("a,b\n+1,.5\n-2,5.\n", {}, {"a": [1, -2], "b": [0.5, 5.0]}),
        ("a,b\n+1,x\n NA ,y\n", {}, {"a": [1.0, np.nan], "b": ["x", "y"]}),
        ('a,b\n1,5" pipe\n2,x\n', {}, {"a": [1, 2], "b": ['5" pipe', "x"]}),
        ('a,b\n1, "x, ""y""\nz"\n2,w\n', {}, {"a": [1, 2], "b": ['x, "y"\nz', "w"]}),
        ('a::b\n1::"x\n2::y\n', {}, {"a": [1, 2], "b": ['"x', "y"]}),
        ("a,,\n1,2,3\n", {}, {"a": [1], "Unnamed: 1": [2], "Unnamed: 2": [3]}),
        ("a,b\n12:30,1\n12:31,2\n", {}, {"a": ["12:30", "12:31"], "b": [1, 2]}),
        ("a\n1\n\n2\n", {}, {"a": [1, 2]}),
        ("a,b\n1,2\n  \n3,4\n", {}, {"a": [1, 3], "b": [2, 4]}),
        ('a\tb\n1\tx"y\n\t\n2\tz\n', {}, {"a": [1, np.nan, 2], "b": ['x"y', None, "z"]}),
        ("a,b\n1,x\ry\n2,z\n", {}, {"a": [1, 2], "b": ["x\ry", "z"]}),
        ("a,b\r1,2\r3,4", {}, {"a": [1, 3], "b": [2, 4]}),
    ],
)
def test_rules(text, options, expected):
    frame = read(text, **options)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(expected), check_dtype=False)


def test_types():
    frame = read("i,f,b,d,t\n1,1.5,true,2020-01-31,x\n2,,false,2020-02-01 12:00:00,y\n")
    kinds = [frame[name].dtype.kind for name in "ifbd"]
    assert kinds == ["i", "f", "b", "M"]
    assert read("b,c\ntrue,1\n,2\n")["b"].tolist() == [True, pd.NA]


def test_integers_keep_their_digits():
    past = [2**53 + 1, None, -(2**60)]
    frame = read("a,b\n" + "".join(f"{'' if x is None else x},1\n" for x in past))
    assert [None if x is pd.NA else x for x in frame["a"].tolist()] == past
    frame = read(f"a,b,c\n{2**64},1.5,1e300\n{10**70 + 1},{10**30},2\n")
    assert frame["a"].tolist() == [2**64, 10**70 + 1]
    assert frame["b"].tolist() == [1.5, 1e30]
    assert read(f"a,b\n {2**62 + 1},1\n3 ,2\n")["a"].tolist() == [2**62 + 1, 3]
    assert read(f"a,b\n {2**64 + 1},1\n3 ,2\n")["a"].tolist() == [2**64 + 1, 3]
    frame = read(f"a,b\n{'1' * 400},{'2' * 77}\n3,-4\n")
    assert frame.to_dict("list") == {"a": ["1" * 400, "3"], "b": ["2" * 77, "-4"]}
    lines = json.dumps({"a": 2**53 + 1}) + "\n" + json.dumps({"a": 2**70}) + "\n"
    assert read(lines)["a"].tolist() == [2**53 + 1, 2**70]
    for big in (2**53 + 1, 2**70):
        rows = [{"a": big, "b": 1}, {"a": None, "b": None}]
        for text in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
            frame = read(text)
            assert frame["a"].tolist()[0] == big
            assert frame["a"].isna().tolist() == [False, True]
            assert frame["b"].dtype == float


@pytest.mark.parametrize("text", ["a,b\n0x10,1\n0XfF,2\n", "a,b\n0x10,1\n255,2\n"])
def test_hexadecimal_ids_stay_texts(text):
    assert read(text)["a"].tolist() == [line.split(",")[0] for line in text.split()[1:]]


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_the_nearest_doubles(numbers):
    frame = read("a,b\n" + "".join(f"{x!r},x\n" for x in numbers))
    assert frame["a"].astype(float).tolist() == numbers


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "UTF-16")]
)
def test_encodings(encoding, shown):
    frame = read("grade,café\n1,été\n".encode(encoding))
    assert frame["café"].tolist() == ["été"]
    assert shown in describe(frame)
    latin = read("grade,café\n1,été\n".encode("latin-1"))
    assert latin["café"].tolist() == ["été"]
    assert describe(latin) == "Read 'open file': 1 row, ','-separated, Latin-1"
    assert read("a,b\n1,д\n".encode("cp1251"), encoding="cp1251")["b"].tolist() == ["д"]
    with pytest.raises(ValueError, match="open file: line 2: not utf-8"):
        read(b"\xef\xbb\xbfa,b\n1,\xff\n")
    with pytest.raises(ValueError, match="open file: line 2: not utf-8"):
        read("a,b\n1,д\n".encode("cp1251"), encoding="utf-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le"])
@pytest.mark.parametrize(
    "text", ["a,b\n1,é\n", '{"a": 1, "b": "é"}\n', '[{"a": 1, "b": "é"}]', "3 1:1\n4 2:.5\n"]
)
def test_wide_encodings_in_all_formats_of_text(encoding, text):
    raw, named = text.encode(encoding), {"encoding": encoding} if "le" in encoding else {}
    frame, expected = read(raw, **named), read(text)
    pd.testing.assert_frame_equal(frame, expected)
    pd.testing.assert_frame_equal(pd.concat(scan_table(io.BytesIO(raw), **named)), expected)


PACK = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda raw: pa.compress(raw, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("ending", [*PACK, "zip"])
def test_packed_texts(tmp_path, ending):
    raw = b"a;b\n" + b"1,5;x\n" * 2000
    path = tmp_path / f"t.csv.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inner.csv", raw)
    else:
        path.write_bytes(PACK[ending](raw))
    assert len(read_table(path)) == 2000
    assert sum(map(len, scan_table(path, rows=300))) == 2000
    assert "packed by " in describe(read_table(path))
    if ending != "zip":
        path.write_bytes(PACK[ending](raw)[:-9])
        with pytest.raises(ValueError, match="damaged archive"):
            read_table(path)


@pytest.mark.parametrize("ending", PACK)
def test_bombs_are_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(packed_files, "UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(packed_files, "UNPACKED_RATIO", 2)
    path = tmp_path / "bomb"
    path.write_bytes(PACK[ending](b"\n" * 1_000_000))
    with pytest.raises(ValueError, match=r"bomb:1: unpacks to more than 100,000 bytes"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b", "a header and no rows"),
        ("a,b\n1,2\n3\n", "line 3: 1 field, expected 2 as in the first line"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 fields, expected 2"),
        ('a,b\n1,2\n"3,4\n', "line 3: a quote that is never closed"),
        ('a,b\n1,2\n"3"x,4\n', "line 3: text after the closing quote"),
        ("a,a\n1,2\n", "two columns are named 'a': rename one"),
        ("a,b\n1,2\n\0\0", "a binary file of no known format"),
    ],
)
def test_bad_texts(text, message):
    with pytest.raises(ValueError, match=f"^open file: {message}"):
        read(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": "ab"}, "sep='ab' is invalid"),
        ({"sep": ""}, "sep=''"),
        ({"decimal": ";"}, "decimal=';' must be"),
        ({"sep": ",", "decimal": ","}, "it is also the separator"),
        ({"encoding": "no"}, "encoding='no' is not known"),
        ({"header": "yes"}, "header='yes'"),
        ({"columns": ["a"]}, "columns=.* has 1 names, but the first line of open file has 2"),
        ({"columns": ["a", "a"]}, "expected names, each once"),
        ({"columns": "ab"}, "expected a sequence of str"),
        ({"missing": "x"}, "expected a sequence of str"),
        ({"comment": 3}, "comment=3 is invalid"),
        ({"format": "word"}, "format='word' must be"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        read("x,y\n1,2\n", **options)
    with pytest.raises(ValueError, match=message):
        list(scan_table(io.StringIO("x,y\n1,2\n"), **options))


def test_the_source_is_plain_data(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1,5;2\n")
    frame = read_table(path)
    assert json.loads(json.dumps(frame.attrs["source"])) == frame.attrs["source"]
    assert describe(frame) == f"Read '{path}': 1 row, ';'-separated, decimal comma"


PACKED = ["csv.gz", "csv.xz", "csv.zst", "csv.zip", "jsonl.zst"]
FRAME = pd.DataFrame(
    {
        "a": np.arange(500) / 7,
        "b": np.arange(500) % 9,
        "c": [["x,y", 'z"q', "é\nf", None][i % 4] for i in range(500)],
        "d": np.arange(500) % 3 == 0,
    }
)


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "jsonl", "json", "parquet", "arrow", "xlsx", *PACKED]
)
def test_what_is_written_is_read_whole_and_in_frames(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write_table(FRAME, path)
    for frame in (read_table(path), pd.concat(scan_table(path, rows=37))):
        pd.testing.assert_frame_equal(frame, FRAME, check_dtype=False)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_table_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(FRAME, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match=r"object|convert|[Mm]ixed"):
        write_table(pd.DataFrame({"a": [1, "x", object()]}), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError, match=r"expected a pandas\.DataFrame"):
        write_table([1, 2], path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_into(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_table(FRAME[["b"]], path)
    assert os.read(reader, 2**16).startswith(b"b\n0\n1\n")
    os.close(reader)
    assert path.is_fifo()


def test_svmlight():
    frame = read("2 qid:7 1:0.5 3:1 # docid = GX0\n\n0 qid:7 2:.25\n")
    assert frame.to_dict("list") == {
        "grade": [2, 0],
        "query": [7, 7],
        "1": [0.5, 0],
        "2": [0, 0.25],
        "3": [1, 0],
    }
    assert list(read("1 0:2 1:3\n")) == ["grade", "0", "1"]
    with pytest.raises(ValueError, match=":2: '2:x' is not of the form feature:value"):
        read("1 1:2\n0 2:x\n")


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.integers(-(2**62), 2**62),
            st.text(st.characters(codec="utf-8", min_codepoint=32), max_size=5).map("x".__add__),
            st.sampled_from(["", "a,b", '"', " x ", "\n"]),
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 7),
)
def test_any_quoted_texts_come_back(rows, size):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    out = io.StringIO()
    frame.to_csv(out, index=False, quoting=1)
    found = read(out.getvalue())
    assert found["a"].tolist() == frame["a"].tolist()
    pieces = list(scan_table(io.StringIO(out.getvalue()), rows=size))
    assert max(map(len, pieces)) <= size
    joined = [x for piece in pieces for x in piece["a"].tolist()]
    assert joined == frame["a"].tolist()


def test_a_column_named_as_archives_begin():
    assert values("PK,b\n1,2\n") == {"PK": [1], "b": [2]}
    assert next(scan_table(io.StringIO("PK,b\n1,2\n")))["PK"].tolist() == [1]


def test_blanks_around_numbers_with_a_decimal_comma():
    frame = read_table(io.StringIO("size;grade\n 1,5;1\n2,25 ;2\n"))
    assert frame["size"].tolist() == [1.5, 2.25]

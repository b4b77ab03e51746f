"""Damaged input: a ValueError that names the file, or data that the literal readers agree with."""

import gzip
import re
import warnings
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.datasets import (
    read_book_crossing,
    read_contests,
    read_cystic_fibrosis,
    read_jester,
    read_letor,
    read_movielens,
    read_ordinal,
    read_preflib,
    read_ratings,
)
from rankwise.io import text as delimited
from rankwise.io.dialect import Dialect, split_rows
from rankwise.io.files import BadRows, Source
from rankwise.io.svmlight import Rules, literal_row
from rankwise.io.text import ID, INTEGER, NUMBER, TEXT, Column, Layout, explain_row, read_columns

INSERTS = [b'"', b"\\", b"\n", b"\r", b"\x00", b"\xff", b"9" * 20, b"-", b"nan", b"{", b"}", b"#"]
INSERTS += [
    b",",
    b"::",
    b":",
    b";",
    b"\t",
    b" ",
    b"\xef\xbb\xbf",
    b"1e999",
    b"\x1a",
    b"\xc3",
    b"\n\n",
]
SEPARATORS = [b"::", b",", b";", b"\t", b"|", b":", b" "]


@st.composite
def damages(draw):
    """A function that damages bytes: cuts, flips, inserts, deletes, swaps separators."""
    kind = draw(
        st.sampled_from(["cut", "flip", "insert", "delete", "swap", "crlf", "bom", "noise"])
    )
    places = draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    byte = draw(st.integers(0, 255))
    insert = draw(st.sampled_from(INSERTS))
    swap = draw(st.tuples(st.sampled_from(SEPARATORS), st.sampled_from([*SEPARATORS, b"", b"\0"])))
    noise = draw(st.binary(max_size=200))

    def damage(content):
        at = [min(int(place * len(content)), len(content) - 1) for place in places]
        data = bytearray(content)
        if kind == "cut":
            return content[: at[0]]
        if kind == "flip":
            for i in at:
                data[i] ^= byte or 1
        elif kind == "insert":
            data[at[0] : at[0]] = insert
        elif kind == "delete":
            del data[min(at) : max(at) + 1]
        elif kind == "swap":
            return content.replace(*swap)
        elif kind == "crlf":
            return content.replace(b"\n", b"\r\n")
        return {"bom": b"\xef\xbb\xbf" + content, "noise": noise}.get(kind, bytes(data))

    return damage


FORMATS = {
    "ratings.dat": ("ratings", read_movielens),
    "ratings.csv": ("CSV_RATINGS", read_movielens),
    "movies.dat": ("MOVIES", partial(read_movielens, table="movies")),
    "movies.csv": ("CSV_MOVIES", partial(read_movielens, table="movies")),
    "u.item": ("ITEMS", partial(read_movielens, table="movies")),
    "u.user": ("ITEM_USERS", partial(read_movielens, table="users")),
    "BX-Book-Ratings.csv": ("BX_RATINGS", read_book_crossing),
    "BX-Books.csv": ("BX_BOOKS", partial(read_book_crossing, table="books")),
    "BX-Users.csv": ("BX_USERS", partial(read_book_crossing, table="users")),
    "jester.csv": ("JESTER", read_jester),
    "jester.xls": ("xls", read_jester),
    "jester.xlsx": ("xlsx", read_jester),
    "jester.zip": ("zip", read_jester),
    "any.dat": ("ratings", read_ratings),
    "any.csv": ("ANY_RATINGS", partial(read_ratings, scale=(-1, 10))),
    "S1.txt": ("LETOR", read_letor),
    "rank": ("LIGHTGBM", read_letor),
    "rank.query": ("LIGHTGBM_SIZES", read_letor),
    "S1.txt.gz": ("gzip", read_letor),
    "x.toi": ("PREFLIB", read_preflib),
    "wine.csv": ("ORDINAL", read_ordinal),
    "arena.csv": ("CONTESTS", read_contests),
    "cf74": ("CF74", read_cystic_fibrosis),
    "cfquery": ("CFQUERY", read_cystic_fibrosis),
}


def attempt(reader, path, mode):
    """Read, and return the result and None, or None and the message of the ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader(path, on_bad_rows=mode), None
        except ValueError as error:
            return None, str(error) if type(error) is ValueError else ""


def content_of(samples, key):
    made = {
        "ratings": samples.ratings,
        "xls": lambda: samples.xls(samples.JOKES),
        "xlsx": lambda: samples.xlsx(samples.JOKES),
        "zip": lambda: samples.zipped(a__jester_DOT_csv=samples.JESTER),
        "gzip": lambda: gzip.compress(samples.LETOR),
    }
    content = made[key]() if key in made else getattr(samples, key)
    return content.encode() if isinstance(content, str) else content


@pytest.mark.parametrize("name", FORMATS)
@given(damage=damages(), mode=st.sampled_from(["raise", "skip"]))
def test_damage_is_an_error_that_names_the_file(samples, tmp_path_factory, name, damage, mode):
    key, reader = FORMATS[name]
    folder = tmp_path_factory.getbasetemp() / f"fuzz-{name}"
    folder.mkdir(exist_ok=True)
    path = folder / name
    if reader is read_cystic_fibrosis:
        (folder / "cf75").write_bytes(samples.CF75)
        (folder / "cf74").write_bytes(samples.CF74)
        (folder / "cfquery").write_bytes(samples.CFQUERY)
    if key.startswith("LIGHTGBM"):
        (folder / "rank").write_bytes(samples.LIGHTGBM)
        (folder / "rank.query").write_bytes(samples.LIGHTGBM_SIZES)
    path.write_bytes(damage(content_of(samples, key)))
    read = {read_cystic_fibrosis: folder, read_letor: path.with_suffix("")}
    if key != "LIGHTGBM_SIZES":
        read.pop(read_letor)
    _, error = attempt(reader, read.get(reader, path), mode)
    where = rf"{re.escape(str(folder))}/\S+?(:\d+)?: .+"
    assert error is None or re.fullmatch(where, error, re.DOTALL)


LAYOUTS = {
    "colons": Layout((Column("a", INTEGER), Column("b", TEXT), Column("c", NUMBER)), "::"),
    "tabs": Layout((Column("a", NUMBER), Column("b", INTEGER)), "\t"),
    "csv": Layout((Column("a", TEXT), Column("b", NUMBER)), ",", True),
    "semicolons": Layout((Column("a", INTEGER), Column("b", TEXT)), ";", True),
    "ids": Layout((Column("a", ID), Column("b", NUMBER), Column("c", ID)), "|", True),
    "one": Layout((Column("a", TEXT),), ","),
}
PIECES = [
    *SEPARATORS,
    b"\n",
    b"\r\n",
    b"\r",
    b'"',
    b'""',
    b"\\",
    b"a",
    b"\xe9",
    b"\x01",
    b"-",
    b"+",
]
PIECES += [b"1", b"07", b"1.5", b".", b"e", b"E-3", b"9" * 15, b"9" * 16, b"1" * 30, b"1e400"]
PIECES += [b"1e" + b"9" * 30, b"1e-" + b"9" * 30]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)


def rows_of(layout):
    """Lines that are nearly rows, so that many are."""
    field = st.sampled_from(
        [b"1", b"22", b"1.5", b"-2e3", b"x", b'"y"', b'"1"', b"", b'"a\nb"', b"-3", b"04"]
    )
    row = st.lists(field, min_size=len(layout.columns) - 1, max_size=len(layout.columns) + 1).map(
        layout.separator.encode().join
    )
    return st.lists(st.one_of(row, row, texts), max_size=8).map(
        lambda rows: b"".join(row + b"\n" for row in rows)
    )


def read_literally(raw, layout):
    names = tuple(column.name for column in layout.columns)
    dialect = Dialect(layout.separator, columns=names, quote=layout.quote, comment="", strict=True)
    rows, lines, bad = [], [], []
    for row in split_rows(raw, dialect, 0, 1):
        if problem := explain_row(row, layout):
            bad.append((row.line, problem))
        else:
            rows.append(row.fields)
            lines.append(row.line)
    return rows, lines, bad


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@given(data=st.data())
@settings(max_examples=150)
def test_the_fast_table_is_the_literal_one(layout, data):
    raw = data.draw(rows_of(layout)) or b"\n"
    rows, lines, bad = read_literally(raw.decode("latin-1").encode(), layout)
    source = Source("file", raw.decode("latin-1").encode())
    counted = BadRows(source, "skip")
    columns, found = read_columns(source, layout, counted)
    assert found.tolist() == lines
    assert counted.count == len(bad)
    if bad:
        assert counted.first == f"file:{bad[0][0]}: {bad[0][1]}"
        with pytest.raises(ValueError, match=re.escape(counted.first)):
            read_columns(source, layout, BadRows(source, "raise"))
    for c, column in enumerate(layout.columns):
        fields = [row[c] for row in rows]
        if column.kind == TEXT:
            assert columns[column.name].tolist() == [field.strip() for field in fields]
        elif column.kind == ID:
            whole = all(re.fullmatch("0|-?[1-9][0-9]{0,14}", f.strip(), re.ASCII) for f in fields)
            expected = [int(field) if whole else field.strip() for field in fields]
            assert columns[column.name].tolist() == expected
        else:
            expected = [(float if column.kind == NUMBER else int)(field) for field in fields]
            np.testing.assert_array_equal(columns[column.name], expected)


def test_a_table_of_many_blocks_is_read_alike_by_both_ways(monkeypatch):
    random = np.random.default_rng(0)
    cells = [b"%d::%s::%r" % (i, random.choice([b"x", b"y z", b""]), x.item())
             for i, x in enumerate(random.normal(size=20_000))]  # fmt: skip
    source = Source("file", b"".join(cell + b"\n" for cell in cells))
    layout = LAYOUTS["colons"]
    fast = read_columns(source, layout, BadRows(source, "raise"))
    monkeypatch.setattr(delimited, "is_regular", lambda *_: False)
    slow = read_columns(source, layout, BadRows(source, "raise"))
    assert fast[0].equals(slow[0])
    assert (fast[1] == slow[1]).all()


TOKENS = ["1", "0.5", "qid:1", "qid:2", "1:1", "2:.5", "3:-1e-3", "4:1e300", "20000:1", "0:1", "x"]
TOKENS += ["1:", ":1", "qid:", "#", "# c:1", "\t", "\r", "\x00", "5:1:1", "6:" + "7" * 25, "1e400"]
letor_lines = st.lists(
    st.tuples(
        st.sampled_from(["1 qid:1", "2 qid:7", ""]),
        st.lists(st.sampled_from(TOKENS), max_size=5),
        st.sampled_from([" ", "  ", "\t"]),
        st.sampled_from(["\n", "\r\n", "\n\n"]),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: "".join(s.join([a, *b] if a else b) + end for a, b, s, end in rows))


@given(text=letor_lines)
@settings(max_examples=200)
def test_fast_letor_is_the_literal_one(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "letor.txt"
    path.write_bytes(text.encode("latin-1"))
    rows, bad = [], []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")[:-1], 1):
        if not line.strip(" \t") or line.lstrip(" \t").startswith("#"):
            continue
        try:
            rows.append(literal_row(line.partition("#")[0], Rules(10_000)))
        except ValueError as error:
            bad.append(f"{path}:{number}: {error}")
    data, error = attempt(read_letor, path, "skip")
    if error is not None:
        assert rows == []
        assert error in {
            *bad[:1],
            f"{path}:1: the file is empty",
            f"{path}:1: no rows in this file",
        } or ("qid:" not in text and ": no query: " in error)
        return
    assert data.skipped_rows == len(bad)
    assert attempt(read_letor, path, "raise")[1] == (bad[0] if bad else None)
    X = np.zeros_like(data.X)
    for x, (_, _, features) in zip(X, rows, strict=True):
        for feature, value in features.items():
            x[feature - 1] = value
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, [grade for grade, _, _ in rows])
    np.testing.assert_array_equal(data.qid, [qid for _, qid, _ in rows])


numbers = st.one_of(
    st.from_regex(
        r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,4})?", fullmatch=True
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@given(values=st.lists(numbers.filter(str.isascii), min_size=1, max_size=10))
def test_numbers_are_the_nearest_doubles(values):
    source = Source("file", "".join(f"{value}\n" for value in values).encode())
    layout = Layout((Column("x", NUMBER),), ",")
    columns, _ = read_columns(source, layout, BadRows(source, "skip"))
    values = [value for value in values if not Decimal(value) or Decimal(value).adjusted() < 308]
    np.testing.assert_array_equal(
        columns["x"].to_numpy().view(np.int64), np.array(values, float).view(np.int64)
    )

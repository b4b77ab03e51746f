"""Tables as they come, and the sentences for those that can't be read."""

import gzip
import io
import os
import sys
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from rankwise import save
from rankwise.comparison import _large, _tables, read_table
from rankwise.magnitude import MPRank

FRAME = pd.DataFrame({"grade": [1, 2, 3, 2], "acid": [0.5, np.nan, 2.5, 1.0], "town": list("aabc")})
PREFLIB = """# DATA TYPE: soc
# NUMBER ALTERNATIVES: 2
# ALTERNATIVE NAME 1: ash
# ALTERNATIVE NAME 2: oak
2: 2,1
1: 1,2
"""


def _parquet(path):
    FRAME.to_parquet(path)


def _feather(path):
    FRAME.to_feather(path, compression="uncompressed")


def _stream(path):
    import pyarrow as pa

    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)


WRITERS = {
    "csv": ("','-separated", lambda path: FRAME.to_csv(path, index=False)),
    "tsv": ("tab-separated", lambda path: FRAME.to_csv(path, index=False, sep="\t")),
    "semicolons": ("';'-separated", lambda path: FRAME.to_csv(path, index=False, sep=";")),
    "parquet": ("parquet", _parquet),
    "feather": ("arrow", _feather),
    "stream": ("arrow", _stream),
    "jsonl": ("json lines", lambda path: FRAME.to_json(path, orient="records", lines=True)),
    "json": ("json", lambda path: FRAME.to_json(path, orient="records")),
    "xlsx": ("excel", lambda path: FRAME.to_excel(path, index=False, engine="openpyxl")),
}


@pytest.mark.parametrize("way", ["plain", "gzip", "standard input"])
@pytest.mark.parametrize("name", WRITERS)
def test_each_format_gives_the_frame(name, way, tmp_path, monkeypatch):
    what, write = WRITERS[name]
    path = tmp_path / f"table.{name}"
    if name == "xlsx" and way == "gzip":
        pytest.skip("a spreadsheet is packed by itself")
    write(path)
    if way == "gzip":
        path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
        path = path.with_suffix(".gz")
    if way == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        path = "-"
    table = read_table(path)
    assert table.what == (f"{what}, packed by gzip" if way == "gzip" else what)
    assert table.roles == {}
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)


def test_formats_of_their_own(tmp_path):
    letor = tmp_path / "S1.txt"
    letor.write_text("2 qid:7 1:0.5 3:1 # doc\n0 qid:7 2:.25\n")
    table = read_table(letor)
    assert (table.what, table.roles) == ("svmlight", {"target": "grade", "query": "query"})
    assert table.frame.to_numpy().tolist() == [[2, 7, 0.5, 0, 1], [0, 7, 0, 0.25, 0]]

    svmlight = tmp_path / "rows.txt"
    svmlight.write_text("2 1:0.5 3:1\n-1 2:.25\n")
    table = read_table(svmlight)
    assert (table.what, table.roles) == ("svmlight", {"target": "grade"})
    assert table.frame.to_numpy().tolist() == [[2, 0.5, 0, 1], [-1, 0, 0.25, 0]]

    orders = tmp_path / "votes.soc"
    orders.write_text(PREFLIB)
    table = read_table(orders)
    assert table.what == "PrefLib"
    assert table.frame is None
    assert table.rankings == [["oak", "ash"], ["ash", "oak"]]
    assert table.counts.tolist() == [2, 1]

    ratings = tmp_path / "u.data"
    ratings.write_text("1\t2\t3\t4\n1\t3\t4\t4\n")
    table = read_table(ratings)
    assert (table.what, set(table.roles)) == ("MovieLens ratings", {"user", "item", "rating"})


def test_a_name_promises_nothing(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("who,what,rating\nann,tea,73\nbob,milk,12\n")
    assert read_table(path).frame["rating"].tolist() == [73, 12]


def test_text_as_it_comes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("grade,café\n1,été\n".encode("latin-1"))
    table = read_table(path)
    assert table.what == "','-separated, Latin-1"
    assert table.frame["café"].tolist() == ["été"]
    path.write_bytes("grade,x\n1,é\n".encode("utf-16"))
    assert read_table(path).frame["x"].tolist() == ["é"]
    path.write_bytes(b"\xef\xbb\xbfgrade,x\r\n1,2\r\n")
    assert list(read_table(path).frame) == ["grade", "x"]
    path.write_text("1,2,3\n4,5,6\n")
    table = read_table(path)
    assert "no header: columns are named" in table.what
    assert list(table.frame) == ["1", "2", "3"]
    path.write_text('grade,"a, b"\n1,"x\ny"\n')
    assert read_table(path).frame["a, b"].tolist() == ["x\ny"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "a binary file of no known format; these are read: CSV"),
        (b"PAR1 is not all", "a damaged Parquet file"),
        (b"PK\x03\x04 is not all", "a damaged archive"),
        (b"\x1f\x8b\x08 is not all", "a damaged archive"),
        (b"a,b\n1,2\n3\n", ": line 3: 1 field, expected 2"),
        (b"a,b\n1,2\n3,4,5\n", ": line 3: 3 fields, expected 2"),
        (b'a,b\n"1",2\n3,4,5\n', "line 3: 3 fields, expected 2"),
        (b"a,b\n", "a header and no rows"),
        (b"a,b,a \n1,2,3\n", "two columns are named 'a'"),
        (b'{"a": 1}\n{"a": \n', "line 2: not JSON lines"),
        (b'{"a": [1, 2]}\n', "the values of 'a' are lists or objects"),
        (b"1 2:3\n1 2:x\n", ":2: '2:x' is not of the form feature:value"),
        (b"1 20001:3\n", ":1: feature 20001 is beyond the largest, 10000"),
    ],
)
def test_what_cant_be_read_is_said(content, message, tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_names_that_come_twice_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,grade,,, grade\n1,2,3,4,5\n", encoding="utf-8")
    with pytest.raises(ValueError, match="two columns are named 'grade': rename one"):
        read_table(path)
    path.write_text("a,,,grade\n1,2,3,4\n", encoding="utf-8")
    assert len(read_table(path).frame.columns) == 4


def test_a_model_is_no_table(tmp_path):
    path = tmp_path / "model.rankwise"
    save(MPRank().fit(np.eye(3), [1, 2, 3]), path)
    with pytest.raises(
        ValueError, match=r"without an Excel file: expected a table \(is it a model"
    ):
        read_table(path)


def test_standard_input_is_named_in_errors(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1\n")))
    with pytest.raises(ValueError, match=r"^standard input: line 2: 1 field,"):
        read_table("-")


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="is a folder: name one of its files"):
        read_table(tmp_path)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with pytest.raises(ValueError, match="a pipe, expected a file"):
        read_table(fifo)


def test_a_table_too_large_for_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    monkeypatch.setattr(_tables, "free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"GB of memory.*rankwise stream"):
        read_table(path)
    monkeypatch.setattr(_tables, "free_memory", lambda: None)
    assert len(read_table(path).frame) == 1000


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(_tables, "LARGE", 10_000)
    monkeypatch.setattr(_large, "_N_BLOCKS", 8)
    monkeypatch.setattr(_large, "_BLOCK", 500)


LINES = {
    "table.csv": lambda i: f"{i},{i % 5},town {i % 3}",
    "table.jsonl": lambda i: f'{{"row": {i}, "grade": {i % 5}, "town": "t{i % 3}"}}',
    "table.txt": lambda i: f"{i % 3} qid:{i // 10} 1:{i} 2:0.5",
    "ratings.dat": lambda i: f"{i}::{i % 7}::{i % 5 + 1}::0",
}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", LINES)
def test_of_a_large_file_whole_lines_are_read_from_all_over_it(name, tmp_path):
    path = tmp_path / name
    header = ["row,grade,town"] if name.endswith("csv") else []
    path.write_text("\n".join([*header, *map(LINES[name], range(5000)), ""]))
    part = read_table(path, sample=True)
    assert part.whole == pytest.approx(5000, rel=0.05)
    assert len(part.frame) < 400
    column = {"table.txt": "f1", "ratings.dat": "user"}.get(name, "row")
    column = column if column in part.frame else part.frame.columns[2]
    rows = part.frame[column].astype(int).to_numpy()
    assert len(np.unique(rows)) == len(rows)
    assert np.bincount(rows // 625, minlength=8)[:8].min() > 5
    again = read_table(path, sample=True, seed=1).frame[column].astype(int).to_numpy()
    assert not np.array_equal(rows, again)
    whole = read_table(path)
    assert (len(whole.frame), whole.whole) == (5000, None)
    kept = whole.frame.set_index(column).loc[rows].reset_index()[part.frame.columns]
    pd.testing.assert_frame_equal(kept, part.frame, check_dtype=False)


@pytest.mark.usefixtures("large")
def test_a_large_file_of_which_no_part_can_be_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + '1,"two\nlines"\n' * 1000)
    with pytest.raises(ValueError, match="too large to be read whole, and a text in quotes goes"):
        read_table(path, sample=True)
    path.write_text("a,b\n" + "1" * 20_000 + ",2\n")
    with pytest.raises(ValueError, match="lines of more than 500 bytes"):
        read_table(path, sample=True)
    path.write_text("a,b\n" + "1,2\n1,2,3\n" * 2000)
    with pytest.raises(ValueError, match=r"lines from all over .*table.csv: line [0-9]+: 3 fields"):
        read_table(path, sample=True)
    path.write_bytes(gzip.compress(os.urandom(20_000)))
    monkeypatch.setattr(_tables, "free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"binary|GB of memory"):
        read_table(path, sample=True)


def test_the_memory_of_a_container_counts(tmp_path):
    assert _large._of_group(str(tmp_path)) is None
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert _large._of_group(str(tmp_path)) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert _large._of_group(str(tmp_path)) == 700


@pytest.mark.parametrize("name", [*WRITERS, "letor", "preflib"])
def test_damaged_files_are_read_or_refused(name, tmp_path):
    path = tmp_path / "table"
    if name in WRITERS:
        WRITERS[name][1](path.with_suffix(".xlsx") if name == "xlsx" else path)
        path = path.with_suffix(".xlsx") if name == "xlsx" else path
    else:
        path.write_text(PREFLIB if name == "preflib" else "2 qid:7 1:0.5 3:1\n0 qid:7 2:.25\n" * 5)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(40):
        raw = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            raw[random.integers(len(raw))] = random.integers(256)
        path.write_bytes(raw[: random.integers(1, 2 * len(raw))])
        with warnings.catch_warnings(), suppress(ValueError, OSError):
            warnings.simplefilter("ignore", UserWarning)
            table = read_table(path)
            assert table.rankings or len(table.frame)


def test_memory_is_estimated_by_what_cells_become():
    """Measured for fits, by the largest memory in use: 4.4, 31 and 56 times the file."""
    random = np.random.default_rng(0)
    numbers = pd.DataFrame(random.normal(size=(200, 14)))
    digits = pd.DataFrame(random.integers(0, 10, (500, 31)))
    words = pd.DataFrame(
        {
            "a": random.normal(size=1000).round(3),
            "town": random.choice(["Ulm", "Rome", "New York", "Paris"], 1000),
            "kind": random.choice(["red", "green", "blue"], 1000),
            "note": [f"note {i % 50}" for i in range(1000)],
            "b": random.integers(0, 1000, 1000),
            "grade": random.integers(1, 6, 1000),
        }
    )
    for frame, low, high in [(numbers, 4.4, 6), (digits, 31, 45), (words, 56, 75)]:
        assert low < _tables.memory_ratio(frame.to_csv(index=False).encode()) < high
    assert _tables.memory_ratio(b"\0" * 100) == 8
    assert _tables.memory_ratio(b"a,b") < 40

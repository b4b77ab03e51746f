"""What the readers open and unpack, and what they refuse: pipes, devices, loops, bombs."""

import gzip
import io
import os
import sys
import zipfile

import pytest

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
from rankwise.io import files
from rankwise.io.files import read_source

READERS = {
    "movielens": read_movielens,
    "ratings": read_ratings,
    "book_crossing": read_book_crossing,
    "jester": read_jester,
    "letor": read_letor,
    "preflib": read_preflib,
    "cystic_fibrosis": read_cystic_fibrosis,
    "ordinal": read_ordinal,
    "contests": read_contests,
}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pipes
@every_reader
def test_a_pipe_is_refused_at_once(tmp_path, reader):
    path = tmp_path / "jester.csv"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"jester\.csv:1: a pipe, expected a file"):
        reader(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no /dev/zero")  # noqa: PTH110
@every_reader
def test_a_device_is_refused_at_once(reader):
    with pytest.raises(ValueError, match="/dev/zero:1: a device, expected a file"):
        reader("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@every_reader
def test_a_link_to_itself_is_an_error_of_the_system(tmp_path, reader):
    path = tmp_path / "loop"
    path.symlink_to(path)
    with pytest.raises(OSError, match="loop"):
        reader(path)


@pipes
def test_a_pipe_in_a_folder_is_passed_over(samples, tmp_path):
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "ratings.dat")
    (tmp_path / "ratings.dat").write_bytes(samples.ratings())
    assert len(read_movielens(tmp_path)) == 3
    os.mkfifo(tmp_path / "cf74")
    with pytest.raises(ValueError, match="no files cf74"):
        read_cystic_fibrosis(tmp_path)


@pytest.fixture
def small_limits(monkeypatch):
    """Limits that a small bomb breaks."""
    monkeypatch.setattr(files, "UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(files, "UNPACKED_RATIO", 2)


def packed_zip(content, method=zipfile.ZIP_DEFLATED, names=("cf74", "cfquery")):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


@every_reader
@pytest.mark.parametrize("form", ["gzip", "zip", "bzip2", "lzma"])
@pytest.mark.usefixtures("small_limits")
def test_a_bomb_is_refused(tmp_path, reader, form):
    content = b"\n" * 1_000_000
    methods = {"zip": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
    names = ["cf74", "cfquery"] if reader is read_cystic_fibrosis else ["ratings.dat"]
    names = {read_jester: ["jester.csv"], read_book_crossing: ["BX-Book-Ratings.csv"]}.get(
        reader, names
    )
    path = tmp_path / "bomb"
    if form == "gzip":
        path.write_bytes(gzip.compress(content))
    else:
        path.write_bytes(packed_zip(content, methods[form], names))
    wanted = r"bomb\S*:1: unpacks to more than 100,000 bytes"
    if form == "gzip" and reader is read_cystic_fibrosis:
        wanted = "neither a folder nor a zip"
    with pytest.raises(ValueError, match=wanted):
        reader(path)


@pytest.mark.usefixtures("small_limits")
def test_the_members_of_an_archive_share_one_limit(tmp_path):
    path = tmp_path / "cf.zip"
    path.write_bytes(packed_zip(b"\n" * 60_000, names=["cf74", "cf75", "cfquery"]))
    with pytest.raises(ValueError, match=r"cf.zip/cf75:1: unpacks to more than"):
        read_cystic_fibrosis(path)


def test_what_packs_well_is_still_read(samples, tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(samples.ratings() * 10_000))
    assert len(read_movielens(path)) == 30_000


@pytest.mark.parametrize("keep", [10, 20, -9, -1])
def test_a_truncated_gzip_is_refused(samples, tmp_path, keep):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(samples.ratings())[:keep])
    with pytest.raises(ValueError, match=r"x\.gz:1: a damaged archive"):
        read_movielens(path)


def test_a_gzip_of_two_parts_is_read_whole(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert read_source(path).raw == b"a\nb\n"


BOM = b"\xef\xbb\xbf"


def test_every_reader_takes_a_byte_order_mark(samples, tmp_path):
    def write(name, content):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(BOM + content)
        return tmp_path / name

    assert len(read_movielens(write("ratings.dat", samples.ratings()))) == 3
    assert len(read_ratings(write("ratings.csv", samples.CSV_RATINGS))) == 3
    assert len(read_book_crossing(write("BX-Book-Ratings.csv", samples.BX_RATINGS))) == 3
    assert len(read_jester(write("jester.csv", samples.JESTER))) == 5
    assert len(read_letor(write("S1.txt", samples.LETOR)).y) == 3
    write("rank.txt.query", b"1\n1\n")
    assert len(read_letor(write("rank.txt", b"1 1:1\n0 2:1\n")).y) == 2
    assert len(read_preflib(write("x.toi", samples.PREFLIB))) == 6
    assert len(read_ordinal(write("wine.csv", samples.ORDINAL)).y) == 2
    assert len(read_contests(write("arena.csv", samples.CONTESTS)).first) == 3
    for name in ["CF74", "CF75", "CFQUERY"]:
        write(name.lower(), getattr(samples, name))
    assert len(read_cystic_fibrosis(tmp_path).documents) == 3


@every_reader
def test_lone_carriage_returns_are_named(samples, tmp_path, reader):
    path = tmp_path / "x"
    path.write_bytes(samples.ratings().replace(b"\n", b"\r"))
    if reader is read_cystic_fibrosis:
        (tmp_path / "cf74").write_bytes(samples.CF74.replace(b"\n", b"\r"))
        (tmp_path / "cfquery").write_bytes(samples.CFQUERY)
        path = tmp_path
    with pytest.raises(ValueError, match=r":1: lines end in a lone carriage return"):
        reader(path)


@pytest.mark.usefixtures("small_limits")
def test_a_spreadsheet_that_unpacks_to_too_much_is_refused(samples, tmp_path):
    path = tmp_path / "jester.xlsx"
    path.write_bytes(samples.xlsx([[1, 0.5]] * 5_000))
    with pytest.raises(ValueError, match=r"jester\.xlsx:1: unpacks to more than"):
        read_jester(path)


def test_a_spreadsheet_is_not_filled_up_to_what_it_states(samples, tmp_path):
    """A sheet that claims its last possible cell, and has one row far down and to the right."""
    book = zipfile.ZipFile(io.BytesIO(samples.xlsx(samples.JOKES)))
    far = b'<row r="900000"><c r="XFD900000"><v>1</v></c></row></sheetData>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in book.namelist():
            content = book.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'ref="A1:D3"', b'ref="A1:XFD1048576"')
                content = content.replace(b"</sheetData>", far)
            archive.writestr(name, content)
    path = tmp_path / "jester.xlsx"
    path.write_bytes(file.getvalue())
    with pytest.raises(ValueError, match=r"jester\.xlsx:900000: count is '', expected"):
        read_jester(path)

"""Tiny files of every format, as bytes, and spreadsheets written by hand."""

import io
import os
import struct
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest


@pytest.fixture(scope="session")
def samples():
    """This module: what the tests read."""
    return sys.modules[__name__]


@pytest.fixture(scope="session")
def real():
    """The folder of real data."""
    folder = os.environ.get("RANKWISE_DATA")
    if not folder or not (Path(folder) / "ml-1m").is_dir():
        pytest.skip("real data is not here: RANKWISE_DATA names no folder with ml-1m in it")
    return Path(folder)


RATINGS = [(1, 1193, 5, 978300760), (1, 661, 3, 978302109), (2, 1357, 4.5, 978298709)]


def ratings(separator=b"::", header=b""):
    rows = [separator.join(b"%d" % v if v == int(v) else b"%g" % v for v in r) for r in RATINGS]
    return b"".join(line + b"\n" for line in ([header] if header else []) + rows)


CSV_RATINGS = ratings(b",", b"userId,movieId,rating,timestamp")
MOVIES = "1::Toy Story (1995)::Animation|Comedy\n2::Misérables, Les (1995)::Drama\n3::Plain::War\n"
CSV_MOVIES = (
    "movieId,title,genres\n"
    '1,"American President, The (1995)",Comedy|Drama\n'
    '2,"Say ""No"" (1999)",Drama\n'
    "3,Misérables (1998),(no genres listed)\n"
)
ITEMS = (
    "1|Toy Story (1995)|01-Jan-1995||http://x|" + "|".join("0001110000000000000") + "\n"
    "2|unknown||||" + "|".join("1000000000000000000") + "\n"
)
USERS = "1::F::1::10::48067\n2::M::56::16::70072\n"
ITEM_USERS = "1|24|M|technician|85711\n2|53|F|other|T8H1N\n"

BX_RATINGS = (
    b'"User-ID";"ISBN";"Book-Rating"\r\n'
    b'"276725";"034545104X";"0"\r\n'
    b'"276726";"0155061224";"5"\r\n'
    b'"276727";"\\"04465;20802\\"";"10"\r\n'
)
BX_BOOKS = (
    b'"ISBN";"Book-Title";"Book-Author";"Year-Of-Publication";"Publisher";'
    b'"Image-URL-S";"Image-URL-M";"Image-URL-L"\r\n'
    b'"1";"A \\"quoted\\"; title";"J. Doe";"2002";"W. W. Norton &amp; Company";"s";"m";"l"\r\n'
    b'"2";"Erz\xc3?\xc2\xa4hlungen \\\\";"Andr\xe9";"0";"L\xc3?\xc2\xbcbbe";"s";"m";"l"\r\n'
)
BX_USERS = b'"User-ID";"Location";"Age"\r\n"1";"nyc, \xe9";NULL\r\n"2";"porto";"18"\r\n'

JOKES = [[2, -7.82, 99, 4.17], [3, 0.5, -10, 10], [0, 99, 99, 99]]
JESTER = b"".join(b",".join(b"%g" % v for v in row) + b"\n" for row in JOKES)

LETOR = (
    b"# a comment line\n"
    b"2 qid:10 1:0.5 2:-1e-3 4:1 #docid = A inc = 1\n"
    b"0 qid:10 3:.25 # docid = B\n\n"
    b"1 qid:7\n"
)

LIGHTGBM = b"2 1:0.5 2:-1e-3 4:1 # a\n0 3:.25\n\n1\n"
LIGHTGBM_SIZES = b"2\n1\n"

ANY_RATINGS = (
    "user,item,rating,time\n"
    'ann,"tea, green",0.5,1381006850\n7,"a ""b""",10,1381006851\nJosé,007,-1,1381006852\n'
)

PREFLIB = (
    "# FILE NAME: x.toi\n# TITLE: Bäume\n# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 4\n"
    "# NUMBER VOTERS: 6\n# NUMBER UNIQUE ORDERS: 3\n"
    "# ALTERNATIVE NAME 1: Esche\n# ALTERNATIVE NAME 2: Föhre\n"
    "# ALTERNATIVE NAME 3: Eiche: alt\n# ALTERNATIVE NAME 4: Ulme\n"
    "3: 1,{2,4},3\n2: 4,1\n1: {3}\n"
)

CF74 = (
    b"PN 74001\nRN 00001 \nAN 75\nAU Hoiby-N.\nTI Infection in\n   cystic fibrosis.\n"
    b"SO Acta. 1974.\nMJ A: b.\nMN C.\nAB Abstract of\n   two lines\nwith a stray one.\n\n"
    b"PN 74002\nRN 00002\nTI Saliva.\nE\xd8 An\xa0extract\xae\nRF 001 X\n\n"
)
CF75 = b"RN 00168\nTI Third.\n"
CFQUERY = (
    b"QN 00001 \nQU What are the\n   effects? \nNR 00002\nRD    1 1222  168 0011\n\n"
    b"QN 00002\nQU Why?\nNR 00001\nRD    2 0001"
)

ORDINAL = b'"response","acid","sugar"\n3,"7.4",1.9\n5,11.2,2\n'

CONTESTS = b"""judge,model_a,model_b,winner
1,cat,"dog, big",model_b
2,cat,eel,tie (bothbad)
1,eel,cat,eel
"""


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_DOT_", "."), content)
    return file.getvalue()


def xlsx(rows):
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    file = io.BytesIO()
    workbook.save(file)
    return file.getvalue()


def xls(rows):
    """A compound file with one stream, a BIFF8 workbook of one sheet of numbers."""

    def record(kind, body=b""):
        return struct.pack("<HH", kind, len(body)) + body

    def begin(substream):
        return record(0x0809, struct.pack("<HHHHII", 0x0600, substream, 0, 0, 0, 0))

    end = record(0x000A)
    sheet_name = b"\x01\x00a"
    globals_size = len(begin(5)) + 4 + 6 + len(sheet_name) + len(end)
    book = begin(5) + record(0x0085, struct.pack("<IBB", globals_size, 0, 0) + sheet_name) + end
    cells = b"".join(
        record(0x0203, struct.pack("<HHHd", r, c, 0, value))
        for r, row in enumerate(rows)
        for c, value in enumerate(row)
    )
    book += begin(0x10) + cells + end
    book = book.ljust(max(4096, -(-len(book) // 512) * 512), b"\0")
    sectors = len(book) // 512
    free, last, fat_sector = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack(
        "<HHHHH6xIIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, last, 0, last, 0, 0
    )
    header = header.ljust(512, b"\xff")
    chain = [fat_sector, last, *range(3, 2 + sectors), last]
    fat = struct.pack(f"<{len(chain)}I", *chain).ljust(512, struct.pack("<I", free)[:1])

    def entry(name, kind, child, start, size):
        text = (name + "\0").encode("utf-16-le")
        links = struct.pack("<HBBIII", len(text), kind, 1, free, free, child)
        return text.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, size)

    directory = entry("Root Entry", 5, 1, last, 0) + entry("Workbook", 2, free, 2, len(book))
    return header + fat + directory.ljust(512, b"\0") + book

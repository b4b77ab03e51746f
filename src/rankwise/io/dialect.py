"""The dialect of a delimited text, and its rows one by one: slow, literal, and exact on errors."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import shortened

START = 2**16
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
SEPARATORS = (",", "\t", ";", "|", "::")
_NUMBER = r"[+-]?(?:[0-9]+%s?[0-9]*|%s[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBERS = {
    ".": re.compile(_NUMBER % (r"\.", r"\.")),
    ",": re.compile(_NUMBER % (",", ",")),
}
_QUOTED = re.compile(rb'(?:^|(?<=[,;|\t]))[ ]*"(?:[^"]|"")*"', re.MULTILINE)
_SAMPLE = 100
_BLOCK = 2**18
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_CELL = re.compile(rb'[ \t]*"((?:[^"]|"")*+)"[ \t]*')


@dataclass(frozen=True)
class Dialect:
    """The dialect of a delimited text; None: guess it.

    ``start`` is the offset of the first row of data, and ``line`` its number. ``strict``:
    control characters raise, and so do quotes inside of a cell that is not in quotes.
    """

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] | None = None
    comment: str | None = None
    quote: bool | None = None
    missing: tuple[str, ...] = MISSING
    start: int = 0
    line: int = 1
    strict: bool = False


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, blanks around it aside."""
    return NUMBERS[decimal].fullmatch(text.strip()) is not None


def guess_dialect(text: bytes, label: str, asked: Dialect) -> Dialect:
    """Fill in what of a dialect is None from the first lines of a text in UTF-8."""
    head = text[:START]
    if len(text) > START:
        head = head[: head.rfind(b"\n") + 1] or head
    comment = _guess_comment(head) if asked.comment is None else asked.comment
    bare = _QUOTED.sub(b'""', head).decode("utf-8", "replace")
    lines = [
        line
        for line in bare.splitlines()
        if line.strip() and not (comment and line.lstrip().startswith(comment))
    ][: _SAMPLE + 1]
    sep = asked.sep or _guess_separator(lines)
    quote = sep != "::" if asked.quote is None else asked.quote
    found = replace(asked, sep=sep, comment=comment, quote=quote, columns=None)
    first = next(split_rows(text, found, 0, 1))
    start, line = first.start, first.line
    if first.problem:
        raise ValueError(f"{label}: line {first.line}: {first.problem}")
    fields = [field.strip() for field in first.fields]
    header = asked.header
    if header is None:
        header = not all(is_number(field) or is_number(field, ",") for field in fields)
    if header:
        start = min(first.end, len(text))
        line = 1 + text.count(b"\n", 0, start)
    columns = asked.columns or _column_names(fields if header else [""] * len(fields), header)
    if len(columns) != len(fields):
        raise ValueError(
            f"columns={shortened(list(columns))} has {len(columns)} names, but the first line of "
            f"{label} has {len(fields)} fields"
        )
    check_names(label, columns)
    found = replace(found, header=header, columns=columns, start=start, line=line)
    return replace(found, decimal=asked.decimal or guess_decimal(text, found))


def check_names(label: str, names: tuple[str, ...] | list[str]) -> None:
    """Raise if two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{label}: two columns are named {shortened(twice)}: rename one of them")


def _column_names(fields: list[str], header: bool) -> tuple[str, ...]:
    """Return names for all columns: numbers from 1 without a header, as pandas for empty ones."""
    if not header:
        return tuple(str(place + 1) for place in range(len(fields)))
    return tuple(field or f"Unnamed: {place}" for place, field in enumerate(fields))


def _guess_comment(head: bytes) -> str:
    """Return ``#`` if the text begins with it, in a line that is not a header."""
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    if not lines or not lines[0].startswith(b"#"):
        return ""
    row = next((line for line in lines if not line.startswith(b"#")), b"")
    seps = [sep.encode() for sep in SEPARATORS if sep.encode() in row]
    is_header = any(lines[0].count(sep) == row.count(sep) for sep in seps)
    return "" if is_header or not row else "#"


def _guess_separator(lines: list[str]) -> str:
    """Return the separator that cuts the lines into most fields, as many in each line.

    A semicolon is preferred to commas that are all inside of numbers.
    """
    counts = {sep: [line.count(sep) for line in lines] for sep in SEPARATORS}
    if min(counts[";"], default=0) > 0 and len(set(counts[";"])) == 1:
        cells = [cell for line in lines for cell in line.split(";") if "," in cell]
        if all(is_number(cell, ",") for cell in cells):
            return ";"
    even = [sep for sep in SEPARATORS if counts[sep][0] and len(set(counts[sep])) == 1]
    return max(even or SEPARATORS, key=lambda sep: counts[sep][0])


def guess_decimal(text: bytes, dialect: Dialect) -> str:
    """Return a comma if semicolons separate and it makes a column of the first rows numeric."""
    if dialect.sep != ";":
        return "."
    rows = islice(split_rows(text[:START], dialect, dialect.start, dialect.line), _SAMPLE)
    for column in zip(*(row.fields for row in rows), strict=False):
        cells = [cell for cell in map(str.strip, column) if cell not in MISSING]
        if any("," in cell for cell in cells) and all(is_number(cell, ",") for cell in cells):
            return ","
    return "."


class Row(NamedTuple):
    """A row: its line, where it starts and ends, its cells, and what is wrong with it."""

    line: int
    start: int
    end: int
    fields: list[str]
    problem: str = ""


def split_rows(text: bytes, dialect: Dialect, start: int, line: int) -> Iterator[Row]:
    """Yield the rows from an offset on; blank lines and comments are passed over.

    The row after a bad one begins with the next line.
    """
    sep, comment = (dialect.sep or ",").encode(), (dialect.comment or "").encode()
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end].rstrip(b"\r")
        # a line of blanks is a row where it may be cells, but not the first one
        may_be_row = dialect.columns is not None and (len(dialect.columns) == 1 or not sep.strip())
        content = content if may_be_row else content.strip()
        if not content or (comment and content.lstrip().startswith(comment)):
            start, line = end + 1, line + 1
            continue
        fields, past, problem = _split(text, start, end, sep, dialect)
        past = end if problem else past
        inside = text.count(b"\n", start, past)
        yield Row(line, start, past + 1, fields, problem)
        start, line = past + 1, line + 1 + inside


def _split(
    text: bytes, start: int, end: int, sep: bytes, dialect: Dialect
) -> tuple[list[str], int, str]:
    """Return the cells of the row at an offset, where it ends, and what is wrong."""
    fields: list[str] = []
    while True:
        is_quoted = dialect.quote and text[start:end].lstrip(b" \t").startswith(b'"')
        if is_quoted:
            match = _CELL.match(text, start)
            if match is None:
                return fields, end, "a quote that is never closed"
            field, past = match[1].replace(b'""', b'"'), match.end()
            if past > end:
                end = text.find(b"\n", past)
                end = len(text) if end < 0 else end
        else:
            past = text.find(sep, start, end)
            past = end if past < 0 else past
            field = text[start:past].removesuffix(b"\r") if past == end else text[start:past]
        if dialect.strict:
            if _CONTROL.search(field.replace(b"\r", b"") if is_quoted else field):
                return fields, end, "a control character: is this a text file?"
            if dialect.quote and not is_quoted and b'"' in field:
                return fields, end, "a quote in the middle of a field"
        fields.append(field.decode("utf-8", "replace"))
        if past >= end or text[past:end] == b"\r":
            return fields, end, ""
        if not text.startswith(sep, past):
            return fields[:-1], end, "text after the closing quote"
        start = past + len(sep)


def as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows as plain CSV: commas, and every cell in quotes."""
    out = StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


def is_regular(text: bytes, dialect: Dialect) -> bool:
    """Return whether a fast parser reads a text as `split_rows` does.

    It does not if there are carriage returns without a newline, comments, or quotes that are not
    around whole cells.
    """
    start = dialect.start
    if dialect.comment and text.find(dialect.comment.encode(), start) >= 0:
        return False
    data = np.frombuffer(text, np.uint8, offset=start)
    returns = text.find(b"\r", start) >= 0
    quotes = bool(dialect.quote) and text.find(b'"', start) >= 0
    border = np.zeros(256, bool)
    border[list((dialect.sep or ",").encode() + b'\r\n"')] = True
    n_quotes = 0
    for first in range(0, len(data) if dialect.strict or returns or quotes else 0, _BLOCK):
        block = data[first : first + _BLOCK]
        if dialect.strict:
            known = sum(map(np.count_nonzero, (block == ord(byte) for byte in "\n\t\r")))
            if np.count_nonzero(block < ord(" ")) > known:
                return False
        if returns:
            after = first + 1 + np.flatnonzero(block == ord("\r"))
            if (data.take(after, mode="clip") != ord("\n")).any():
                return False
        if quotes:
            at = first + np.flatnonzero(block == ord('"'))
            opening, closing = at[n_quotes % 2 :: 2], at[1 - n_quotes % 2 :: 2]
            n_quotes += len(at)
            before = data.take(opening - 1, mode="clip")  # the first byte of all is a quote itself
            if not (border[before].all() and border[data.take(closing + 1, mode="clip")].all()):
                return False
    return n_quotes % 2 == 0


def count_byte(text: bytes, byte: bytes, start: int = 0) -> int:
    """Return how often a byte occurs from an offset on."""
    data = np.frombuffer(text, np.uint8, offset=start)
    blocks = range(0, len(data), _BLOCK)
    return sum(int(np.count_nonzero(data[at : at + _BLOCK] == ord(byte))) for at in blocks)


def byte_places(data: NDArray[np.uint8], byte: bytes) -> NDArray[np.int64]:
    """Return the places of a byte."""
    blocks = range(0, len(data), _BLOCK)
    return np.concatenate(
        [np.empty(0, np.int64)]
        + [np.flatnonzero(data[at : at + _BLOCK] == ord(byte)) + at for at in blocks]
    )


def row_ends(text: bytes, start: int = 0, *, quote: bool) -> NDArray[np.int64]:
    """Return the offsets past the newlines that end rows: those outside of quotes."""
    data = np.frombuffer(text, np.uint8, offset=start)
    ends = byte_places(data, b"\n")
    if quote and text.find(b'"', start) >= 0:
        ends = ends[np.searchsorted(byte_places(data, b'"'), ends) % 2 == 0]
    return ends + 1 + start

"""The dialect of a delimited text: separator, header, decimal mark, comments and encoding."""

import re
from dataclasses import dataclass, replace

from rankwise._core.arguments import shortened
from rankwise.io.text_rows import split_rows

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


@dataclass(frozen=True)
class Dialect:
    """The dialect of a delimited text; None: guess it.

    ``start`` is the offset of the first row of data, and ``line`` its number. ``strict`` refuses
    control characters, and quotes inside of a cell that is not in quotes.
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
    start = _skip_blank(head, 0, comment)
    bare = _QUOTED.sub(b'""', head[start:]).decode("utf-8", "replace")
    lines = [
        line
        for line in bare.splitlines()
        if line.strip() and not (comment and line.lstrip().startswith(comment))
    ][: _SAMPLE + 1]
    sep = asked.sep or _guess_separator(lines)
    quote = sep != "::" if asked.quote is None else asked.quote
    found = replace(asked, sep=sep, comment=comment, quote=quote)
    line = 1 + text.count(b"\n", 0, start)
    first = next(split_rows(text, found, start, line))
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
    decimal = asked.decimal or _guess_decimal(lines[header:], sep)
    return replace(found, header=header, columns=columns, decimal=decimal, start=start, line=line)


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


def _skip_blank(head: bytes, start: int, comment: str) -> int:
    """Return the offset of the first line that is neither blank nor a comment."""
    while start < len(head):
        end = head.find(b"\n", start) + 1 or len(head)
        line = head[start:end].strip()
        if line and not (comment and line.startswith(comment.encode())):
            return start
        start = end
    return 0


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


def _guess_decimal(lines: list[str], sep: str) -> str:
    """Return a comma if semicolons separate and it makes a column numeric."""
    if sep != ";":
        return "."
    for column in zip(*(line.split(sep) for line in lines), strict=False):
        cells = [cell for cell in map(str.strip, column) if cell not in MISSING]
        if any("," in cell for cell in cells) and all(is_number(cell, ",") for cell in cells):
            return ","
    return "."

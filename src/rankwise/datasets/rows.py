"""Rows out of a text that arrives in pieces: CSV or JSON lines, numbers and a target."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import shortened
from rankwise.datasets._json_lines import read_lines
from rankwise.datasets._loops import DOUBLED, REAL, TEXT
from rankwise.datasets._table import Column, Layout, is_number, problem_of, scan, texts

# Numbers beyond this have squares that no double holds.
_LARGEST = 1e100
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = (b",", b"\t", b";", b"|", b"::")
_NUMBERS = {int, float, bool}
# A quote that is open for so many bytes is no quote.
_LONGEST = 2**20
_TURNED = "; is it text or a category? Leave the column out with --ignore, or fit a table instead"


@dataclass(frozen=True)
class Block:
    """Rows that could be read.

    Attributes
    ----------
    columns : ndarray of shape (n_features, n_rows)
        The numbers.
    target : ndarray of shape (n_rows,)
        Numbers, or texts.
    size : int
        Bytes that the rows took, blank lines included.
    lines : ndarray of shape (n_rows,)
        The line of each row; the first of the piece is 1.
    problem : tuple of int and str
        The line at which reading ended before the piece did, and why; 0 if it did not.
    """

    columns: NDArray[np.float64]
    target: NDArray[Any]
    size: int
    lines: NDArray[np.int64]
    problem: tuple[int, str] = (0, "")


class Rows:
    """How the rows of a text are written, as its first lines tell.

    Parameters
    ----------
    head : bytes
        The first two lines of the text, or more.
    target : str
        The column to learn. Without a line of names, columns have their numbers from 1.
    ignored : sequence of str
        Columns that are not looked at.
    as_text : bool or None
        Whether the target is text; None: unless it is a number in the first row.

    Attributes
    ----------
    features : list of str
        The columns of numbers, in their order.
    start : int
        Where the first row begins.
    """

    def __init__(
        self, head: bytes, target: str, ignored: Sequence[str] = (), as_text: bool | None = None
    ) -> None:
        skipped = len(_BOM) if head.startswith(_BOM) else 0
        skipped += len(head[skipped:]) - len(head[skipped:].lstrip(b"\r\n"))
        self.is_json = head[skipped : skipped + 1] == b"{"
        self.separator, self.start = b"", skipped
        names = self._json_names(head[skipped:]) if self.is_json else self._csv_names(head, skipped)
        _check_names(names, target, ignored)
        self.target, self.names = target, names
        self.features = [name for name in names if name != target and name not in ignored]
        if not self.features:
            raise ValueError(f"no column is left to learn {shortened(target)} from")
        if as_text is None:
            as_text = not self._first_target_is_number(head)
        self.as_text = as_text
        kinds = {target: TEXT if as_text else REAL, **dict.fromkeys(ignored, TEXT)}
        columns = [Column(name, kinds.get(name, REAL)) for name in names]
        self._layout = Layout(columns, self.separator, DOUBLED)
        self._kinds = np.array([column.kind for column in columns])
        self._pick = itemgetter(*self.features, target)
        self._places = [names.index(name) for name in self.features]

    def read(self, piece: bytes) -> Block:
        """Read a piece that ends with a line, up to the first row that can't be read."""
        block = self._read_json(piece) if self.is_json else self._read_csv(piece)
        for values, name in zip([*block.columns, block.target], [*self.features, ""], strict=True):
            if values.dtype.kind == "f" and not (good := np.abs(values) < _LARGEST).all():
                row = int(np.argmin(good))
                what = f"{name or self.target} is {values[row]:.3g}, beyond what can be learned"
                block = cut_block(block, piece, row, what)
        return block

    def read_targets(self, piece: bytes) -> Block:
        """Read as `read` does, but of plain JSON lines the targets only."""
        found = read_lines(piece, [], self.target, as_text=self.as_text) if self.is_json else None
        if found is None or (not self.as_text and not (np.abs(found[1]) < _LARGEST).all()):
            return self.read(piece)
        return Block(*found, len(piece), np.arange(1, 1 + len(found[1])))

    def end(self, piece: bytes) -> int:
        """Return where the last complete row of a piece ends: not in the middle of quotes."""
        last = end = piece.rfind(b"\n") + 1
        while not self.is_json and end and piece.count(b'"', 0, end) % 2:
            end = piece.rfind(b"\n", 0, end - 1) + 1
        return end if last - end < _LONGEST else last

    def _csv_names(self, head: bytes, skipped: int) -> list[str]:
        line, _, rest = head[skipped:].partition(b"\n")
        if line.startswith((b"[{", b"[[")) or line.strip() == b"[":
            raise ValueError("one list of JSON: write an object a line, as jq -c '.[]' does")
        counts = {separator: line.count(separator) for separator in _SEPARATORS}
        self.separator = max(counts, key=lambda separator: counts[separator])
        fields = self._split(line)
        if all(map(is_number, fields)):
            return [str(i + 1) for i in range(len(fields))]
        self.start = len(head) - len(rest)
        return [field.strip() for field in fields]

    def _split(self, line: bytes) -> list[str]:
        text = line.rstrip(b"\r").decode("utf-8", "replace")
        if len(self.separator) > 1:
            return text.split(self.separator.decode())
        return next(csv.reader([text], delimiter=self.separator.decode()), [])

    def _json_names(self, head: bytes) -> list[str]:
        line = head.partition(b"\n")[0]
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line 1 is no JSON: {error}") from error
        return list(row)

    def _first_target_is_number(self, head: bytes) -> bool:
        """Whether the first row has a number for its target, as far as there is one."""
        line = head[self.start :].lstrip(b"\r\n").partition(b"\n")[0]
        if self.is_json:
            return not isinstance(json.loads(line)[self.target], str)
        fields = self._split(line)
        place = self.names.index(self.target)
        return place >= len(fields) or is_number(fields[place])

    def _read_csv(self, piece: bytes) -> Block:
        numbers, spans, lines, (refused, line, offset) = scan(
            piece, self._layout, self._kinds, stop=True
        )
        place = self.names.index(self.target)
        if self.as_text:
            found = texts(piece, spans[2 * place], spans[2 * place + 1], self._layout, "utf-8")
            target = np.array(found, dtype=object)
        else:
            target = numbers[place]
        columns = np.ascontiguousarray(numbers[self._places])
        if not refused:
            return Block(columns, target, len(piece), lines)
        why = str(problem_of(piece, offset, self._layout))
        hint = _TURNED if why.endswith("wanted a number") else ""
        return Block(columns, target, offset, lines, (line, f"{why}{hint}"))

    def _read_json(self, piece: bytes) -> Block:
        found = read_lines(piece, self.features, self.target, as_text=self.as_text)
        if found is not None:
            numbered = np.arange(1, 1 + len(found[1]))
            return Block(*found, len(piece), numbered)
        lines = piece.split(b"\n")[:-1]
        numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
        try:
            rows = self._rows_together([lines[number - 1] for number in numbers])
            return self._json_block(rows, len(piece), numbers)
        except (ValueError, TypeError, KeyError, OverflowError):
            return self._read_json_slowly(lines)

    def _rows_together(self, lines: list[bytes]) -> list[Any]:
        """Return the values of all rows, features first; any mistake is an exception."""
        if not all(line.strip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
            raise ValueError("a line is no object")
        rows = list(map(self._pick, json.loads(b"[" + b",".join(lines) + b"]")))
        known = {str} if self.as_text else _NUMBERS
        types = {type(row[-1]) for row in rows}
        of_features = {type(value) for row in rows for value in row[:-1]}
        if len(rows) != len(lines) or not (types <= known and of_features <= _NUMBERS):
            raise ValueError("a value is of another type")
        return rows

    def _json_block(
        self, rows: list[Any], size: int, numbers: list[int], problem: tuple[int, str] = (0, "")
    ) -> Block:
        columns = np.array([row[:-1] for row in rows], np.float64).reshape(-1, len(self.features))
        columns += 0.0  # -0 is a whole number to json, and has no sign
        target = np.array([row[-1] for row in rows], object if self.as_text else np.float64)
        return Block(
            np.ascontiguousarray(columns.T), target, size, np.array(numbers, np.int64), problem
        )

    def _read_json_slowly(self, lines: list[bytes]) -> Block:
        """Read line by line up to the first mistake, and say what it is."""
        rows: list[Any] = []
        numbers: list[int] = []
        size = 0
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    found = json.loads(line)
                    if not isinstance(found, dict):
                        raise ValueError(f"{shortened(found)} is no object, as in {{...}}")
                    row = self._pick(found)
                    self._check_json(row[:-1], row[-1])
                except KeyError as error:
                    return self._json_block(rows, size, numbers, (number, f"it has no {error}"))
                except (ValueError, TypeError) as error:
                    why = " ".join(str(error).split())
                    return self._json_block(rows, size, numbers, (number, why))
                rows.append(row)
                numbers.append(number)
            size += len(line) + 1
        return self._json_block(rows, size, numbers)

    def _check_json(self, values: Sequence[Any], target: Any) -> None:
        if not all(isinstance(value, int | float) for value in values):
            bad = next(i for i, value in enumerate(values) if not isinstance(value, int | float))
            shown = shortened(values[bad])
            raise ValueError(f"{self.features[bad]} is {shown}, wanted a number{_TURNED}")
        for name, value in zip([*self.features, self.target], [*values, target], strict=True):
            if isinstance(value, int) and abs(value) >= _LARGEST:
                raise ValueError(f"{name} is {shortened(value)}, beyond what can be learned")
        if self.as_text != isinstance(target, str) or not isinstance(target, str | int | float):
            wanted = "text" if self.as_text else "a number"
            raise ValueError(f"{self.target} is {shortened(target)}, wanted {wanted}")


def cut_block(block: Block, piece: bytes, row: int, why: str) -> Block:
    """Return the rows of a block before one that can't be used."""
    line, size = int(block.lines[row]), 0
    for _ in range(line - 1):
        size = piece.index(b"\n", size) + 1
    return Block(
        np.ascontiguousarray(block.columns[:, :row]),
        block.target[:row],
        size,
        block.lines[:row],
        (line, why),
    )


def _check_names(names: list[str], target: str, ignored: Sequence[str]) -> None:
    listed = ", ".join([*names[:12], "..."] if len(names) > 13 else names)
    if len(names) < 2:
        raise ValueError(
            f"the first line, {shortened(listed)}, has no two columns: CSV with commas, tabs, "
            "semicolons or bars, or JSON lines, are wanted; rankwise fit reads other tables"
        )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two columns are called {shortened(twice)}: rename one of them")
    for option, name in [("--target", target), *(("--ignore", name) for name in ignored)]:
        if name not in names:
            raise ValueError(f"{option} {name} is no column; there are {listed}")
    if target in ignored:
        raise ValueError(f"--ignore {target} is what --target wants to learn: name another column")

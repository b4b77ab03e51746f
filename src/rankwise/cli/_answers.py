"""Answers about lines, kept in a file that holds all of them at any time."""

import json
from pathlib import Path
from typing import Any

import click

from rankwise._core.files import replacing
from rankwise.cli._writing import check_regular, check_writable


class Answers(list[Any]):
    """A log of answers about lines, in a file that holds all of them at any time.

    The file is JSON: rows of two lines and the probability that the first goes before the second.
    Rows about lines that are not in the list are kept and not used. ``kept`` of those that are
    have been written.
    """

    def __init__(self, path: Path, lines: list[str]) -> None:
        super().__init__()
        self.path, self.lines = path, lines
        place = {line: i for i, line in enumerate(lines)}
        others: list[Any] = []
        for row in _read(path):
            first, second, probability = row
            if first in place and second in place:
                super().append((place[first], place[second], probability))
            else:
                others.append(row)
        self._rows = [*map(_as_text, others), *map(self._text, self)]
        self.kept = len(self)

    def check(self) -> None:
        """Refuse a place where answers can't be written, before any question is asked."""
        check_writable(self.path, "--log")

    def append(self, entry: Any) -> None:
        """Keep an answer, and write all of them."""
        super().append(entry)
        self._rows.append(self._text(entry))
        self._write()

    def back(self) -> None:
        """Forget the last answer."""
        if self:
            self.pop()
            self._rows.pop()
            self._write()

    def told(self) -> str:
        """Say what is kept where."""
        if not self.kept:
            return "There is no answer to keep."
        return f"{self.kept} answers are kept in {self.path}; the same command goes on there."

    def _text(self, entry: Any) -> str:
        i, j, probability = entry
        return _as_text((self.lines[i], self.lines[j], probability))

    def _write(self) -> None:
        """Replace the file."""
        text = ",\n".join(self._rows)
        try:
            with (
                replacing(self.path) as temporary,
                # Half a character, which JSON may hold, is written as JSON's escape of it.
                temporary.open("w", encoding="utf-8", errors="backslashreplace") as file,
            ):
                file.write(f"[\n{text}\n]\n")
        except OSError as error:
            raise click.ClickException(
                f"--log {self.path}: the last change could not be written ({error.strerror}). "
                + self.told()
            ) from error
        self.kept = len(self)


def _as_text(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False)


def _read(path: Path) -> list[Any]:
    check_regular(path, "--log")
    try:
        if not path.exists():
            return []
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
        good = isinstance(rows, list) and all(
            isinstance(a, str) and isinstance(b, str) and a != b and 0 <= p <= 1 for a, b, p in rows
        )
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise click.ClickException(f"--log {path}: not a list of answers ({error})") from error
    if not good:
        raise click.ClickException(
            f"--log {path}: it must be a list, and a row of it two lines and a number in [0, 1]"
        )
    return list(rows)

"""``rankwise order``: a person puts the lines of a file in order, question by question."""

import errno
import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from reprlib import repr as short
from tempfile import NamedTemporaryFile
from typing import Any

import click

from rankwise.engine.files import replacing

# Characters of a line that a question shows.
_SHOWN = 1_000


class _NoAnswerError(Exception):
    """Something else was said: enough, or back."""


class _Answers(list[Any]):
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
        try:
            if self.path.exists() and not os.access(self.path, os.W_OK):
                raise PermissionError(errno.EACCES, "it may not be written to")
            with NamedTemporaryFile(dir=self.path.parent, prefix=f".{self.path.name}."):
                pass
        except OSError as error:
            raise click.ClickException(
                f"--log {self.path}: answers can't be kept there ({error.strerror}); choose "
                "another file with --log"
            ) from error

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
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise click.ClickException(
                f"--log {self.path}: the last change could not be written ({error.strerror}). "
                + self.told()
            ) from error
        self.kept = len(self)


def _as_text(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False)


def _read(path: Path) -> list[Any]:
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


def _lines(path: Path) -> list[str]:
    """Return the lines of a text that are not blank, each of them once."""
    try:
        text = path.read_bytes()
        if text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text:
            raise click.ClickException(
                f"{path}: this is UTF-16, or no text at all; save it as UTF-8 text"
            )
        # Ends of lines are \n, \r\n and \r, and nothing else.
        lines = io.StringIO(text.decode("utf-8-sig"), newline=None).read().split("\n")
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path}: not UTF-8 text ({error})") from error
    found: dict[str, int] = {}
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line in found:
            raise click.ClickException(
                f"{path}: {short(line)} is there twice, in lines {found[line]} and {number}; "
                "leave one of them out"
            )
        if line:
            found[line] = number
    return list(found)


def _as_shown(line: str) -> str:
    """Return a line as a terminal can show it: not too long, no control characters."""
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}... ({len(line):,} characters)"
    return "".join(
        c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in shown
    )


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(1), help="Find the best so many only: fewer questions.")
@click.option("--max-questions", type=click.IntRange(0), help="Stop after so many new questions.")
@click.option(
    "--log",
    "log_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the answers.  [default: FILE.answers.json]",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
def order(
    file: Path, top: int | None, max_questions: int | None, log_path: Path | None, seed: int
) -> None:
    """Put the lines of FILE in order by answering which of two goes first.

    Questions go to the terminal, the order to the output. Every answer is written at once, so
    nothing is lost by Ctrl-C: the same command goes on where it was, also after lines were added.
    """
    import numpy as np  # noqa: PLC0415

    from rankwise.preference import expected_calls, quicksort  # noqa: PLC0415

    lines = _lines(file)
    log_path = log_path or file.with_name(f"{file.name}.answers.json")
    answers = _Answers(log_path, lines)
    n_known = len(answers)
    expected = [float(expected_calls(len(lines), top))]
    checked: list[bool] = []
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Bytes that are no text are no answer. What was read already is past help.
        with suppress(io.UnsupportedOperation):
            sys.stdin.reconfigure(errors="backslashreplace")

    def note(_calls: int, of: float) -> None:
        expected[0] = of

    def prefer(u: str, v: str) -> float:
        if not checked:
            answers.check()
            checked.append(True)
        asked = len(answers) - n_known + 1
        about = max(expected[0], asked)
        click.echo(
            f"\nQuestion {asked} of about {about:.0f}\n  1  {_as_shown(u)}\n  2  {_as_shown(v)}",
            err=True,
        )
        said = click.prompt(
            "Which goes first? (1, 2, = no matter, b back, q enough)",
            type=click.Choice(["1", "2", "=", "b", "q"]),
            show_choices=False,
            err=True,
        )
        if said in {"b", "q"}:
            raise _NoAnswerError(said)
        return {"1": 1.0, "2": 0.0, "=": 0.5}[said]

    limit = max_questions
    while True:
        if max_questions is not None:
            limit = max(0, max_questions - (len(answers) - n_known))
        try:
            ranking = quicksort(
                lines, prefer, k=top, max_calls=limit, log=answers, random_state=seed, progress=note
            )
            break
        except _NoAnswerError as command:
            if command.args == ("b",):
                answers.back()
            else:
                max_questions = 0
        except (click.Abort, KeyboardInterrupt):
            click.echo(f"\n{answers.told()}", err=True)
            raise click.exceptions.Exit(130) from None
    for line in ranking.order[:top]:
        # As it is: click would take what looks like a colour out.
        click.echo(line, color=True)
    settled = np.asarray(ranking.certain)[:top]
    if not settled.all():
        click.echo(f"{settled.sum()} of {len(settled)} places are settled so far.", err=True)
    if not lines:
        click.echo(f"{file} has no lines to put in order.", err=True)

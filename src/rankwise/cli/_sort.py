"""``rankwise sort``: a person or a command puts the lines of a file in order, pair by pair."""

import asyncio
import io
import json
import re
import shlex
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from pathlib import Path
from reprlib import repr as short
from typing import Any

import click

from rankwise._core.files import replacing
from rankwise.cli._shared import as_json as json_option
from rankwise.cli._shared import (
    check_regular,
    check_writable,
    examples,
    seed_option,
    show_json,
)

# Characters of a line that a question shows.
_SHOWN = 1_000
_ANSWERS = {"1": 1.0, "2": 0.0, "=": 0.5}
_PLACE = re.compile(r"\{([12])\}")


class Comparator:
    """Run a command with two lines as arguments, and read its answer: 1, 2 or =.

    The command is split once, as a shell would. The lines take the places of ``{1}`` and ``{2}`` in
    its words and are never read by a shell.
    """

    def __init__(self, command: str) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise click.BadParameter(f"{command!r}: {error}", param_hint="--with") from error
        places = {place for word in self.words for place in _PLACE.findall(word)}
        if places != {"1", "2"}:
            raise click.BadParameter(
                f"{command!r} must have {{1}} and {{2}} where the two lines go", param_hint="--with"
            )

    async def __call__(self, u: str, v: str) -> float:
        """Return 1 if u goes first, 0 if v does, 1/2 if it does not matter."""
        lines = {"1": u, "2": v}
        words = [_PLACE.sub(lambda place: lines[place[1]], word) for word in self.words]
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE
            )
        except OSError as error:
            raise click.ClickException(f"--with {words[0]}: {error.strerror}") from error
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        answer = out.decode("utf-8", "replace").strip()
        if process.returncode:
            why = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it says nothing"]
            raise click.ClickException(f"--with ended with {process.returncode}: {why[0][:200]}")
        if answer not in _ANSWERS:
            raise click.ClickException(
                f"--with answered {answer[:80]!r}, expected 1, 2 or =: the first line goes "
                "before the second, after it, or no matter"
            )
        return _ANSWERS[answer]


def sort_with(comparator: Comparator, items: list[str], jobs: int, **options: Any) -> Any:
    """Sort by a comparator, with up to ``jobs`` questions at a time."""
    from rankwise.preference import aquicksort  # noqa: PLC0415

    return asyncio.run(aquicksort(items, comparator, max_concurrency=jobs, **options))


class Answers(list[Any]):
    """A log of answers about lines, in a file that holds all of them at any time.

    The file is JSON: rows of two lines and the probability that the first goes before the second,
    and of a command's answers the command. Rows of other commands, or about lines that are not in
    the list, are kept and not used. ``kept`` of those that are used have been written.
    """

    def __init__(self, path: Path, lines: list[str], command: str | None) -> None:
        super().__init__()
        self.path, self.lines = path, lines
        self._source = [] if command is None else [command]
        place = {line: i for i, line in enumerate(lines)}
        others: list[Any] = []
        for row in _read(path):
            first, second, probability, *source = row
            if first in place and second in place and source == self._source:
                super().append((place[first], place[second], probability))
            else:
                others.append(row)
        self._rows = [*map(_as_text, others), *map(self._text, self)]
        self.kept = len(self)

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

    def summary(self) -> str:
        """Return what is kept where."""
        if not self.kept:
            return "No answers to keep."
        return (
            f"{self.kept} answers are kept in {self.path}; the same command continues from there."
        )

    def _text(self, entry: Any) -> str:
        i, j, probability = entry
        return _as_text((self.lines[i], self.lines[j], probability, *self._source))

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
                + self.summary()
            ) from error
        self.kept = len(self)


def _as_text(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False)


def _read(path: Path) -> list[Any]:
    check_regular(path, "--log")
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else []
        good = isinstance(rows, list) and all(
            a != b and 0 <= p <= 1 and len(source) <= 1 and {*map(type, (a, b, *source))} == {str}
            for a, b, p, *source in rows
        )
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise click.ClickException(f"--log {path}: not a list of answers ({error})") from error
    if not good:
        raise click.ClickException(
            f"--log {path}: expected a list of [line, line, number in [0, 1]], with the command "
            "as a fourth entry if a command answered"
        )
    return list(rows)


class _NoAnswerError(Exception):
    """The person stops, or takes the last answer back."""


def _lines(path: Path) -> list[str]:
    """Return the lines of a file that are not blank; raise if one is duplicated."""
    try:
        text = path.read_bytes()
        if text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text:
            raise click.ClickException(
                f"{path}: this is UTF-16 or not a text file; save it as UTF-8 text"
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
                f"{path}: {short(line)} is duplicated in lines {found[line]} and {number}; "
                "remove one of them"
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


@click.command(
    epilog=examples(
        "rankwise sort films.txt --top 10",
        "rankwise sort essays.txt --with './judge.py {1} {2}' --jobs 8 --both-ways",
    )
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--with",
    "command",
    metavar="CMD",
    help="A command that answers instead of you: it gets two lines in place of {1} and {2}, and "
    "prints 1, 2 or =.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Commands to run at a time.",
)
@click.option("--both-ways", is_flag=True, help="Ask each pair in both orders, and use the mean.")
@click.option(
    "--top", type=click.IntRange(1), help="Find only this many of the best: fewer questions."
)
@click.option("--max-questions", type=click.IntRange(0), help="Stop after this many new questions.")
@click.option(
    "--log",
    "log_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the answers.  [default: FILE.answers.json]",
)
@seed_option
@json_option
def sort(
    file: Path,
    command: str | None,
    jobs: int,
    both_ways: bool,
    top: int | None,
    max_questions: int | None,
    log_path: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Put lines in order by saying which of two goes first.

    FILE has an item on each line. Questions go to the terminal, the order to standard output. Every
    answer is saved at once, so Ctrl-C loses nothing: the same command continues from there, also
    after lines were added.

    A command runs once for each question, without a shell, and its answers are used for this
    command only. Give the lines to a shell script as arguments: in
    --with "sh -c '...' sh {1} {2}" they are $1 and $2.
    """
    comparator = None if command is None else Comparator(command)
    if comparator is None and jobs > 1:
        raise click.UsageError("--jobs is for --with: you answer one question at a time")
    lines = _lines(file)
    answers = Answers(log_path or file.with_name(f"{file.name}.answers.json"), lines, command)
    options = {"k": top, "random_state": seed, "symmetrise": both_ways, "log": answers}
    try:
        if comparator is None:
            ranking = _ask(lines, answers, max_questions, options)
        else:
            check_writable(answers.path, "--log")
            ranking = sort_with(comparator, lines, jobs, max_calls=max_questions, **options)
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"\n{answers.summary()}", err=True)
        raise click.exceptions.Exit(130) from None
    except click.ClickException as error:
        if comparator is None or not answers.kept:
            raise
        raise click.ClickException(f"{error.message}. {answers.summary()}") from error
    _show(file, ranking, top, as_json)


def _ask(
    lines: list[str], answers: Answers, max_questions: int | None, options: dict[str, Any]
) -> Any:
    """Let a person answer, take back and stop."""
    from rankwise.preference import expected_calls, quicksort  # noqa: PLC0415

    n_known, expected = len(answers), float(expected_calls(len(lines), options["k"]))

    def expect(_calls: int, of: float) -> None:
        nonlocal expected
        expected = of

    def prefer(u: str, v: str) -> float:
        asked = len(answers) - n_known + 1
        if asked == 1:
            check_writable(answers.path, "--log")
        click.echo(
            f"\nQuestion {asked} of about {max(expected, asked):.0f}\n"
            f"  1  {_as_shown(u)}\n  2  {_as_shown(v)}",
            err=True,
        )
        answer = click.prompt(
            "Which goes first? (1, 2, = no matter, b back, q enough)",
            type=click.Choice([*_ANSWERS, "b", "q"]),
            show_choices=False,
            err=True,
        )
        if answer not in _ANSWERS:
            raise _NoAnswerError(answer)
        return _ANSWERS[answer]

    if isinstance(sys.stdin, io.TextIOWrapper):
        # Bytes that are no text are no answer. What was read already is past help.
        with suppress(io.UnsupportedOperation):
            sys.stdin.reconfigure(errors="backslashreplace")
    limit = max_questions
    while True:
        if max_questions is not None:
            limit = max(0, max_questions - (len(answers) - n_known))
        try:
            return quicksort(lines, prefer, max_calls=limit, progress=expect, **options)
        except _NoAnswerError as answer:
            if answer.args == ("b",):
                answers.back()
            else:
                max_questions = 0


def _show(file: Path, ranking: Any, top: int | None, as_json: bool) -> None:
    """Print the order, and how far it is settled."""
    import numpy as np  # noqa: PLC0415

    order, settled = list(ranking.order[:top]), np.asarray(ranking.certain)[:top]
    if as_json:
        show_json({"order": order, "settled": settled, "questions": ranking.n_calls})
        return
    for line in order:
        # As it is: click would take what looks like a colour out.
        click.echo(line, color=True)
    if not settled.all():
        click.echo(f"{settled.sum()} of {len(settled)} places are settled so far.", err=True)
    if not order:
        click.echo(f"{file} has no lines to put in order.", err=True)

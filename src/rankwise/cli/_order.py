"""``rankwise order``: a person puts the lines of a file in order, question by question."""

import json
import os
from pathlib import Path
from typing import Any

import click

from rankwise.engine.files import replacing


class _NoAnswerError(Exception):
    """Something else was said: enough, or back."""


class _Answers(list[Any]):
    """A log of answers about lines, in a file that holds all of them at any time.

    The file is JSON: rows of two lines and the probability that the first goes before the second.
    Rows about lines that are not in the list are kept and not used.
    """

    def __init__(self, path: Path, lines: list[str]) -> None:
        super().__init__()
        self.path, self.lines, self.others = path, lines, []
        place = {line: i for i, line in enumerate(lines)}
        for row in _read(path):
            first, second, probability = row
            if first in place and second in place:
                super().append((place[first], place[second], probability))
            else:
                self.others.append(row)

    def append(self, entry: Any) -> None:
        """Keep an answer, and write all of them."""
        super().append(entry)
        self.write()

    def back(self) -> None:
        """Forget the last answer."""
        if self:
            self.pop()
            self.write()

    def write(self) -> None:
        """Replace the file."""
        rows = [*self.others, *((self.lines[i], self.lines[j], p) for i, j, p in self)]
        text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        with replacing(self.path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(f"[\n{text}\n]\n")
            file.flush()
            os.fsync(file.fileno())


def _read(path: Path) -> list[Any]:
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        good = all(
            isinstance(a, str) and isinstance(b, str) and a != b and 0 <= p <= 1 for a, b, p in rows
        )
    except (ValueError, TypeError, OSError) as error:
        raise click.ClickException(f"--log {path}: not a list of answers ({error})") from error
    if not good:
        raise click.ClickException(f"--log {path}: a row must be two lines and a number in [0, 1]")
    return list(rows)


def _lines(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path}: {error}") from error
    lines = [line for line in lines if line]
    for line in lines:
        if lines.count(line) > 1:
            raise click.ClickException(f"{path}: {line!r} is there twice; leave one of them out")
    return lines


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

    def note(_calls: int, of: float) -> None:
        expected[0] = of

    def prefer(u: str, v: str) -> float:
        asked = len(answers) - n_known + 1
        about = max(expected[0], asked)
        click.echo(f"\nQuestion {asked} of about {about:.0f}\n  1  {u}\n  2  {v}", err=True)
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
            click.echo(
                f"\n{len(answers)} answers are kept in {log_path}; the same command goes on there.",
                err=True,
            )
            raise click.exceptions.Exit(130) from None
    for line in ranking.order[:top]:
        click.echo(line)
    settled = np.asarray(ranking.certain)[:top]
    if not settled.all():
        click.echo(f"{settled.sum()} of {len(settled)} places are settled so far.", err=True)

"""A run of ``rankwise stream``: from the position in the model file to the end of the input."""

import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import FileIO, RawIOBase
from itertools import chain
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn
from zlib import crc32

import click

from rankwise.cli._shared import note, show_json
from rankwise.cli._stream_model import (
    START,
    Learner,
    as_numbers,
    columns_of,
    not_numbers,
    parse_labels,
)
from rankwise.io import scan_table
from rankwise.io.files import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

# Rows of a block, and how long to wait for some, in seconds.
_ROWS, _WAIT = 20_000, 0.2


class Stopped(Exception):  # noqa: N818
    """A signal came, and all that was learned is saved."""


class Waiting(RawIOBase):
    """A pipe, a terminal or a growing file: a read returns what is ready.

    Parameters
    ----------
    path : Path or None
        The file; None for standard input.
    follow : bool
        Whether to wait for more at the end of a file.
    wait : callable
        Called before each read, and a few times a second while nothing comes.
    """

    def __init__(self, path: Path | None, follow: bool, wait: Any) -> None:
        self._path, self._follow, self._wait = path, follow, wait
        self._file = FileIO(sys.stdin.fileno(), closefd=False) if path is None else FileIO(path)
        self.name = "standard input" if path is None else str(path)

    def read1(self, size: int = -1) -> bytes | None:
        """Return what is ready."""
        return self.read(size)

    def readinto(self, buffer: Any) -> int:
        """Read what is ready into a buffer; 0 bytes are the end."""
        while True:
            self._wait()
            if not _is_ready(self._file, _WAIT):
                continue
            size = n = self._file.readinto(buffer) or 0
            while n and size < len(buffer) and _is_ready(self._file, 0.0):
                n = self._file.readinto(memoryview(buffer)[size:]) or 0
                size += n
            if size or not (self._follow and self._path):
                return size
            if self._path.exists() and self._path.stat().st_size < self._file.tell():
                raise ValueError(f"{self.name} became shorter: was it replaced?")
            sleep(_WAIT)


def _is_ready(file: FileIO, seconds: float) -> bool:
    """Return whether a read gives something at once, after waiting for that long at most."""
    try:
        return bool(select.select([file], [], [], seconds)[0])
    except (OSError, ValueError):  # where the system can't tell, the read waits
        return seconds > 0


class Run:
    """One run of the command.

    Parameters
    ----------
    file : Path or None
        The input; None for standard input.
    path : Path
        The file of the model.
    out : Path or None
        The file of the predictions; None for standard output.
    stopped : list of int
        Receives the number of a signal to end.
    every, seconds : number
        Save after this many rows or seconds.
    follow : bool
        Whether to wait for more at the end of a file.
    options : dict
        How the file is read, for `scan_table`.
    """

    def __init__(
        self,
        file: Path | None,
        path: Path,
        out: Path | None,
        stopped: list[int],
        *,
        every: int,
        seconds: float,
        follow: bool,
        options: dict[str, Any],
    ) -> None:
        self._file, self.path, self._out_path, self._stopped = file, path, out, stopped
        self._every, self._seconds, self._options = every, seconds, options
        self._waits = follow or file is None or not file.is_file()
        self._follow, self.name = follow, "standard input" if file is None else str(file)
        self.new = self._unsaved = 0
        self.start = self._saved_at = self._shown_at = monotonic()

    def prepare(
        self,
        target: str,
        ignore: Sequence[str],
        labels: str | None,
        method: str | None,
        *,
        more: bool,
    ) -> None:
        """Look at the first rows, and make or load the model."""
        named = parse_labels(labels) if labels else None
        known = Learner.load(self.path) if self.path.exists() else None
        blocks = self._scan()
        first = next(blocks, None)
        if first is None:
            raise click.ClickException(f"{self.name} has no rows")
        columns = columns_of(first, target, ignore)
        if known is None:
            chosen = named or self._find_labels(target)
            self.learner = Learner.new(method or "averaged", target, chosen, columns)
        else:
            self.learner = known
            _check_same(known, self.path, target=target, labels=named, method=method)
            if {*known.columns.names} != {*columns.names}:
                before, now = ", ".join(known.columns.names), ", ".join(columns.names)
                raise click.ClickException(
                    f"{self.path} has learned the columns {before}, but {self.name} has {now}"
                )
        n, digest = self.learner.notes["mark"]
        while len(first) < n and (more_rows := next(blocks, None)) is not None:
            first = pandas().concat([first, more_rows])
        rows, _ = self.learner.encode(first[:n], 0)
        is_other = len(rows) < n or crc32(rows.data) != digest
        if is_other and not more:
            self._refuse_input()
        if is_other:
            self.learner.notes.update(START)
        self.is_new = is_other or known is None
        self._blocks = chain([first], blocks)

    def go(self) -> None:
        """Learn until the input ends or a signal comes, and save."""
        with self._opened() as self._out:
            try:
                self._learn_all()
            except ValueError as error:
                kept, rounds = "", self.learner.rounds
                if rounds:
                    self.save()
                    kept = f". The {rounds:,} rows before are kept in {self.path}"
                raise click.ClickException(f"{error}{kept}") from error
            except BrokenPipeError:
                self.save()
                raise
            except Stopped:
                pass
            finally:
                note("\r\x1b[K", end="")
            if self.learner.rounds:
                self.save()

    def save(self) -> None:
        """Write the model, the position in the input, and that in the output."""
        place = self.learner.notes["out"]
        if place is not None:
            with self._naming_output():
                os.fsync(self._out.fileno())
                place["size"] = self._out.tell()
        self.learner.save(self.path)
        self._unsaved, self._saved_at = 0, monotonic()

    def report(self, *, as_json: bool) -> None:
        """Say how it went."""
        loss, wrong = self.learner.losses()
        if as_json:
            facts = {
                "rows": self.learner.rounds,
                "new_rows": self.new,
                "mean_rank_loss": loss,
                "wrong": wrong,
                "seconds": round(monotonic() - self.start, 3),
                "model": str(self.path),
            }
            show_json(facts, err=self.learner.notes["out"] is None)
        else:
            note(f"{self._summary()}; kept in {self.path}")

    def _scan(self) -> Iterator["DataFrame"]:
        source = Waiting(self._file, self._follow, self._wait) if self._waits else self._file
        return scan_table(source, rows=_ROWS, **self._options)

    def _wait(self) -> None:
        """Save if it is time; raise if a signal came."""
        if self._stopped:
            raise Stopped
        late = monotonic() - self._saved_at >= self._seconds
        if self._unsaved >= self._every or (self._unsaved and late):
            self.save()

    def _learn_all(self) -> None:
        """Pass over the rows that were learned before, which must be the same; learn the others."""
        learner, notes = self.learner, self.learner.notes
        position = digest = 0
        left = notes["rows"]
        for frame in self._blocks:
            rows, why = learner.encode(frame, position)
            known, new = rows[:left], rows[left:]
            digest, left = crc32(known.data, digest), left - len(known)
            if len(known) and not left:
                if notes["digest"] not in {digest, None}:
                    self._refuse_input()
                notes["digest"] = digest
            if left and why:
                self._refuse_input()
            if len(new):
                self._write(learner.learn(new).tolist())
            if why:
                raise ValueError(f"{self.name}: row {position + len(rows) + 1}, {why}")
            position += len(rows)
            self._show()
            self._wait()
        if left:
            self._refuse_input()

    def _write(self, guesses: list[Any]) -> None:
        """Write predictions to the output, one a line, all of them at once."""
        self.new += len(guesses)
        self._unsaved += len(guesses)
        text = memoryview("\n".join([*map(str, guesses), ""]).encode())
        with self._naming_output():
            while text:
                text = text[self._out.write(text) :]
            self._out.flush()

    @contextmanager
    def _naming_output(self) -> Iterator[None]:
        """Name the output in an error, such as of a full disk."""
        try:
            yield
        except OSError as error:
            error.filename = "standard output" if self._out_path is None else str(self._out_path)
            raise

    def _find_labels(self, target: str) -> list[Any]:
        """Read a file once for its labels."""
        if self._waits:
            raise click.ClickException(
                f"{self.name} can be read only once: name all grades from the lowest up, as in "
                "--labels 1-5 or --labels poor,fair,good"
            )
        found: set[Any] = set()
        for frame in self._scan():
            values = frame[target]
            if (odd := not_numbers(values)).any():
                raise click.ClickException(
                    f"{self.name}: row {frame.index[odd][0] + 1}, column {target!r}: "
                    f"{values[odd].iloc[0]!r} is not a number: correct it, or name all grades from "
                    "the lowest up, as in --labels poor,fair,good"
                )
            found.update(values.dropna().unique().tolist())
            self._wait()
        return sorted(as_numbers([*found]))

    def _refuse_input(self) -> NoReturn:
        raise click.ClickException(
            f"{self.name} does not begin with the rows that {self.path} has learned; with --more, "
            "learning continues from the start of another input"
        )

    def _opened(self) -> Any:
        """Open the output, where the model file says that it was."""
        out, notes = self._out_path, self.learner.notes
        before = None if self.is_new and out is None else notes["out"]
        name = None if out is None else str(out.resolve())
        if before is not None and before["name"] != name:
            if not self.is_new:
                raise click.ClickException(
                    f"predictions went to {before['name']} before: continue with --out "
                    f"{before['name']}"
                )
            before = None
        notes["out"] = None if out is None else before or {"name": name, "size": 0}
        if out is None:
            return nullcontext(sys.stdout.buffer)
        size = notes["out"]["size"]
        # unbuffered: after an error of a full disk, nothing is left that closing would write
        file = out.open("r+b" if out.exists() else "w+b", buffering=0)
        if file.seek(0, os.SEEK_END) < size:
            file.close()
            raise click.ClickException(
                f"--out {out}: it is shorter than what was written to it, {size} bytes: was it "
                "replaced? Give --model another file to begin again"
            )
        file.seek(size)
        file.truncate()
        return file

    def _show(self) -> None:
        """Show the loss so far on a terminal, a few times a second."""
        is_free = self._out_path is not None or not sys.stdout.isatty()
        if is_free and monotonic() - self._shown_at >= _WAIT:
            self._shown_at = monotonic()
            note(f"\r\x1b[K{self._summary()}", end="")

    def _summary(self) -> str:
        loss, wrong = self.learner.losses()
        return f"{self.learner.rounds:,} rows, mean rank loss {loss:.3f}, {wrong:.0%} wrong"


def _check_same(known: Learner, path: Path, **given: Any) -> None:
    """Raise if an option differs from that of the model."""
    for option, value in given.items():
        if value is not None and value != known.notes[option]:
            raise click.ClickException(
                f"--{option}: {path} was made with {known.notes[option]}; leave the option out, or "
                "give --model another file"
            )

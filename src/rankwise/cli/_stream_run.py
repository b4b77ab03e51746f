"""A run of ``rankwise stream``: from where the model file says to the end of the input."""

import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import click

from rankwise.cli._shared import note, show_json
from rankwise.cli._stream_input import Pieces
from rankwise.cli._stream_model import Learner, as_numbers, parse_labels
from rankwise.datasets.rows import Block, Rows

# Bytes at the start of an input by which it is known again.
_MARK = 2**16
_TOLD = 0.2


class Run:
    """One run of the command.

    Parameters
    ----------
    pieces : Pieces
        The input.
    path : Path
        The file of the model.
    stopped : list of int
        Gets the number of a signal that asks to end.
    """

    def __init__(self, pieces: Pieces, path: Path, stopped: list[int]) -> None:
        self.pieces, self.path, self.stopped = pieces, path, stopped
        self.new = self.unsaved = 0
        self.start = self.saved_at = self.told_at = monotonic()

    def prepare(
        self,
        target: str,
        ignore: Sequence[str],
        labels: str | None,
        method: str | None,
        *,
        more: bool,
    ) -> None:
        """Look at the start of the input, and make the model or go to where it was."""
        wanted = parse_labels(labels) if labels else None
        known = Learner.loaded(self.path) if self.path.exists() else None
        if known is not None:
            _check_same(known, self.path, target=target, labels=wanted, method=method)
            wanted = known.notes["labels"]
        size = 0 if known is None else known.notes["mark"][0]
        # Whether grades are text is told by the labels, or by the first row.
        head = self.pieces.look(size, 1 if wanted else 2, self.stopped)
        self.rows = _rows_of(head, self.pieces, target, ignore, wanted)
        if known is None:
            chosen = wanted or self._labels()
            self.learner = Learner.new(method or "averaged", target, self.rows.features, chosen)
        else:
            self.learner = known
            _check_columns(known, self.path, self.pieces, self.rows)
        is_other = known is not None and zlib.crc32(head[:size]) != known.notes["mark"][1]
        if is_other and not more:
            raise click.ClickException(
                f"{self.pieces.name} does not begin with the rows that {self.path} has learned; "
                "--more learns on from the start of another input"
            )
        self.is_new = known is None or is_other
        if self.is_new:
            begun = head[: self.rows.start]
            self.learner.notes.update(size=0, digest=0, line=0, mark=[0, 0])
            self.pieces.skip(len(begun), zlib.crc32(begun))
            self._pass(begun)
        else:
            self.pieces.skip(self.learner.notes["size"], self.learner.notes["digest"])

    def go(self, out: Path | None, every: int, seconds: float) -> None:
        """Learn until the input ends or a signal comes, and save."""
        told = sys.stderr.isatty() and not (out is None and sys.stdout.isatty())
        rest = b""
        with self._opened(out) as self._out:
            try:
                while not self.stopped:
                    piece = self.pieces.read()
                    rest += piece or b""
                    end = len(rest) if piece is None else self.rows.end(rest)
                    done = rest[:end]
                    if done and not done.isspace():
                        self._learn(done)
                        rest = rest[end:]
                    if piece is None:
                        break
                    late = monotonic() - self.saved_at >= seconds
                    if self.unsaved >= every or (self.unsaved and late):
                        self.save()
                    if told:
                        self._tell_now()
            except BrokenPipeError:
                self.save()
                raise
            if told:
                click.echo("\r\x1b[K", nl=False, err=True)
            if not self.learner.rounds:
                raise click.ClickException(f"{self.pieces.name} has no rows")
            self.save()

    def save(self) -> None:
        """Write the model, the place in the input, and that in the output."""
        if self.learner.notes["out"] is not None:
            with self._out_named():
                os.fsync(self._out.fileno())
                self.learner.notes["out"]["size"] = self._out.tell()
        self.learner.save(self.path)
        self.unsaved, self.saved_at = 0, monotonic()

    def tell(self, *, as_json: bool) -> None:
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
            note(f"{self._line()}; kept in {self.path}")

    def _learn(self, raw: bytes) -> None:
        """Predict and learn the rows of a piece; what can't be read ends the run."""
        text = raw if raw.endswith(b"\n") else raw + b"\n"
        block = self.learner.check_labels(self.rows.read(text), text)
        n_rows, first_line = len(block.target), self.learner.notes["line"]
        if n_rows:
            guesses = self.learner.learn(block).tolist()
            self._pass(raw[: block.size])
            self.new += n_rows
            self.unsaved += n_rows
            self._write("\n".join([*map(str, guesses), ""]).encode())
        if block.problem[0]:
            kept = ""
            if self.learner.rounds:
                self.save()
                kept = f". The {self.learner.rounds:,} rows before are kept in {self.path}"
            self._refuse(first_line, block, kept)

    def _write(self, text: bytes) -> None:
        """Write predictions to the output, all of them at once."""
        with self._out_named():
            left = memoryview(text)
            while left:
                left = left[self._out.write(left) :]
            self._out.flush()

    @contextmanager
    def _out_named(self) -> Iterator[None]:
        """Name the output in what fails, as on a full disk."""
        try:
            yield
        except OSError as error:
            out = self.learner.notes["out"]
            error.filename = "standard output" if out is None else out["name"]
            raise

    def _pass(self, raw: bytes) -> None:
        """Note that some bytes are done with."""
        notes = self.learner.notes
        size, digest = notes["mark"]
        if size < _MARK:
            begun = raw[: _MARK - size]
            notes["mark"] = [size + len(begun), zlib.crc32(begun, digest)]
        notes["size"] += len(raw)
        notes["digest"] = zlib.crc32(raw, notes["digest"])
        notes["line"] += raw.count(b"\n")

    def _labels(self) -> list[Any]:
        """Read a file once for its labels."""
        if not self.pieces.is_file:
            raise click.ClickException(
                f"{self.pieces.name} can be read once only: name all grades from the lowest up, as "
                "in --labels 1-5 or --labels poor,fair,good"
            )
        found: set[Any] = set()
        again = Pieces(self.pieces.path, follow=False)
        begun = again.look(self.rows.start, 0, [])[: self.rows.start]
        again.skip(len(begun), zlib.crc32(begun))
        rest, line, ended = b"", begun.count(b"\n"), False
        while not ended and not self.stopped:
            piece = again.read()
            ended = piece is None
            rest += b"\n" if piece is None else piece
            end = self.rows.end(rest)
            done = rest[:end]
            if done and not done.isspace():
                block = self.rows.read_targets(done)
                if block.problem[0]:
                    self._refuse(line, block)
                found.update(block.target.tolist())
                line, rest = line + done.count(b"\n"), rest[end:]
        if not found and not self.stopped:
            raise click.ClickException(f"{self.pieces.name} has no rows")
        return sorted(as_numbers(list(found)))

    def _refuse(self, line: int, block: Block, kept: str = "") -> NoReturn:
        within, why = block.problem
        raise click.ClickException(f"{self.pieces.name}:{line + within}: {why}{kept}")

    def _opened(self, out: Path | None) -> Any:
        """Open the output where the model file says that it was."""
        notes = self.learner.notes
        before = notes["out"]
        if out is None:
            if before is not None and not self.is_new:
                raise click.ClickException(
                    f"predictions went to {before['name']} before: go on with --out "
                    f"{before['name']}"
                )
            notes["out"] = None
            return nullcontext(sys.stdout.buffer)
        name = str(out.resolve())
        if before is not None and before["name"] != name:
            if not self.is_new:
                raise click.ClickException(
                    f"--out {out}: predictions went to {before['name']} before: go on there"
                )
            before = None
        size = 0 if before is None else before["size"]
        # without a buffer: after a full disk, there is nothing left that closing would write
        file = out.open("r+b" if out.exists() else "w+b", buffering=0)
        if file.seek(0, os.SEEK_END) < size:
            file.close()
            raise click.ClickException(
                f"--out {out}: it is shorter than what was written to it, {size} bytes: was it "
                "replaced? Give --model another file to begin again"
            )
        file.seek(size)
        file.truncate()
        notes["out"] = {"name": name, "size": size}
        return file

    def _tell_now(self) -> None:
        if monotonic() - self.told_at >= _TOLD:
            self.told_at = monotonic()
            click.echo(f"\r\x1b[K{self._line()}", nl=False, err=True)

    def _line(self) -> str:
        loss, wrong = self.learner.losses()
        return f"{self.learner.rounds:,} rows, mean rank loss {loss:.3f}, {wrong:.0%} wrong"


def _rows_of(
    head: bytes, pieces: Pieces, target: str, ignore: Sequence[str], labels: Sequence[Any] | None
) -> Rows:
    """Return how the rows of an input are written; refuse what is no text."""
    if not head.strip():
        raise click.ClickException(f"{pieces.name} is empty: rows of CSV or JSON are wanted")
    if head.startswith(b"\x1f\x8b"):
        raise click.ClickException(
            f"{pieces.name} is compressed: gzip -dc FILE | rankwise stream ..."
        )
    if b"\0" in head:
        raise click.ClickException(f"{pieces.name} is no text: CSV or JSON lines are wanted")
    as_text = None if labels is None else isinstance(labels[0], str)
    try:
        return Rows(head, target, ignore, as_text)
    except ValueError as error:
        raise click.ClickException(f"{pieces.name}: {error}") from error


def _check_same(known: Learner, path: Path, **given: Any) -> None:
    """Refuse options that the model of the file was not made with."""
    for option, value in given.items():
        if value is not None and value != known.notes[option]:
            raise click.ClickException(
                f"--{option}: {path} was made with {known.notes[option]}; leave the option out, or "
                "give --model another file"
            )


def _check_columns(known: Learner, path: Path, pieces: Pieces, rows: Rows) -> None:
    if known.notes["columns"] != rows.features:
        before, now = ", ".join(known.notes["columns"]), ", ".join(rows.features)
        raise click.ClickException(f"{path} has learned the columns {before}; {pieces.name}: {now}")

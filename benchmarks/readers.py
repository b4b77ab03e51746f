"""Tables read from files: MovieLens-1M, LETOR MQ2008, a full Book-Crossing and 300 MB of CSV."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Prepare, Race, Target, load
from benchmarks.report import run_race

Array = NDArray[Any]
Lines = list[bytes]
Read = Callable[[Path], Array]

_FOLDER = TemporaryDirectory(prefix="rankwise-readers-")


def real(*names: str) -> Lines | None:
    """The lines of the real files, or None where RANKWISE_DATA has none."""
    folder = Path(os.environ.get("RANKWISE_DATA", ""))
    paths = [folder / name for name in names]
    if not all(path.exists() for path in paths):
        return None
    return b"".join(path.read_bytes() for path in paths).splitlines(keepends=True)


def movielens(m: int = 1_000_209, seed: int = 0) -> tuple[tuple[Lines], tuple[Array]]:
    """The ratings of MovieLens-1M, or as many made up."""
    lines = real("ml-1m/ratings.dat")
    if lines is None or m != 1_000_209:
        g = np.random.default_rng(seed)
        users, items = np.sort(g.integers(1, 6_041, m)), g.integers(1, 3_953, m)
        columns = users, items, g.integers(1, 6, m), g.integers(956_703_932, 1_046_454_590, m)
        lines = [
            b"%d::%d::%d::%d\n" % row for row in zip(*map(np.ndarray.tolist, columns), strict=True)
        ]
    return (lines,), (np.array([float(line.split(b"::")[2]) for line in lines]),)


def letor(m: int = 15_211, seed: int = 0) -> tuple[tuple[Lines], tuple[Array]]:
    """The five parts of MQ2008, or as many rows made up."""
    lines = real(*(f"letor-mq2008/S{part}.txt" for part in range(1, 6)))
    if lines is None or m != 15_211:
        g = np.random.default_rng(seed)
        X = np.where(g.random((m, 46)) < 0.4, 0, g.random((m, 46)))
        lines = [
            f"{i % 3} qid:{i // 20} {' '.join(f'{j}:{v:.6f}' for j, v in enumerate(x, 1))} "
            f"#docid = GX{i:09d} inc = 1 prob = 0.086622\n".encode()
            for i, x in enumerate(X.tolist())
        ]
    rows = [[float(t.split(b":")[1]) for t in line.split(b"#")[0].split()[2:]] for line in lines]
    return (lines,), (np.array(rows),)


def book_crossing(m: int = 1_149_780, seed: int = 0) -> tuple[tuple[Lines], tuple[Array]]:
    """As many ratings as Book-Crossing has, made up: a file of 30 MB."""
    g = np.random.default_rng(seed)
    users, ratings = np.sort(g.integers(1, 278_859, m)), g.integers(0, 11, m)
    books = g.integers(10**8, 10**8 + 340_556, m)
    columns = users.tolist(), books.tolist(), ratings.tolist()
    return ([b'"%d";"%dX";"%d"\r\n' % row for row in zip(*columns, strict=True)],), (ratings,)


def table(m: int = 1_600_000, seed: int = 0) -> tuple[tuple[Lines], tuple[Array]]:
    """A CSV of 300 MB: thirteen numbers, half of all digits, a grade, a town, a quoted text."""
    g = np.random.default_rng(seed)
    full, short = g.normal(size=(m, 7)), g.normal(size=(m, 6)).round(6)
    grades, towns = g.integers(1, 6, m), g.choice(["Ulm", "Rome", "New York"], m)
    rows = zip(full.tolist(), short.tolist(), grades.tolist(), towns.tolist(), strict=True)
    head = ",".join([*(f"x{i}" for i in range(13)), "grade", "town", "note"]) + "\n"
    body = (
        f'{",".join(map(repr, a + b))},{grade},{town},"{town}, {grade}"\n'.encode()
        for a, b, grade, town in rows
    )
    return ([head.encode(), *body],), (grades.astype(float),)


def largest_error(read: Array, truth: Array) -> float:
    """How far the numbers are from those in the file, at most."""
    return float(np.abs(read - truth[: len(read)]).max())


def from_file(read: Callable[[], Read]) -> Prepare:
    """Write the lines to a file, untimed, and time its reading."""

    def prepare(lines: Lines) -> Callable[[], Array]:
        path = Path(_FOLDER.name) / f"{hash(lines[0])}-{len(lines)}"
        if not path.exists():
            path.write_bytes(b"".join(lines))
        timed = read()
        return lambda: timed(path)

    return prepare


def bytes_only() -> Any:
    """Read the file and count its lines."""

    def read(path: Path) -> None:
        path.read_bytes().count(b"\n")

    return read


def any_table() -> Read:
    """``rankwise.io.read_table``."""
    read_table = load("rankwise.io.read_table")
    return lambda path: read_table(path)["grade"].to_numpy(float)


def polars_table() -> Read:
    """``polars.read_csv`` as it is."""
    read_csv = load("polars.read_csv")
    return lambda path: read_csv(path)["grade"].to_numpy().astype(float)


def ours(name: str, pick: Callable[[Any], Array]) -> Callable[[], Read]:
    """A reader of rankwise, and the column to judge."""

    def make() -> Read:
        reader = load(f"rankwise.datasets.{name}")
        return lambda path: pick(reader(path))

    return make


def pandas(column: int, **options: Any) -> Callable[[], Read]:
    """``pandas.read_csv``, which takes one form of separator or another."""

    def make() -> Read:
        read_csv = load("pandas.read_csv")
        return lambda path: read_csv(path, **options).iloc[:, column].to_numpy(float)

    return make


def polars() -> Read:
    """``polars.read_csv`` at single colons: every second column is empty."""
    read_csv = load("polars.read_csv")

    def read(path: Path) -> Array:
        frame = read_csv(path, separator=":", has_header=False, columns=[0, 2, 4, 6])
        return frame[:, 2].to_numpy().astype(float)

    return read


def svmlight() -> Read:
    """scikit-learn's reader, and X made dense as ours is; it drops the comments."""
    load_file = load("sklearn.datasets.load_svmlight_file")
    return lambda path: load_file(str(path), query_id=True)[0].toarray()


RACES = {
    "movielens": Race(
        data=movielens,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", from_file(bytes_only)),
        ours=(Entrant("rankwise", from_file(ours("read_movielens", lambda f: f.rating))),),
        peers=(
            Entrant(
                "pandas at ':'",
                from_file(pandas(2, sep=":", header=None, usecols=[0, 2, 4, 6])),
                needs="pandas",
            ),
            Entrant(
                "pandas at '::'",
                from_file(pandas(2, sep="::", header=None, engine="python")),
                needs="pandas",
                rows=100_000,
                repeats=2,
            ),
            Entrant("polars at ':'", from_file(polars), needs="polars"),
        ),
        targets=(
            Target("rankwise", over="pandas at ':'", at_most=1.5),
            Target("pandas at '::'", over="rankwise", at_least=10),
        ),
    ),
    "letor": Race(
        data=letor,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", from_file(bytes_only)),
        ours=(Entrant("rankwise", from_file(ours("read_letor", lambda data: data.X))),),
        peers=(Entrant("load_svmlight_file", from_file(svmlight), needs="scikit-learn"),),
        targets=(Target("rankwise", over="load_svmlight_file", at_most=1.5),),
    ),
    "book_crossing": Race(
        data=book_crossing,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", from_file(bytes_only)),
        ours=(
            Entrant(
                "rankwise",
                from_file(ours("read_book_crossing", lambda f: f.rating.fillna(0).to_numpy())),
            ),
        ),
        peers=(
            Entrant(
                "pandas",
                from_file(
                    pandas(2, sep=";", header=None, escapechar="\\", encoding="latin-1"),
                ),
                needs="pandas",
            ),
        ),
        targets=(Target("rankwise", over="pandas", at_most=1.5),),
    ),
    "table": Race(
        data=table,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", from_file(bytes_only)),
        ours=(Entrant("rankwise", from_file(any_table)),),
        peers=(
            Entrant("pandas", from_file(pandas(13)), needs="pandas"),
            Entrant("polars", from_file(polars_table), needs="polars"),
        ),
        targets=(Target("rankwise", over="pandas", at_most=1.5),),
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run the four races."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks readers")
    parser.add_argument("--turns", type=int, default=5, help="of every entrant")
    parser.add_argument("--only", choices=RACES, help="one of the races")
    options = parser.parse_args(arguments)
    chosen = [options.only] if options.only else list(RACES)
    good = [
        run_race(f"readers_{name}", RACES[name], repeats=options.turns, sizes={}) for name in chosen
    ]
    return 0 if all(good) else 1

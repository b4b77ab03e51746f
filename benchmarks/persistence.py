"""A model of 10 MB written to a file and read again, beside numpy.savez, pickle and skops."""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Entrant, Race, Target, load
from benchmarks.report import run_race

Array = NDArray[Any]
Attributes = dict[str, Array]

_FOLDER = TemporaryDirectory(prefix="rankwise-persistence-")


def rows(m: int = 10_240, d: int = 128, seed: int = 0) -> tuple[tuple[Array], tuple[Array]]:
    """The rows that a kernel model keeps: 8 m d bytes, 10 MB."""
    X = np.random.default_rng(seed).normal(size=(m, d))
    return (X,), (X,)


def largest_error(back: Array, X: Array) -> float:
    """How far the rows are from those that were written, at most."""
    return float(np.abs(back - X[: len(back)]).max())


def model_of(X: Array) -> Any:
    """MPRank with a kernel that was fitted to the rows, without the hour that this takes."""
    model = load("rankwise.magnitude.MPRank")(kernel="rbf").fit(X[:50], X[:50, 0])
    model.X_fit_, model.dual_coef_ = X, X[:, 0].copy()
    return model


def attributes(X: Array) -> Attributes:
    """The same arrays for those who know of arrays only."""
    return {name: v for name, v in vars(model_of(X)).items() if isinstance(v, np.ndarray)}


def path_of(name: str) -> Path:
    """A file of one entrant, so that none waits for another's."""
    return Path(_FOLDER.name) / name


def bytes_written(X: Array) -> Callable[[], None]:
    """The bytes alone."""
    path = path_of("bytes")

    def run() -> None:
        path.write_bytes(X.data)

    return run


def bytes_read(X: Array) -> Callable[[], None]:
    """The bytes alone."""
    path, out = path_of("bytes"), np.empty_like(X)
    path.write_bytes(X.data)

    def run() -> None:
        with path.open("rb") as file:
            file.readinto(out.data)

    return run


def rankwise_saves(X: Array) -> Callable[[], None]:
    """``rankwise.save``."""
    save, model, path = load("rankwise.save"), model_of(X), path_of("saved")
    return lambda: save(model, path)


def rankwise_loads(X: Array) -> Callable[[], Array]:
    """``rankwise.load``."""
    rankwise_saves(X)()
    read, path = load("rankwise.load"), path_of("saved")
    return lambda: read(path).X_fit_


def numpy_saves(X: Array) -> Callable[[], None]:
    """``numpy.savez`` of the arrays of the model."""
    arrays, path = attributes(X), path_of("arrays.npz")
    return lambda: np.savez(path, **arrays)  # type: ignore[arg-type]


def numpy_loads(X: Array) -> Callable[[], Array]:
    """``numpy.load`` of each of them."""
    numpy_saves(X)()
    path = path_of("arrays.npz")

    def run() -> Array:
        with np.load(path, allow_pickle=False) as opened:
            return {name: opened[name] for name in opened.files}["X_fit_"]

    return run


def pickle_saves(X: Array) -> Callable[[], None]:
    """``pickle.dump``."""
    model, path = model_of(X), path_of("pickled")

    def run() -> None:
        with path.open("wb") as file:
            pickle.dump(model, file, protocol=5)

    return run


def pickle_loads(X: Array) -> Callable[[], Array]:
    """``pickle.load`` of our own file."""
    pickle_saves(X)()
    path = path_of("pickled")

    def run() -> Array:
        with path.open("rb") as file:
            return pickle.load(file).X_fit_  # noqa: S301

    return run


def skops_saves(X: Array) -> Callable[[], None]:
    """``skops.io.dump``."""
    dump, model, path = load("skops.io.dump"), model_of(X), path_of("skops")
    return lambda: dump(model, path)


def skops_loads(X: Array) -> Callable[[], Array]:
    """``skops.io.load`` of our own file, all of whose types are trusted."""
    skops_saves(X)()
    path = path_of("skops")
    read, trusted = load("skops.io.load"), load("skops.io.get_untrusted_types")(file=path)
    return lambda: read(path, trusted=trusted).X_fit_


RACES = {
    "save": Race(
        data=rows,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", bytes_written),
        ours=(Entrant("rankwise.save", rankwise_saves),),
        peers=(
            Entrant("numpy.savez", numpy_saves),
            Entrant("pickle", pickle_saves),
            Entrant("skops", skops_saves),
        ),
        targets=(Target("rankwise.save", over="numpy.savez", at_most=3),),
    ),
    "load": Race(
        data=rows,
        measure="largest error",
        judge=largest_error,
        limit=Entrant("bytes only", bytes_read),
        ours=(Entrant("rankwise.load", rankwise_loads),),
        peers=(
            Entrant("numpy.load", numpy_loads),
            Entrant("pickle", pickle_loads),
            Entrant("skops", skops_loads),
        ),
        targets=(Target("rankwise.load", over="numpy.load", at_most=3),),
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run both races."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks persistence")
    parser.add_argument("--turns", type=int, default=9, help="of every entrant")
    parser.add_argument("--only", choices=RACES, help="one of the races")
    options = parser.parse_args(arguments)
    chosen = [options.only] if options.only else list(RACES)
    good = [
        run_race(f"persistence_{name}", RACES[name], repeats=options.turns, sizes={})
        for name in chosen
    ]
    return 0 if all(good) else 1

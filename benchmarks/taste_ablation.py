"""What each ingredient of TasteModel is worth: error and time without it.

The tables are those of ``python -m benchmarks recommend``: MovieLens-1M and the embedded films,
split 80/20 by seed 8, and the test sets u1 and u2 of MovieLens-100K. Seconds are processor time of
a fit on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.recommend import split
from benchmarks.report import append, console, describe
from rankwise.recommend import TasteModel, _model, factors, item_kernel

TABLES = {"1m": [(0.2, 8)], "100k": [(0.0, 1), (0.0, 2)], "movies": [(0.2, 8)]}
HEAD = 1_000


def fixed_noise(rows: Any, C: Any, _noise: float, *others: Any) -> Any:
    """Learn a kernel by rounds with noise 2."""
    return item_kernel.learn_kernel(rows, C, 2.0, *others)


def no_vectors(M: Any, _k: int) -> Any:
    """Return no singular vectors, for no pseudo-items."""
    return np.zeros((M.shape[1], 0))


def no_factors(ratings: Any, vectors: Any, *_: Any) -> Any:
    """Return factors of 0, so that an item of the tail has its bias only."""
    return np.zeros((ratings.shape[1], vectors.shape[1]))


Patch = Callable[[], Any]
small_head = partial(patch.object, _model, "_HEAD", HEAD)
# What is replaced, and the rank of the kernel; own rows are taken from the fitted model.
INGREDIENTS: dict[str, tuple[list[Patch], int | None]] = {
    "all ingredients": ([], None),
    "double precision": ([partial(patch.object, _model, "_SINGLE", np.inf)], None),
    "two rounds of all, no thirds": ([partial(patch.object, item_kernel, "_PARTS", 1)], None),
    "no pseudo-items": ([partial(patch.object, item_kernel, "leading_vectors", no_vectors)], None),
    "rounds with noise 2": ([partial(patch.object, _model, "learn_kernel", fixed_noise)], None),
    "held-out ratings not learned": ([partial(patch.object, _model, "_SHARE", 1.0)], None),
    "own rows not taken out": ([], None),
    "rank 100": ([], 100),
    f"rank 100, head of {HEAD:,} items": ([small_head], 100),
    "its tail by item biases": (
        [small_head, partial(patch.object, factors, "tail_factors", no_factors)],
        100,
    ),
}


@contextmanager
def without(name: str) -> Iterator[TasteModel]:
    """Give a model that lacks an ingredient."""
    patches, rank = INGREDIENTS[name]
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one())
        yield TasteModel(rank=rank, n_jobs=1)


def measure(name: str, data: str) -> dict[str, float]:
    """Return the mean errors and seconds over the splits of a table."""
    found = []
    for share, seed in TABLES[data]:
        train, test = split(data, share, seed)
        with without(name) as model:
            start = process_time()
            model.fit(train)
            seconds = process_time() - start
        if name == "own rows not taken out":
            model.own_ = None
        errors = model.evaluate(test)
        found.append((errors.rmse, errors.misranking, seconds))
    rmse, misranking, seconds = np.mean(found, axis=0).tolist()
    return {"rmse": rmse, "misranking": misranking, "seconds": seconds}


def main(arguments: Sequence[str]) -> int:
    """Print a row for each ingredient; always return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks taste_ablation")
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--without", nargs="+", choices=list(INGREDIENTS), default=INGREDIENTS)
    options = parser.parse_args(arguments)
    TasteModel().fit(split("movies", 0.2, 8)[0].people(0, 50))  # compiles
    shown = Table(title="RMSE, misranking, seconds of one core", box=SIMPLE_HEAD)
    for column in ("", *options.data):
        shown.add_column(column)
    for name in options.without:
        found = {data: measure(name, data) for data in options.data}
        append("taste_ablation", {"kind": "ablation", **describe(), "without": name, **found})
        cells = [
            f"{one['rmse']:.4f} {one['misranking']:.4f} {one['seconds']:.1f}"
            for one in found.values()
        ]
        console.print(name, *cells, sep="  ", style="dim")
        shown.add_row(name, *cells)
    console.print(shown)
    return 0

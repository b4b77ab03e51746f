"""What every online loop is given: rows, their ranks, and what a pass records."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core._loops.rows import as_rows
from rankwise._core._loops.shapes import FIT_ANEW, check_shape, row_count

NO_ORDER = np.empty(0, dtype=np.int64)
NO_GUESSES = np.empty(0, dtype=np.int64)


class Stream(NamedTuple):
    """Rows to learn from, one after the other.

    Attributes
    ----------
    rows : (m, d) array, CSR or KernelRows
        The rows, as `as_rows` returns them.
    ranks : (m,) int64
        Their ranks from 0.
    order : (m,) int64 or empty
        The row of each round; empty: as they come.
    counts : (3,) int64
        Rounds, mistakes and rank loss so far; updated in place.
    guesses : (m,) int64 or empty
        Filled with the rank predicted in each round, before the update; empty: not wanted.
    """

    rows: Any
    ranks: NDArray[np.int64]
    order: NDArray[np.int64]
    counts: NDArray[np.int64]
    guesses: NDArray[np.int64]


def as_stream(
    X: Any,
    ranks: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    order: NDArray[np.int64] | None = None,
    guesses: NDArray[np.int64] = NO_GUESSES,
) -> Stream:
    """Return the arrays of a stream as the loops take them."""
    return Stream(as_rows(X), ranks, NO_ORDER if order is None else order, counts, guesses)


def check_stream(stream: Stream, n_ranks: int) -> None:
    """Refuse a stream whose arrays don't fit each other or the number of ranks."""
    n, ranks = row_count(stream.rows), stream.ranks
    check_shape("ranks", ranks, n, kind=np.int64)
    check_shape("order", stream.order, n if len(stream.order) else 0, kind=np.int64)
    check_shape("counts", stream.counts, 3, kind=np.int64)
    check_shape("guesses", stream.guesses, n if len(stream.guesses) else 0, kind=np.int64)
    if n and not 0 <= ranks.min() <= ranks.max() < n_ranks:
        raise ValueError(f"a row has rank {ranks.max() + 1} of {n_ranks}: {FIT_ANEW}")

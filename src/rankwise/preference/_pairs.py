"""Pairs of rows to learn a comparator from, and what a classifier sees of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.validation import TOO_LARGE

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Features = str | Callable[[Any, Any], Any]

BLOCK = 1 << 22
"""Numbers in the features of the pairs that are made or compared at once."""


def sample_pairs(
    y: Floats, codes: Indices, max_pairs: int | None, random: np.random.RandomState
) -> tuple[Indices, Indices, int]:
    """Return rows (worse, better) of one query with different grades, and how many there are.

    Past ``max_pairs`` a random sample of them, without ever listing all: O(m log m + max_pairs).
    """
    order = np.lexsort((y, codes))
    grades, queries = y[order], codes[order]
    place = np.arange(len(y))
    new_query = np.append(True, queries[1:] != queries[:-1])
    new_grade = new_query | np.append(True, grades[1:] != grades[:-1])
    start = np.maximum.accumulate(np.where(new_query, place, 0))
    n_worse = np.maximum.accumulate(np.where(new_grade, place, 0)) - start
    ends = np.cumsum(n_worse)
    total = int(ends[-1])
    if max_pairs is None or total <= max_pairs:
        chosen = np.arange(total)
    else:
        generator = np.random.default_rng(random.randint(2**31))
        chosen = np.sort(generator.choice(total, max_pairs, replace=False, shuffle=False))
    better = np.searchsorted(ends, chosen, side="right")
    worse = start[better] + chosen - (ends - n_worse)[better]
    return order[worse], order[better], total


def features_of(features: Features, U: Any, V: Any) -> Any:
    """Return what a classifier sees of pairs, the rows of U and V."""
    if features == "difference":
        with np.errstate(over="ignore"):
            difference = U - V
        values = difference.data if sparse.issparse(difference) else difference
        if not np.isfinite(values).all():
            raise ValueError(f"a difference of two rows of X is {TOO_LARGE}")
        return difference
    if features == "concat":
        return sparse.hstack([U, V], format="csr") if sparse.issparse(U) else np.hstack([U, V])
    made = features(U, V)  # type: ignore[operator]
    shape: tuple[int, ...] = getattr(made, "shape", ())
    if len(shape) != 2 or shape[0] != U.shape[0]:
        raise ValueError(
            f"features must return a matrix with a row for each of {U.shape[0]} pairs, but "
            f"what it returned, a {type(made).__name__}, has the shape {shape}"
        )
    return made


def pair_features(features: Features, rows: Any, first: Indices, second: Indices) -> Any:
    """Return the same for pairs of row numbers, block by block, so that no copy of rows is large.

    What is dense is written into one matrix.
    """
    size = max(1, BLOCK // rows.shape[1])
    if len(first) <= size:
        return features_of(features, rows[first], rows[second])
    blocks: list[Any] = []
    for start in range(0, len(first), size):
        here = slice(start, start + size)
        block = features_of(features, rows[first[here]], rows[second[here]])
        if sparse.issparse(block):
            blocks.append(block)
            continue
        if not blocks:
            blocks.append(np.empty((len(first), block.shape[1]), dtype=np.asarray(block).dtype))
        blocks[0][here] = block
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else blocks[0]

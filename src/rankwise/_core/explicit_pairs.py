"""Pairs of rows that a user lists: checked in one place."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import as_array
from rankwise._core.inputs import as_weights, refuse_masked


def check_pairs(pairs: ArrayLike, n_rows: int, name: str = "pairs") -> NDArray[np.int64]:
    """Return pairs (worse, better) of rows below ``n_rows``, one or more, as whole numbers."""
    refuse_masked(pairs, name)
    given = as_array(pairs, name)
    if given.ndim != 2 or given.shape[1] != 2 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be whole numbers of shape (n_pairs, 2), the rows (worse, better) of one "
            f"or more pairs, but its shape is {given.shape} and its dtype {given.dtype}"
        )
    wrong = np.flatnonzero(((given < 0) | (given >= n_rows)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {given[wrong[0]].tolist()}, but there are the rows 0 to "
            f"{n_rows - 1}"
        )
    return given.astype(np.int64)


def check_weighted_pairs(
    pairs: ArrayLike, pair_weight: ArrayLike | None, n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Return the pairs of two rows that weigh something, their weights, and how many do not."""
    given = check_pairs(pairs, n_rows)
    weight = as_weights(
        1.0 if pair_weight is None else pair_weight, "pair_weight", len(given), "pair"
    )
    kept = (weight > 0) & (given[:, 0] != given[:, 1])
    if not kept.any():
        raise ValueError(
            "pairs holds no pair of two rows with a weight: there is nothing to learn from"
        )
    return given[kept], weight[kept], int((~kept).sum())

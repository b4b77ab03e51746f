"""What is in a table, in numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class TableSummary:
    """What is in a table of ratings; `print` shows it.

    Attributes
    ----------
    n_users, n_items, n_ratings : int
        How many there are; people and items without a rating count, too.
    density : float
        The share of all pairs of a person and an item that are rated.
    has_ratings : bool
        Whether people graded what they took.
    scale : tuple of two floats
        The lowest and the highest rating.
    mean, sd : float
        Of all ratings; 0 without any.
    per_user, per_item : tuple of five floats
        Ratings of a person and of an item: the least, the quartiles and the most.
    n_silent : int
        People without a rating.
    n_constant : int
        People who gave all they rated, two items or more, the same.
    n_learnable : int
        People who can be learned from: two different ratings at least, or without ratings two
        items.
    """

    n_users: int
    n_items: int
    n_ratings: int
    density: float
    has_ratings: bool
    scale: tuple[float, float]
    mean: float
    sd: float
    per_user: tuple[float, ...]
    per_item: tuple[float, ...]
    n_silent: int
    n_constant: int
    n_learnable: int

    def __str__(self) -> str:
        share = f"{self.density:.2%} of all pairs"
        lines = [
            f"{self.n_users:,} users, {self.n_items:,} items, {self.n_ratings:,} ratings: {share}",
            f"ratings of a user  {_quartiles(self.per_user)}",
            f"ratings of an item {_quartiles(self.per_item)}",
        ]
        if self.has_ratings:
            low, high = self.scale
            lines.insert(
                1, f"scale from {low:g} to {high:g}, mean {self.mean:.2f}, sd {self.sd:.2f}"
            )
            unlearnable = f"{self.n_constant:,} give one rating to all, {self.n_silent:,} have none"
        else:
            lines.insert(1, "taken, not graded")
            unlearnable = f"{self.n_silent:,} have no item"
        lines.append(f"{self.n_learnable:,} users can be learned from; {unlearnable}")
        return "\n".join(lines)


def summarise(
    matrix: sparse.csr_array, *, has_ratings: bool, scale: tuple[float, float]
) -> TableSummary:
    """Return the summary of a table."""
    per_user = np.diff(matrix.indptr)
    per_item = np.bincount(matrix.indices, minlength=matrix.shape[1])
    varied = varied_rows(matrix)
    several = per_user > 1
    n = len(matrix.data)
    return TableSummary(
        n_users=matrix.shape[0],
        n_items=matrix.shape[1],
        n_ratings=n,
        density=n / (matrix.shape[0] * matrix.shape[1]),
        has_ratings=has_ratings,
        scale=scale,
        mean=float(matrix.data.mean()) if n else 0.0,
        sd=deviation(matrix.data),
        per_user=_five(per_user),
        per_item=_five(per_item),
        n_silent=int((per_user == 0).sum()),
        n_constant=int((several & ~varied).sum()) if has_ratings else 0,
        n_learnable=int((varied if has_ratings else several).sum()),
    )


def standardised(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Return values from 0 to 1, the lowest of them, and their range; 1 if all are equal.

    Differences and squares of these lose no digits to a large offset, and neither overflow nor
    underflow.
    """
    low, high = float(values.min()), float(values.max())
    width = high - low or 1.0
    return (values - low) / width, low, width


def deviation(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of values of any size; 0 without any."""
    if not len(values):
        return 0.0
    standard, _, width = standardised(values)
    return float(width * standard.std())


def varied_rows(matrix: sparse.csr_array) -> NDArray[np.bool_]:
    """Return which rows hold two different numbers at least."""
    n = np.diff(matrix.indptr)
    varied = np.zeros(len(n), dtype=bool)
    filled = np.flatnonzero(n)
    if len(filled):
        starts = matrix.indptr[:-1][filled]
        low = np.minimum.reduceat(matrix.data, starts)
        varied[filled] = low < np.maximum.reduceat(matrix.data, starts)
    return varied


def _five(counts: NDArray[np.int64]) -> tuple[float, ...]:
    return tuple(float(q) for q in np.quantile(counts, _SHARES))


def _quartiles(five: tuple[float, ...]) -> str:
    low, first, median, third, high = (f"{q:,g}" for q in five)
    return f"from {low} to {high}, median {median}, half of them {first} to {third}"

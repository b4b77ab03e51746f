"""The order that comes out, and what it cost to find it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.inputs import as_floats


def positions_of(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position, from 1, of each of 0..n-1 in an order of them."""
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(1, len(order) + 1)
    return positions


@dataclass(frozen=True, eq=False)
class Ranking:
    """An order of things, and what it cost to find it.

    Attributes
    ----------
    order : sequence
        The items, best first.
    positions : ndarray of shape (n,)
        The position of each item of the input, from 1.
    n_calls, n_batches : int or None
        Comparisons that were asked, and in how many batches.
    cost, lower_bound : float or None
        The objective of the order, and a proven bound on the best.
    optimal : bool or None
        Whether the order is proven to be the best.
    log : list or None
        The answers that were received, to go on from.
    certain : ndarray of shape (n,) or None
        Whether each place of ``order`` is settled by answers, rather than left as it was.

    Examples
    --------
    >>> from rankwise.base import Ranking
    >>> Ranking.from_scores([0.2, 0.9, 0.5])
    Ranking(order=array([1, 2, 0]), positions=array([3, 1, 2]))
    """

    order: Any
    positions: NDArray[np.int64]
    n_calls: int | None = None
    n_batches: int | None = None
    cost: float | None = None
    lower_bound: float | None = None
    optimal: bool | None = None
    log: list[Any] | None = None
    certain: NDArray[np.bool_] | None = None

    @classmethod
    def from_scores(cls, scores: ArrayLike) -> Self:
        """Order the indices of ``scores`` from the highest to the lowest; ties as they come."""
        values = as_floats(scores, "scores")
        if values.ndim != 1 or np.isnan(values).any():
            raise ValueError("scores must be a 1-D array without NaN, one number an item")
        order = np.argsort(-values, kind="stable")
        return cls(order=order, positions=positions_of(order))

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.name not in {"log", "certain"}]
        known = ((name, getattr(self, name)) for name in shown)
        return f"Ranking({', '.join(f'{k}={v!r}' for k, v in known if v is not None)})"

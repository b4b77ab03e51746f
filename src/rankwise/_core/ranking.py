"""The `Ranking` that functions return, and the cut of scores at their largest gap."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._core.arguments import check_whole
from rankwise._core.inputs import as_floats, check_floats


def positions_of(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position, from 1, of each of 0..n-1 in an order of them."""
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(1, len(order) + 1)
    return positions


@dataclass(frozen=True, eq=False)
class Ranking:
    """An order of items, and what it cost to find it.

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
        The answers that were received; pass it again to continue.
    certain : ndarray of shape (n,) or None
        Whether each place of ``order`` is settled by answers, rather than left in input order.

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
        names = [f.name for f in fields(self) if f.name not in {"log", "certain"}]
        known = ((name, getattr(self, name)) for name in names)
        return f"Ranking({', '.join(f'{k}={v!r}' for k, v in known if v is not None)})"


def cut_at_gap(
    scores: ArrayLike, *, min_keep: int = 1, max_keep: int | None = None, min_gap: float = 0.0
) -> int:
    """Return how many items to keep so that a ranked list ends before its largest gap.

    Scores that preserve the magnitude of preferences say where the items become much worse, which
    a mere order can't. Of equal gaps the first counts.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Predicted scores in any order, such as ``MPRank().fit(X, y).predict(X_new)``.
    min_keep : int, default=1
        The least number to keep.
    max_keep : int, default=None
        The largest number to keep. None: no limit.
    min_gap : float, default=0.0
        A gap below it is none. If no gap is left, ``max_keep`` items are kept.

    Returns
    -------
    int
        The number of items to keep, from the best.

    Examples
    --------
    >>> from rankwise.magnitude import cut_at_gap
    >>> scores = [4.8, 1.9, 4.6, 2.2, 4.5, 1.8]
    >>> cut_at_gap(scores)
    3
    >>> cut_at_gap(scores, min_gap=3)
    6
    """
    values = check_floats(scores, "scores")
    n = len(values)
    if not n:
        raise ValueError("scores is empty: give one or more numbers in a 1-D array")
    least = check_whole(min_keep, "min_keep")
    most = max(n, least) if max_keep is None else check_whole(max_keep, "max_keep")
    if least > most:
        raise ValueError(f"{min_keep=} must be 1 or more, and {max_keep=} not below it")
    if not (isinstance(min_gap, Real) and min_gap >= 0):
        raise ValueError(f"{min_gap=} must be a number, at least 0")
    ranked = -np.sort(-values)
    with np.errstate(over="ignore"):
        gaps = (ranked[:-1] - ranked[1:])[least - 1 : most]
    if not len(gaps) or gaps.max() < min_gap or gaps.max() == 0:
        return int(min(most, n))
    return int(least + gaps.argmax())

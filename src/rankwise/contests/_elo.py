"""Elo's ratings, contest by contest."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise._core.ids import encode_columns, find_ids, objects
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.ranking import Ranking
from rankwise._core.sklearn_private import Interval
from rankwise.contests._counts import are_decided, check_contests, check_opponents
from rankwise.contests._loops import elo_pass

Floats = NDArray[np.float64]


class EloRating(BaseEstimator):
    r"""Elo's ratings: the winner of a contest takes points, the more the less expected it was.

    .. math:: R_u \leftarrow R_u + k\,(y - P), \quad
        P = 1 / (1 + 10^{-(R_u - R_v) / \text{scale}}),

    and v loses what u gets. y is 1, 0, or 1/2 for a tie. If strengths do not change over time,
    `BradleyTerry` is the better answer: it uses every contest alike, whatever the order of the
    rows, ends at the best estimate instead of wandering around it by about :math:`\sqrt k`, and
    says how sure each place is. Elo is for streams in which items change.

    Parameters
    ----------
    k : float, default=32.0
        How far one contest moves a rating.
    scale : float, default=400.0
        The difference of ratings at which the odds are ten to one.
    start : float, default=1500.0
        The rating of an item that has not met anyone yet.

    Attributes
    ----------
    items_ : ndarray of shape (n,)
        The items, as they came.
    ratings_ : ndarray of shape (n,)
        Their ratings.
    n_contests_ : int
        Number of contests in the fit.

    Notes
    -----
    `fit` is one pass in the order of the rows; `partial_fit` in any chunks gives the same ratings
    to the last bit. O(1) for each contest.

    References
    ----------
    A. E. Elo, *The Rating of Chessplayers, Past and Present*, 1978.

    Examples
    --------
    >>> from rankwise.contests import EloRating
    >>> model = EloRating().fit(["ann", "bob", "ann"], ["bob", "cid", "cid"], [1, 1, 0.5])
    >>> model.partial_fit(["dot"], ["ann"], ["first"]).ratings_.round()
    array([1498., 1501., 1485., 1517.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "k": [Interval(Real, 0, None, closed="neither")],
        "scale": [Interval(Real, 0, None, closed="neither")],
        "start": [Interval(Real, None, None, closed="neither")],
    }

    items_: NDArray[Any]
    ratings_: Floats
    n_contests_: int

    def __init__(self, k: float = 32.0, *, scale: float = 400.0, start: float = 1500.0) -> None:
        self.k = k
        self.scale = scale
        self.start = start

    @unchanged_on_error
    def fit(self, first: ArrayLike, second: ArrayLike, outcome: ArrayLike) -> Self:
        """Start again and learn from contests in the order of their rows.

        Parameters
        ----------
        first, second, outcome
            As in `BradleyTerry.fit`.
        """
        for name in ("items_", "ratings_", "n_contests_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(first, second, outcome)

    @unchanged_on_error
    def partial_fit(self, first: ArrayLike, second: ArrayLike, outcome: ArrayLike) -> Self:
        """Go on with more contests; items that are new start at ``start``.

        Parameters
        ----------
        first, second, outcome
            As in `BradleyTerry.fit`.
        """
        self._validate_params()
        *columns, values = check_contests(first, second, outcome)
        are_decided(values)
        items, (left, right) = encode_columns(columns, ("first", "second"))
        check_opponents(left, right, columns[0])
        known = getattr(self, "items_", objects([])).tolist()
        code_of = {item: code for code, item in enumerate(known)}
        codes, first_row = np.unique(np.column_stack([left, right]), return_index=True)
        listed = items.tolist()
        new = np.empty(len(items), dtype=np.int64)
        for code in codes[np.argsort(first_row)].tolist():
            new[code] = code_of.setdefault(listed[code], len(code_of))
        ratings = np.full(len(code_of), float(self.start))
        ratings[: len(known)] = getattr(self, "ratings_", ratings[: len(known)])
        elo_pass(new[left], new[right], values, float(self.k), float(self.scale), ratings)
        if not np.isfinite(ratings).all():
            raise ValueError(f"k={self.k} and scale={self.scale} make ratings overflow: lower k")
        self.items_, self.ratings_ = objects(list(code_of)), ratings
        self.n_contests_ = getattr(self, "n_contests_", 0) + len(values)
        return self

    def prefer(self, u: Any, v: Any) -> float:
        """Return what u is expected to get from a contest with v: 1 for a win, 1/2 for a tie."""
        check_is_fitted(self)
        self._validate_params()
        codes = find_ids([u, v], self.items_, "u or v")
        gap = self.ratings_[codes[1]] - self.ratings_[codes[0]]
        with np.errstate(over="ignore"):
            return float(1 / (1 + 10 ** (gap / self.scale)))

    def ranking(self) -> Ranking:
        """Return the items, highest rating first."""
        check_is_fitted(self)
        by_code = Ranking.from_scores(self.ratings_)
        return Ranking(order=self.items_[by_code.order], positions=by_code.positions)

    def _check_loaded(self) -> None:
        if hasattr(self, "ratings_") and self.ratings_.shape != (len(self.items_),):
            raise ValueError(f"{len(self.items_)} items have {len(self.ratings_)} ratings")

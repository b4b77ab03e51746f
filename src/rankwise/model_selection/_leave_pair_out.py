"""Leave-pair-out: a ranker's scores of two rows that its fit did not see."""

import math
import os
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import (
    check_consistent_length,
    check_random_state,
    indexable,
)

from rankwise._core.inputs import ratings_of, rows_of
from rankwise._core.queries import encode_queries, group_rows
from rankwise._core.sklearn_private import safe_indexing
from rankwise.metrics.scored_rows import check_numbers, check_weights, exponent_of, scaled
from rankwise.model_selection._loops import errors_of
from rankwise.model_selection.routing import fit_arguments

Pairs = NDArray[np.int64]

# What is held of a pair while it is drawn and refitted, about.
_BYTES_PER_PAIR = 100


@dataclass(frozen=True, eq=False)
class LeavePairOutResult:
    """The differences predicted for pairs of rows, each by a model that has seen neither.

    Attributes
    ----------
    msd : float
        Mean squared difference between predicted and true differences, over the pairs i != j.
    misranking : float
        Share of the pairs with different ratings that are in the wrong order, ties included. NaN
        without such pairs.
    n_pairs : int
        Unordered pairs that the errors are means of.
    exact : bool
        Whether all pairs were left out, by the estimator's own shortcut.
    n_samples : int
        Rows.
    pairs : ndarray of shape (n, 2) or None
        The rows (i, j) of the pairs that were drawn; None if exact.
    predicted : ndarray of shape (n,) or None
        h(x_j) - h(x_i) of these pairs; None if exact.
    matrix : ndarray of shape (n_samples, n_samples) or None
        The ``differences`` of the exact form.
    """

    msd: float
    misranking: float
    n_pairs: int
    exact: bool
    n_samples: int
    pairs: Pairs | None = None
    predicted: NDArray[np.float64] | None = None
    matrix: NDArray[np.float64] | None = None

    @cached_property
    def differences(self) -> NDArray[np.float64]:
        """The matrix whose entry [i, j] is h(x_j) - h(x_i) with both left out.

        NaN across queries and for pairs that were not drawn. It takes 8 n_samples^2 bytes and is
        built when it is first used, unless the machine has less memory: a ValueError.
        """
        if self.matrix is not None:
            return self.matrix
        check_room(self.n_samples, "the result has the drawn pairs as pairs and predicted")
        differences = np.full((self.n_samples, self.n_samples), np.nan)
        np.fill_diagonal(differences, 0.0)
        if self.pairs is not None and self.predicted is not None:
            first, second = self.pairs.T
            differences[first, second] = self.predicted
            differences[second, first] = -self.predicted
        return differences

    def __repr__(self) -> str:
        return (
            f"LeavePairOutResult(msd={self.msd:.6g}, misranking={self.misranking:.6g}, "
            f"n_pairs={self.n_pairs}, exact={self.exact})"
        )


def leave_pair_out(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_pairs: int | None = 1000,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> LeavePairOutResult:
    r"""Leave out two rows at a time and see whether their difference is predicted.

    .. math::

        \frac{1}{m(m-1)} \sum_{i \ne j} \bigl[(h_{ij}(x_j) - h_{ij}(x_i)) - (y_j - y_i)\bigr]^2

    with :math:`h_{ij}` learned without i and j: an unbiased estimate of the error of a model of
    m - 2 rows, which pooling scores of leave-one-out models is not. With ``qid``, pairs are of one
    query.

    An estimator with a method ``leave_pair_out(X, y, *, qid, sample_weight)`` that returns the
    matrix of differences does it itself: `rankwise.magnitude.MPRank` has all pairs, exactly, for
    about the cost of inverting one matrix, keeping penalty and row weights as they are. Any other
    is refitted for each pair, so ``n_pairs`` of them are drawn.

    Parameters
    ----------
    estimator : estimator
        Its ``predict`` gives scores. It is cloned, never changed.
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their ratings.
    qid : array-like of shape (n_samples,), default=None
        The query of each row. Given to ``fit`` if that takes it, and to the last step of a
        pipeline if that does; to the parts of any other estimator by metadata routing.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights, given to ``fit`` in the same way; a pair weighs their product in the means.
    n_pairs : int, default=1000
        Pairs to draw if the estimator must be refitted; None: all.
    n_jobs : int, default=None
        Refits at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs.

    Returns
    -------
    LeavePairOutResult

    Raises
    ------
    ValueError
        If a part of the estimator takes ``qid`` or ``sample_weight`` and can't be given it, or if
        the exact form needs a matrix that the machine can't hold.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, An alternative ranking problem for search engines, WEA 2007,
    section 2.6.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.magnitude import MPRank
    >>> from rankwise.model_selection import leave_pair_out
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 5))
    >>> y = X[:, 0] + random.normal(size=300)
    >>> leave_pair_out(MPRank(C=100), X, y)
    LeavePairOutResult(msd=2.1..., misranking=0.2..., n_pairs=44850, exact=True)
    """
    if not hasattr(estimator, "fit"):
        raise TypeError(f"{type(estimator).__name__} has no fit: pass an estimator")
    if not (n_pairs is None or (isinstance(n_pairs, Integral) and n_pairs > 0)):
        raise ValueError(f"n_pairs={n_pairs!r} must be a positive integer, or None for all")
    if not (n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs != 0)):
        raise ValueError(f"n_jobs={n_jobs!r} must be an integer other than 0, or None")
    X, y = indexable(rows_of(X), ratings_of(y, "y"))
    check_consistent_length(X, y)
    ratings = check_numbers(y, "y")
    codes, n_queries = encode_queries(qid, len(ratings))
    weight = check_weights(sample_weight, len(ratings))
    kept = np.arange(len(ratings)) if weight is None else np.flatnonzero(weight)
    if np.bincount(codes[kept]).max() < 2:
        raise ValueError(
            f"no query has two rows of positive weight to leave out: qid has {n_queries} queries"
        )
    fit_params = fit_arguments(estimator, qid=qid, sample_weight=weight)
    weight = np.ones(len(ratings)) if weight is None else scaled(weight, exponent_of(weight))
    if hasattr(estimator, "leave_pair_out"):
        check_room(len(ratings), "leave pairs out of a part of the rows")
        matrix = estimator.leave_pair_out(X, y, qid=qid, sample_weight=sample_weight)
        *sums, count = errors_of(matrix, ratings, weight)
        return LeavePairOutResult(*_errors(*sums), count, True, len(ratings), matrix=matrix)
    if len(kept) == 2:
        raise ValueError("leaving out two rows leaves none to learn from: give three or more")
    labels = np.ravel(np.asarray(y))
    if len(kept) < len(labels):
        X, labels = safe_indexing(X, kept), labels[kept]
        fit_params = {name: values[kept] for name, values in fit_params.items()}
    codes, n_queries = encode_queries(codes[kept], len(kept))
    pairs = _draw_pairs(codes, n_queries, n_pairs, check_random_state(random_state))
    differences = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_refit)(estimator, X, labels, fit_params, p) for p in pairs)
    )
    pairs = kept[pairs]
    *sums, count = _errors_of_pairs(pairs, differences, ratings, weight)
    return LeavePairOutResult(*_errors(*sums), count, False, len(ratings), pairs, differences)


def check_room(m: int, remedy: str) -> None:
    """Refuse a matrix of m x m numbers that is larger than the machine's memory."""
    if 8 * m * m > memory():
        raise ValueError(
            f"the matrix of differences of {m:,} rows takes {8 * m * m / 2**30:,.0f} GiB, more "
            f"than this machine has: {remedy}"
        )


def memory() -> int:
    """Return the bytes of memory of the machine, 16 GiB if it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**34


def _errors(squares: float, wrong: float, total: float, comparable: float) -> tuple[float, float]:
    """Return the mean square and the share of wrong pairs."""
    if total == 0:
        raise ValueError("no pair of a query has a weight: give more rows, or other weights")
    if not math.isfinite(squares):
        raise ValueError(
            "the mean squared difference is larger than a float can hold: scale the ratings y"
        )
    return squares / total, wrong / comparable if comparable else math.nan


def _errors_of_pairs(
    pairs: Pairs,
    differences: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> tuple[float, float, float, float, int]:
    """Return what `errors_of` does, of drawn pairs alone."""
    first, second = pairs.T
    both = weight[first] * weight[second]
    with np.errstate(over="ignore"):
        gap = y[second] - y[first]
        squares = float(both @ (gap - differences) ** 2) if both.any() else 0.0
    different = gap != 0
    wrong = different & (np.sign(differences) * np.sign(gap) <= 0)
    sums = squares, float(both[wrong].sum()), float(both.sum()), float(both[different].sum())
    return *sums, int((both > 0).sum())


def _draw_pairs(
    codes: NDArray[np.int64],
    n_queries: int,
    n_pairs: int | None,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Return distinct pairs of rows of one query, drawn evenly, as an array of two columns."""
    order, starts = group_rows(codes, n_queries)
    sizes = np.diff(starts)
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    total = int(ends[-1])
    n_drawn = total if n_pairs is None else min(n_pairs, total)
    if _BYTES_PER_PAIR * n_drawn > memory():
        raise ValueError(
            f"n_pairs={n_pairs} asks for {n_drawn:,} refits, whose pairs are more than this "
            "machine's memory can hold: draw fewer"
        )
    if n_pairs is None or n_pairs >= total:
        chosen = np.arange(total)
    else:
        chosen = np.unique(random.randint(total, size=n_pairs, dtype=np.int64))
        while len(chosen) < n_pairs:
            more = random.randint(total, size=n_pairs, dtype=np.int64)
            chosen = random.permutation(np.union1d(chosen, more))[:n_pairs]
    query = np.searchsorted(ends, chosen, side="right")
    number = chosen - (ends - sizes * (sizes - 1) // 2)[query]
    # Pair number place of a query: its second row is the largest b with b (b - 1) / 2 <= place.
    second = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    second -= second * (second - 1) // 2 > number
    second += (second + 1) * second // 2 <= number
    first = number - second * (second - 1) // 2
    return np.column_stack([order[starts[query] + first], order[starts[query] + second]])


def _refit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: dict[str, NDArray[Any]],
    pair: NDArray[np.int64],
) -> float:
    kept = np.ones(len(y), dtype=bool)
    kept[pair] = False
    rows = safe_indexing(X, np.flatnonzero(kept))
    model = clone(estimator)
    # predictions that overflow are named below
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        model.fit(rows, y[kept], **{name: values[kept] for name, values in fit_params.items()})
    if not hasattr(model, "predict"):
        raise TypeError(f"{type(estimator).__name__} has no predict: pass an estimator of scores")
    scores = check_numbers(
        model.predict(safe_indexing(X, pair)), f"the prediction of {type(estimator).__name__}", 2
    )
    with np.errstate(over="ignore"):
        difference = float(scores[1] - scores[0])
    if not math.isfinite(difference):
        raise ValueError(
            f"{type(estimator).__name__} predicts {scores[0]:.3g} and {scores[1]:.3g}, whose "
            "difference is larger than a float can hold: scale the ratings y"
        )
    return difference

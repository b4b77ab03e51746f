"""Leave-pair-out: what a ranker says of two rows when neither was learned from."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import (
    _safe_indexing,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    indexable,
)
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from rankwise.engine.loops.left_out import errors_of
from rankwise.engine.queries import encode_queries, group_rows


@dataclass(frozen=True, eq=False)
class LeavePairOutResult:
    """The differences predicted for pairs of rows, each by a model that has seen neither.

    Attributes
    ----------
    msd : float
        Mean squared difference between predicted and true differences, over the pairs i != j.
    misranking : float
        Share of the pairs with different ratings that are in the wrong order, ties included. NaN
        if there is no such pair.
    differences : ndarray of shape (n_samples, n_samples)
        Entry [i, j] is h(x_j) - h(x_i) with both left out; NaN across queries and for pairs that
        were not drawn.
    n_pairs : int
        Unordered pairs that the errors are means of.
    exact : bool
        Whether all pairs were left out, by the estimator's own shortcut.
    """

    msd: float
    misranking: float
    differences: NDArray[np.float64]
    n_pairs: int
    exact: bool

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
        The query of each row. Given to ``fit`` if that takes it.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights, given to ``fit``; a pair weighs their product in the means.
    n_pairs : int, default=1000
        Pairs to draw if the estimator must be refitted; None: all.
    n_jobs : int, default=None
        Refits at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs.

    Returns
    -------
    LeavePairOutResult

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
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight can't be given to {type(estimator).__name__}, whose fit takes none"
        )
    if not (n_pairs is None or (isinstance(n_pairs, Integral) and n_pairs > 0)):
        raise ValueError(f"n_pairs={n_pairs!r} must be a positive whole number, or None for all")
    X, y = indexable(X, y)
    check_consistent_length(X, y)
    ratings = np.array(column_or_1d(y), dtype=np.float64)
    codes, n_queries = encode_queries(qid, len(ratings))
    weight = _check_sample_weight(sample_weight, ratings, dtype=np.float64)
    if np.bincount(codes).max() < 2:
        raise ValueError(f"no query has two rows to leave out: qid has {n_queries} queries")
    exact = hasattr(estimator, "leave_pair_out")
    if exact:
        differences = estimator.leave_pair_out(X, y, qid=qid, sample_weight=sample_weight)
    else:
        pairs = _draw_pairs(codes, n_queries, n_pairs, check_random_state(random_state))
        given = {
            name: np.asarray(values)
            for name, values in (("qid", qid), ("sample_weight", sample_weight))
            if values is not None and has_fit_parameter(estimator, name)
        }
        said = Parallel(n_jobs=n_jobs)(
            delayed(_refit)(estimator, X, np.asarray(y), given, pair) for pair in pairs
        )
        differences = np.full((len(ratings), len(ratings)), np.nan)
        np.fill_diagonal(differences, 0.0)
        first, second = pairs.T
        differences[first, second] = said
        differences[second, first] = np.negative(said)
    squares, wrong, total, comparable, n_counted = errors_of(differences, ratings, weight)
    if total == 0:
        raise ValueError("no pair of a query has a weight: give more rows, or other weights")
    misranking = wrong / comparable if comparable else np.nan
    return LeavePairOutResult(squares / total, misranking, differences, n_counted, exact)


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
    if n_pairs is None or n_pairs >= total:
        chosen = np.arange(total)
    else:
        chosen = np.unique(random.randint(total, size=n_pairs, dtype=np.int64))
        while len(chosen) < n_pairs:
            more = random.randint(total, size=n_pairs, dtype=np.int64)
            chosen = random.permutation(np.union1d(chosen, more))[:n_pairs]
    query = np.searchsorted(ends, chosen, side="right")
    place = chosen - (ends - sizes * (sizes - 1) // 2)[query]
    # Pair number place of a query: its second row is the largest b with b (b - 1) / 2 <= place.
    second = ((1 + np.sqrt(1 + 8 * place.astype(np.float64))) / 2).astype(np.int64)
    second -= second * (second - 1) // 2 > place
    second += (second + 1) * second // 2 <= place
    first = place - second * (second - 1) // 2
    return np.column_stack([order[starts[query] + first], order[starts[query] + second]])


def _refit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    given: dict[str, NDArray[Any]],
    pair: NDArray[np.int64],
) -> float:
    kept = np.ones(len(y), dtype=bool)
    kept[pair] = False
    rows = _safe_indexing(X, np.flatnonzero(kept))
    model = clone(estimator)
    model.fit(rows, y[kept], **{name: values[kept] for name, values in given.items()})
    scores = model.predict(_safe_indexing(X, pair))
    return float(scores[1] - scores[0])
